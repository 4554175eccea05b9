"""What the documentation shows is true: scenarios are valid, commands and Python run, links lead somewhere.

docs/python.md, docs/extend.md, docs/sweeps.md, docs/step.md and docs/mpi-traces.md have tests of their own.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from backwater import cli
from backwater.errors import Exit
from backwater.papers.open_parameters import Parameter
from backwater.scenario.scenario import Scenario
from documentation import links
from documentation.reference import command_line, kept, pages

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = [file.relative_to(ROOT).as_posix() for file in sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
#: Commands that take long are parsed, but not run: they begin with one of these.
SLOW = (
    "backwater gpcnet",
    "backwater compare",
    "backwater demo",
    "backwater throttle results/pft",
    "backwater reproduce",
    "backwater sensitivity",
    "backwater testbed",
    "backwater sweep",
    "backwater tune",
    "backwater run scenarios/allreduce.toml",
    "backwater critical results/allreduce-s1",
    "backwater doctor",
    "backwater advise",
)
#: Python that needs the results of a command that takes long.
NEEDS_SLOW = ('Results.find("results/gpcnet/gpcnet-quick")',)
#: Python that needs the results of a run which its page does not show.
NEEDS = {'Results("results/multi-congestion-points-s1")': "backwater run scenarios/multi-congestion-points.toml"}
#: Pages whose blocks other tests run.
ELSEWHERE = (
    "docs/python.md",
    "docs/extend.md",
    "docs/sweeps.md",
    "docs/scenarios.md",
    "docs/mpi-traces.md",
    "docs/step.md",
)
#: Files that the pages speak of without showing them, and what stands in for them.
FILES = {"ring.program": "scenarios/programs", "app.trace": "scenarios/traces", "gradients.trace": "scenarios/traces"}
MATRIX = "Nodes 8\nConnections 2\n0->5 id 1 start 0 size 100000 recv_done_trigger 1\n5->1 id 2 trigger 1 size 50000\n"
#: What a part of a scenario needs around it.
AROUND = '[topology]\nkind = "star"\nhosts = 16\nrate = "100Gbps"\ndelay = "1us"\n[ack]\nevery = 1\n'


def blocks(page: str) -> Iterator[tuple[str, str]]:
    for found in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")):
        indent = found[1]
        yield found[2], "".join(line.removeprefix(indent) for line in found[3].splitlines(keepends=True))


def commands(block: str) -> list[list[str]]:
    """The words of each `backwater ...` in a block, with or without a prompt."""
    lines = [line.removeprefix("$ ") for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True) for line in lines if re.match(r"backwater\b(?!-)", line)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("scenarios", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name, folder in FILES.items():
        first = min((ROOT / folder).glob(f"*{Path(name).suffix}"), default=None)
        if first is not None:
            shutil.copy(first, tmp_path / name)
    (tmp_path / "ring.cm").write_text(MATRIX + "trigger id 1 oneshot\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE])
def test_every_block_of_a_page_works(page: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for language, block in blocks(page):
        if language == "toml" and block.startswith("[[parameter]]"):
            assert [Parameter.model_validate(one) for one in tomllib.loads(block)["parameter"]]
        elif language == "toml":
            whole = block if "[topology]" in block else f"{AROUND}\n{block}"
            resolved = Scenario(whole, page, here).resolve()
            assert resolved.get("traffic") or resolved["job"]
        elif language == "python":
            python(block)
        elif block.startswith("Nodes "):
            (here / "fat.topo").write_text(block)
    for language, block in blocks(page):
        if language in ("", "sh"):
            for words in commands(block):
                run(words)
    capsys.readouterr()


def python(block: str) -> None:
    if any(text in block for text in NEEDS_SLOW):
        compile(block, "page", "exec")
        return
    wanted = [command for text, command in NEEDS.items() if text in block]
    wanted += ["backwater init example"] if '"example/' in block else []
    for command in wanted:
        run(shlex.split(command))
    exec(compile(block, "page", "exec"), {"__name__": "page"})  # noqa: S102


def run(words: list[str]) -> None:
    if " ".join(words).startswith(SLOW):
        called, bound, _ = command_line().parse_args(words[1:], exit_on_error=False)
        assert called is not None
        assert bound is not None
    elif not (words[1] == "init" and Path(words[2]).exists()):
        # What it serves it also writes, and then it ends.
        served = ["--out", "seen.html"] if words[1] == "view" and "--out" not in words else []
        assert cli.main([*words[1:], *served]) == Exit.OK, " ".join(words)


@pytest.mark.parametrize("page", [page for page in PAGES if "In full:\n" in (ROOT / page).read_text(encoding="utf-8")])
def test_a_configuration_in_full_is_that_of_the_file_that_is_named(page: str) -> None:
    before, block = (ROOT / page).read_text(encoding="utf-8").split("In full:\n", 1)
    named = re.findall(r"\]\(\.\./\.\./(scenarios/[\w-]+\.toml)\)", before)[-1]
    found = BLOCK.search(block)
    assert found is not None
    assert found[3].strip() in (ROOT / named).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    made = {f"docs/{place}" for place in pages(ROOT)} if "reference/" in (ROOT / page).read_text("utf-8") else set()
    for target in links.targets((ROOT / page).read_text(encoding="utf-8")):
        file = links.resolved(ROOT, ROOT / page, target)
        assert file.exists() or file.relative_to(ROOT).as_posix() in made, f"{page}: {target}"


def test_links_out_of_docs_are_led_to_copies() -> None:
    text = "[a](../../scenarios/incast.toml) [p](../../papers/tcd/README.md#what) `[no](../x)` [d](../fidelity.md)"
    assert links.led(ROOT, "showcases/tcd.md", text) == (
        "[a](../files/scenarios/incast.toml.md) [p](../files/papers/tcd/index.md#what) `[no](../x)` [d](../fidelity.md)"
    )
    with pytest.raises(ValueError, match=r"docs/index.md links to ../nothing.toml, which is not there"):
        links.resolved(ROOT, ROOT / "docs" / "index.md", "../nothing.toml")


@pytest.mark.parametrize("place", kept())
def test_the_generated_pages_are_those_of_the_code(place: str) -> None:
    file = ROOT / "docs" / place
    assert file.is_file(), "run: make reference"
    assert file.read_text(encoding="utf-8") == kept()[place], (
        f"docs/{place} is not what the code says; run: make reference"
    )


def test_the_reference_has_every_command_key_and_code() -> None:
    made = kept() | pages(ROOT)
    for command in ("run", "init", "export pcapng", "pfc headroom"):
        assert f"\n## backwater {command}\n" in made["reference/commands.md"]
    assert "--topology" in made["reference/commands.md"]
    for key in ("flow-control", "kmin", "time-origin", "sample"):
        assert f"| `{key}` |" in made["reference/scenario.md"]
    assert "| 3 | `INVARIANT_BROKEN` |" in made["reference/codes.md"]
    assert "### `detector/tcd.rs`" in made["reference/algorithms.md"]
    assert "::: backwater.api.experiment.Experiment" in made["reference/python.md"]


def test_the_default_of_a_key_is_that_of_every_profile() -> None:
    # DCQCN's g is 1/256 in its paper, and in every profile; Kmin of HPCC's run.py at 100 Gbps is 400 KB.
    page = kept()["reference/scenario.md"]
    assert re.search(r"## `\[cc.dcqcn\]`\n[^#]*\n\| `g` \| number \| 0.0 to 1.0 \| `0.00390625` \|", page)
    kmin = re.search(r"\n\| `kmin` \| size \| up to 1TB \| (.*?) \|", page)
    assert kmin is not None
    assert 'hpcc-ns3, roce: `"400KB"`' in kmin[1]


def test_instructions_of_the_page_are_those_of_record() -> None:
    """Each row of the table has the rounded numbers that the gate compares with."""
    text = (ROOT / "benches/src/bin/instructions/references.toml").read_text(encoding="utf-8")
    record = tomllib.loads(text)["per-hop"]
    kept = {
        "batched": "batched",
        "in order": "in_order",
        "under credits": "credits",
        "combined queueing": "isolation",
        "PFT": "pft",
        "switches that drop, go-back-N": "go_back_n",
        "switches that drop, selective repeat": "selective",
        "PUT streams": "puts",
        "Ultra Ethernet": "uec",
    }
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    table = page.split("\n## Instructions per packet-hop")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(kept)
    for path, *cells in rows:
        path = next(key for start, key in kept.items() if path.startswith(start))
        held = [record.get(f"{size}_{path}") for size in ("k8", "k16")]
        assert cells == ["–" if value is None else f"{value:.0f}" for value in held], path


def test_the_site_is_built_and_fetches_nothing(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    site = tmp_path / "site"
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    environment = {"PYTHONPATH": str(ROOT / "python"), "NO_MKDOCS_2_WARNING": "1", "PATH": "/usr/bin:/bin"}
    built = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert built.returncode == 0, built.stdout + built.stderr
    found = sorted(site.rglob("*.html"))
    assert len(found) > len(PAGES)
    for file in found:
        text = file.read_text(encoding="utf-8")
        assert re.findall(r'(?:src|<link [^>]*href)="(https?:[^"]*)"', text) == []
