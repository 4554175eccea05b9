"""What the tests of whole processes share."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import switches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., switches.Switch]]:
    """Starts switches, and ends those that a test leaves behind."""
    running: list[switches.Switch] = []

    def start_one(config: str, *options: str, namespace: str = "") -> switches.Switch:
        running.append(switches.Switch.start(tmp_path / f"s{len(running)}", config, *options, namespace=namespace))
        return running[-1]

    yield start_one
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def _need_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("virtual cables (veth) want root")


@pytest.fixture
def cables() -> Iterator[list[switches.Cable]]:
    """Three cables."""
    _need_root()
    tag = uuid.uuid4().hex[:6]
    made = [switches.cable(f"bw{tag}{i}") for i in range(3)]
    yield made
    for one in made:
        one.socket.close()
        subprocess.run(["ip", "link", "del", one.inside], check=False, capture_output=True)


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a cable between them: its ends are called `cable` in both."""
    _need_root()
    tag = uuid.uuid4().hex[:6]
    names = (f"bw{tag}a", f"bw{tag}b")
    for name in names:
        switches.ip("netns", "add", name)
    switches.ip("link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", names[1])
    for name in names:
        switches.quiet("cable", name)
    yield names
    for name in names:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
