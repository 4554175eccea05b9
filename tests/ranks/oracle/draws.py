"""Programs drawn at random that come to an end: every rank goes through one list of messages in its order."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from settings import ANY

if TYPE_CHECKING:
    from ranks import Op
    from settings import Settings

ALL = 0xFF
ANYBODY = 100  # tag of messages that are received from anybody: small ones, so that no sender waits for its receive


@dataclass
class Scene:
    """Ranks on hosts, what they do, and when they start."""

    host_of: list[int]
    starts: list[int]
    programs: list[list[Op]] = field(default_factory=list)


def timed(ops: list[Op], timer: int, label: int) -> list[Op]:
    """Operations between a start and a stop."""
    return [("start", timer), *ops, ("stop", timer, 0, label)]


def draw(settings: Settings, seed: int, hosts: int, per_host: int, messages: int) -> Scene:
    """Random messages, puts, gets, waits, and work in between. Times share no divisor: nothing happens at once."""
    dice = random.Random(seed)  # noqa: S311
    ranks = hosts * per_host
    scene = Scene([rank % hosts for rank in range(ranks)], [dice.randrange(2_000_000) for _ in range(ranks)])
    ops: list[list[Op]] = [[("start", 7)] for _ in range(ranks)]
    sizes = [0, 1, 8, 2047, 2048, 2049, 5_000, settings.eager, settings.eager + 1, 50_000]
    for number in range(messages):
        a, b = dice.randrange(ranks), dice.randrange(ranks)
        kind, size = dice.choice(["send"] * 6 + ["put", "get"]), dice.choice(sizes)
        if kind != "send":
            ops[a] += [(kind, b, size), *([("flush",)] if dice.random() < 0.4 else [])]
        else:
            message(ops, dice, settings, (a, b, size))
        for rank in {a, b}:
            pause(ops[rank], dice, number)
    for rank in range(ranks):
        ops[rank] += [("wait", ALL), ("flush",), ("stop", 7, 1, rank)]
    scene.programs = ops
    return scene


def message(ops: list[list[Op]], dice: random.Random, settings: Settings, ends: tuple[int, int, int]) -> None:
    """A message and its receive; between some pairs with any tag."""
    a, b, size = ends
    tag = dice.randrange(3)
    source, wanted = a, tag
    if (a * 7 + b) % 3 == 0:
        wanted = ANY
    elif dice.random() < 0.3:
        source, tag, wanted, size = ANY, ANYBODY, ANYBODY, min(size, settings.eager)
    room = settings.eager if source == ANY else (60_000 if wanted == ANY else max(size, 50_000))
    post: Op = ("irecv", source, room, wanted, dice.randrange(8))
    send: Op = ("isend", b, size, tag, dice.randrange(8))
    first = dice.random() < 0.5
    if a == b and not first:
        ops[a] += [send, post]
    else:
        ops[b].append(post)
        ops[a].append(send)


def pause(ops: list[Op], dice: random.Random, number: int) -> None:
    """Sometimes a wait for some sets, or work."""
    chance = dice.random()
    if chance < 0.3:
        ops += [("wait", dice.randrange(1, 256)), ("stop", 7, 2, number)]
    elif chance < 0.5:
        ops.append(("compute", dice.randrange(1, 3_000_000)))
