"""Programs and their timings, which the tests compare with the fabric's: `python cases.py` prints them.

The head gives the settings and the operations of each rank; below it stands one line for each timing: end in
picoseconds, rank, series, label, start.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from draws import Scene, draw, timed
from ranks import Machine
from settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ranks import Op

ONE = 1  # set 0 alone
PLAIN = Settings()
CREDITS = Settings(credits=65_536, cut=32)
SCARCE = Settings(credits=6_240, cut=32)  # three packets
FULL = Settings(credits=6_480, cut=32, full=1)  # three packets, and room for 15 small ones that is not used
SLOW = Settings(link=40_000_000_000, payload=1000, header=48, eager=4_096, control=8, send=170_011, receive=90_007)


def ping_pong(size: int, rounds: int) -> Scene:
    """A message there and back, several times."""
    ping: list[Op] = [("isend", 1, size, 5, 0), ("irecv", 1, size, 6, 0), ("wait", ONE)]
    pong: list[Op] = [("irecv", 0, size, 5, 0), ("wait", ONE), ("isend", 0, size, 6, 0), ("wait", ONE)]
    loop: Op = ("loop", rounds, 7)
    a: list[Op] = [loop, *timed(ping, 0, 3), ("end", 1)]
    b: list[Op] = [("loop", rounds, 6), *pong, ("end", 1)]
    return Scene([0, 1], [0, 0], [a, b])


def ring(ranks: int, size: int, rounds: int) -> Scene:
    """Each sends to the left and to the right, and waits for both."""
    scene = Scene(list(range(ranks)), [7_919 * rank * rank for rank in range(ranks)])
    for rank in range(ranks):
        left, right = (rank - 1) % ranks, (rank + 1) % ranks
        ops: list[Op] = [("irecv", left, size, 1, 0), ("irecv", right, size, 2, 0)]
        ops += [("isend", left, size, 2, 0), ("isend", right, size, 1, 0), ("wait", ONE)]
        scene.programs.append([("loop", rounds, 9), *timed(ops, 1, rank), ("end", 1)])
    return scene


def incast(ranks: int, size: int, rounds: int, how: str) -> Scene:
    """All to rank 0, by messages, by puts or by gets."""
    scene = Scene(list(range(ranks)), [7_919 * rank * rank for rank in range(ranks)])
    posts: list[Op] = [("irecv", -1, size, 0, 0)] * (ranks - 1)
    root: list[Op] = [*posts, ("wait", ONE)] if how == "isend" else [("compute", 1)]
    scene.programs.append([("loop", rounds, len(root) + 4), *timed(root, 1, 0), ("end", 1)])
    for rank in range(1, ranks):
        call: Op = (how, 0, size, 0, 0) if how == "isend" else (how, 0, size)
        end: Op = ("wait", ONE) if how == "isend" else ("flush",)
        scene.programs.append([("loop", rounds, 6), *timed([call, end], 1, rank), ("end", 1)])
    return scene


def late(size: int) -> Scene:
    """The receive is posted long after the message came; two messages overtake a receive of the second tag."""
    sends: list[Op] = [("isend", 1, size, 1, 0), ("isend", 1, size, 2, 1), ("isend", 1, 8, 3, 2)]
    a = timed([*sends, ("wait", 4), ("stop", 0, 1, 0), ("wait", 7)], 0, 0)
    posts: list[Op] = [("irecv", 0, size, 2, 1), ("wait", 2), ("stop", 0, 1, 1)]
    posts += [("irecv", -1, size, -1, 0), ("wait", 1)]
    b = timed([("compute", 50_000_000), *posts, ("stop", 0, 1, 2), ("irecv", 0, 8, 3, 0), ("wait", 1)], 0, 1)
    return Scene([0, 1], [0, 0], [a, b])


def cases() -> dict[str, tuple[Settings, Scene]]:
    """By name: settings, programs."""
    found: dict[str, tuple[Settings, Scene]] = {}
    for name, settings in {"plain": PLAIN, "credits": CREDITS, "scarce": SCARCE, "full": FULL, "slow": SLOW}.items():
        for size in (0, 8, 4_096, 16_384, 16_385, 131_072):
            found[f"ping_{name}_{size}"] = (settings, ping_pong(size, 3))
        for size in (8, 4_096, 131_072):
            found[f"ring_{name}_{size}"] = (settings, ring(5, size, 3))
        for how in ("isend", "put", "get"):
            found[f"incast_{name}_{how}"] = (settings, incast(6, 4_096, 4, how))
        for size in (64, 40_000):
            found[f"late_{name}_{size}"] = (settings, late(size))
        for seed in range(6):
            found[f"drawn_{name}_{seed}"] = (settings, draw(settings, seed, 4, 1 + seed % 3, 120))
    return found


def texts() -> Iterator[tuple[str, str]]:
    """All of them: name, lines."""
    for name, (settings, scene) in cases().items():
        machine = Machine(settings, scene.host_of, scene.programs, scene.starts)
        timings = machine.run()
        stuck = [rank.name for rank in machine.ranks if rank.ended is None]
        if stuck:
            raise ValueError(f"{name}: ranks {stuck} wait for ever")
        lines = [f"# {key} {value}" for key, value in asdict(settings).items()]
        for rank, (host, start) in enumerate(zip(scene.host_of, scene.starts, strict=True)):
            lines.append(f"# rank {host} {start}")
            lines += [f"# op {' '.join(str(word) for word in op)}" for op in scene.programs[rank]]
        lines += [" ".join(str(number) for number in timing) for timing in timings]
        yield name, "\n".join(lines) + "\n"


if __name__ == "__main__":
    for case, text in texts():
        print(f"== {case}\n{text}", end="")
