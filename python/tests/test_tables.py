"""What is said of a run beside its tables."""

from backwater import Results, tables


def test_a_run_that_paused_needs_no_explanation(tcd_run: Results) -> None:
    assert not any("no PAUSE" in line for line in tables.run_lines(tcd_run))


def test_a_run_without_a_pause_says_how_far_from_xoff_it_was(tcd_run: Results) -> None:
    peak = {"bytes": 120_000, "node": "L0", "port": "L0->T0", "priority": 3}
    tcd_run.meta["totals"] |= {"pauses": 0, "peak_ingress": peak}
    pfc = {"form": "timed", "threshold": "static", "xoff": "329.6KB"}
    tcd_run.meta["scenario"]["switch"] = {"pfc": pfc}
    said = "no PAUSE: the fullest ingress, at L0 from T0, held 120 KB; Xoff is 329.6KB"
    assert tables.run_lines(tcd_run)[-1] == said
    pfc["form"] = "off"
    assert not any("no PAUSE" in line for line in tables.run_lines(tcd_run))


def test_caveats_come_with_the_run(tcd_run: Results) -> None:
    tcd_run.meta["caveats"].append("marks: only the first 9 rows fit the budget")
    assert "caveat: marks: only the first 9 rows fit the budget" in tables.run_lines(tcd_run)


def test_the_busiest_ports_come_first_and_by_their_aliases(tcd_run: Results) -> None:
    assert tables.busiest_ports(tcd_run, 2) == ["P2", "P0"]
