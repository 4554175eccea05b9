"""The command `backwater view`, `run --html`, the server, and the page in a notebook."""

from __future__ import annotations

import http.client
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from backwater import Results
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.view import NAME, View, find
from backwater.view.serve import LOOPBACK, server
from view_reader import runs as runs_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from backwater.analysis.blame import Blame

_SMALL = """profile = "authors"
[topology]
kind = "star"
hosts = 5
rate = "100Gbps"
delay = "1us"
[[traffic]]
name = "incast"
kind = "incast"
from = "*"
to = "h0"
size = "100KB"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(_SMALL, encoding="utf-8")
    return file


def test_view_writes_one_page_with_the_run_in_it(
    isolated: Blame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "page.html"
    assert main(["view", str(isolated.results.folder), "--out", str(file)]) == Exit.OK
    assert f"written: {file}" in capsys.readouterr().out
    page = file.read_text(encoding="utf-8")
    (shown,) = runs_in(page)
    assert shown.header["digest"] == isolated.results.digest
    assert f"<title>{isolated.results.folder.name} · Backwater</title>" in page
    # It asks nobody for anything: what looks like an address is only ever a namespace, or words in a message.
    assert not [line for line in page.splitlines() if 'src="http' in line or 'href="http' in line or "@import" in line]


def test_view_puts_two_runs_side_by_side(isolated: Blame, covered: Blame, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    folders = [str(blame.results.folder) for blame in (isolated, covered)]
    assert main(["view", *folders, "--out", str(file)]) == Exit.OK
    assert [run.header["digest"] for run in runs_in(file.read_text(encoding="utf-8"))] == [
        isolated.results.digest,
        covered.results.digest,
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which run? name a results folder"),
        (["nowhere"], "there is no folder nowhere"),
        (["a", "b", "c"], "the page shows one run, or two side by side; 3 folders were given"),
        (["nowhere", "--out", "page.pdf"], "--out: page.pdf must end in .html"),
    ],
)
def test_what_cannot_be_shown_is_said(
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["view", *arguments]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_of_runs_is_one_run_or_two_and_more_are_listed(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    for seed in (1, 2):
        assert main(["run", str(small), "--out", str(out), "--seed", str(seed)]) == Exit.OK
        assert [run.meta["seed"] for run in find([out])] == list(range(1, seed + 1))
    main(["run", str(small), "--out", str(out), "--seed", "3"])
    with pytest.raises(UsageError, match=r"has 3 runs; name one of them, or two: .*small-s3"):
        find([out])


def test_run_html_writes_a_page_which_goes_with_its_run(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r"
    assert main(["run", str(small), "--out", str(out), "--html"]) == Exit.OK
    page = out / "small-s1" / NAME
    assert f"page: {page}" in capsys.readouterr().out
    assert page.is_file()
    assert main(["run", str(small), "--out", str(out)]) == Exit.OK
    assert not page.exists()


def test_a_page_is_written_whole_or_not_at_all(isolated: Blame, tmp_path: Path) -> None:
    view = View([isolated.results])
    with pytest.raises(UsageError, match="there is no folder"):
        view.write(tmp_path / "none" / "page.html")
    with pytest.raises(UsageError, match="is a folder; name a file"):
        view.write(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(isolated: Blame, covered: Blame) -> None:
    view = Results(isolated.results.folder).view(beside=covered.results)
    shown = view._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert shown.count("<") == 2
    assert len(runs_in(view.html)) == 2
    with pytest.raises(UsageError, match="one run, or two"):
        View([])


@pytest.mark.parametrize(
    ("terminal", "words", "opened"),
    [(True, [], 1), (False, [], 0), (True, ["--no-browser"], 0), (False, ["--browser"], 1)],
)
def test_a_browser_is_opened_from_a_terminal_alone_or_if_asked_for(
    terminal: bool,
    words: list[str],
    opened: int,
    isolated: Blame,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    addresses: list[str] = []
    monkeypatch.setattr("webbrowser.open", addresses.append)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("http.server.ThreadingHTTPServer.serve_forever", interrupted)
    assert main(["view", str(isolated.results.folder), *words]) == Exit.OK
    said = capsys.readouterr().out
    assert said.startswith("http://127.0.0.1:")
    assert said.endswith("/    Ctrl-C ends it\n")
    assert addresses == [said.split()[0]] * opened


@pytest.mark.parametrize("table", ["ports", "flows", "holds"])
def test_a_table_that_is_gone_or_damaged_is_named(
    table: str, isolated: Blame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in isolated.results.folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    out = tmp_path / "page.html"
    (tmp_path / f"{table}.parquet").write_bytes(b"PAR1 and no more")
    assert main(["view", str(tmp_path), "--out", str(out)]) == Exit.BAD_INPUT
    assert f"{table}.parquet is damaged (it is not what the run wrote)" in capsys.readouterr().err
    (tmp_path / f"{table}.parquet").unlink()
    assert main(["view", str(tmp_path), "--out", str(out)]) == Exit.BAD_INPUT
    assert f"{table}.parquet is missing, though run.json lists it" in capsys.readouterr().err
    assert not out.exists()


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    running = server("<!doctype html>page ½")
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield LOOPBACK, running.server_address[1]
    running.shutdown()
    running.server_close()
    thread.join()


def _get(address: tuple[str, int], path: str, **headers: str) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection(*address, timeout=5)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_the_server_has_one_page_and_only_for_this_machine(address: tuple[str, int]) -> None:
    assert _get(address, "/") == (200, "<!doctype html>page ½".encode())
    assert _get(address, "/run.json")[0] == 404
    assert _get(address, "/", Host="evil.example:80")[0] == 403


def test_a_port_that_is_taken_is_said(address: tuple[str, int]) -> None:
    with pytest.raises(UsageError, match="it cannot be used"):
        server("", address[1])
