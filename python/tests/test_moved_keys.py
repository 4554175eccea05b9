"""Keys of earlier versions: an override, a call from Python and an axis of a sweep are told where they stand now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import backwater as bw
import pytest
import sweep_scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    "call",
    [
        lambda: bw.run("star.toml", overrides=["switch.detector.epsilon=0.05"], out="one"),
        lambda: bw.sweep("loads.toml", axes={"switch.detector.epsilon": [0.05, 0.1]}),
    ],
)
def test_a_key_that_has_moved_is_told_with_its_new_name(
    call: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))
    sweep_scene.write(tmp_path)
    with pytest.raises(bw.ScenarioError, match=r"write switch\.detector\.tcd\.epsilon instead"):
        call()
    assert not list(tmp_path.rglob("run.json"))
