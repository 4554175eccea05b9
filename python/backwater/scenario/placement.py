"""Where the ranks of jobs are: rings that leave their rails, and hosts that a job names and another one has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: Collectives that are rings if a step names no algorithm.
_RINGS = ("all-reduce", "reduce-scatter", "all-gather")


def leaving(settings: Mapping[str, Any], network: Mapping[str, Any] | None) -> list[str]:
    """The jobs with a ring of which every hop goes from rail to rail, so that it crosses a spine.

    `network` is what run.json has of it; older versions have none. Only ranks that are packed are looked at.
    """
    if settings.get("topology", {}).get("kind") != "rail":
        return []
    hosts = _hosts(network)
    return [job["name"] for job in settings.get("job", []) if _leaves(job, hosts)]


def grouped(settings: Mapping[str, Any], name: str) -> bool:
    """Whether steps of a job are of groups of its ranks: other places of its ranks make other groups of hosts."""
    jobs = settings.get("job", [])
    return any(step.get("group") for job in jobs if job["name"] == name for step in job.get("step") or ())


def taken(
    settings: Mapping[str, Any], network: Mapping[str, Any] | None, has: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str, list[str]]]:
    """Each job that is to have all hosts that it names, who else has some of them, and which.

    `has` are the hosts of each job.
    """
    hosts = _hosts(network)
    for job in settings.get("job", []):
        if job.get("hosts") is None or job.get("ranks") is not None or job["name"] not in has:
            continue
        missing = [host for host in _named(job, hosts) or () if host not in set(has[job["name"]])]
        for other, theirs in has.items():
            if both := [host for host in missing if host in set(theirs)]:
                yield job["name"], other, both


def _hosts(network: Mapping[str, Any] | None) -> list[str]:
    if network is None:
        return []
    nodes = network["nodes"]
    return [name for name, role in zip(nodes["name"], nodes["role"], strict=True) if role == "host"]


def _named(job: Mapping[str, Any], hosts: Sequence[str]) -> Sequence[str] | None:
    """The hosts that a job may have; None where it does not name them by their names."""
    if job.get("hosts") is None:
        return hosts
    given = [job["hosts"]] if isinstance(job["hosts"], str) else job["hosts"]
    if not (isinstance(given, list) and all(isinstance(one, str) for one in given)):
        return None
    return [name for name in hosts if any(_fits(one, name) for one in given)]


def _leaves(job: Mapping[str, Any], hosts: Sequence[str]) -> bool:
    if job.get("placement", "packed") != "packed":
        return False
    own = _named(job, hosts)
    if own is None:
        return False
    rails = [int(name.rpartition(".")[2]) for name in own[: job.get("ranks")]]
    return any(_all_cross(step, rails) for step in job.get("step") or ())


def _all_cross(step: Mapping[str, Any], rails: Sequence[int]) -> bool:
    op = step.get("collective")
    if op not in _RINGS or step.get("algorithm") not in (None, "ring"):
        return False
    hops = list(_hops(step, rails))
    return bool(hops) and all(a != b for a, b in hops)


def _hops(step: Mapping[str, Any], rails: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The rails of neighbours in the ring, or in the ring of each group of `group` ranks that are `stride` apart."""
    n, stride = int(step.get("group") or len(rails)), int(step.get("stride") or 1)
    for rank, rail in enumerate(rails):
        first, place = rank - rank // stride % n * stride, rank // stride % n
        following = first + (place + 1) % n * stride
        if following < len(rails):
            yield rail, rails[following]


def _fits(pattern: str, name: str) -> bool:
    """Whether a host is among those of a text such as ``gpu[0-7].*``."""
    numbers: list[tuple[int, int]] = []

    def in_words(part: re.Match[str]) -> str:
        if part[1] is None:
            return ".*" if part[0] == "*" else re.escape(part[0])
        numbers.append((int(part[1]), int(part[2])))
        return r"(\d+)"

    found = re.fullmatch(re.sub(r"\[(\d+)-(\d+)\]|.", in_words, pattern), name)
    return found is not None and all(
        low <= int(value) <= high for (low, high), value in zip(numbers, found.groups(), strict=True)
    )
