"""A RoCE switch's settings (SONiC) and its NICs' (DCQCN): what each line becomes, and what is said of wrong ones.

Expected values follow from the definitions: sonic-yang-models and saibuffer.h (alpha = 2^dynamic_th, RESUME at
max(xon, limit − xon_offset)), NVIDIA's DCQCN CC Parameters (fractions of 1024, a cut by alpha · 2^(10 − rpg_gd)).
"""

from __future__ import annotations

import contextlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from backwater import Results, validate
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.io.importing import located_json, resolve, switch
from backwater.io.importing.became import Fate
from backwater.io.importing.sonic_schema import READ, TABLES
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
FILE = ROOT / "scenarios" / "switch" / "config_db.json"
NIC = ROOT / "scenarios" / "switch" / "connectx.txt"


def _small(**tables: Any) -> dict[str, Any]:
    """Two ports at 100 Gbps with PFC for priority 3; tables given replace those of it."""
    ports = ("Ethernet0", "Ethernet4")
    profile = {"pool": "lossless", "size": "1000", "xon": "1000", "xon_offset": "3000", "xoff": "50000"}
    base = {
        "PORT": {port: {"speed": "100000", "admin_status": "up"} for port in ports},
        "PORT_QOS_MAP": {port: {"pfc_enable": "3"} for port in ports},
        "BUFFER_POOL": {"lossless": {"type": "ingress", "mode": "dynamic", "size": "16000000"}},
        "BUFFER_PROFILE": {"pg": {**profile, "dynamic_th": "-3"}},
        "BUFFER_PG": {f"{port}|3": {"profile": "pg"} for port in ports},
        "WRED_PROFILE": {
            "red": {
                "ecn": "ecn_all",
                "green_min_threshold": "200000",
                "green_max_threshold": "400000",
                "green_drop_probability": "5",
            }
        },
        "QUEUE": {f"{port}|3": {"wred_profile": "red"} for port in ports},
    }
    return {name: table for name, table in (base | tables).items() if table is not None}


def _load(tmp_path: Path, config: Any, nic: str | None = None, **options: Any) -> switch.Switch:
    file = tmp_path / "config_db.json"
    file.write_text(config if isinstance(config, str) else json.dumps(config, indent=1))
    if nic is not None:
        options["nic"] = tmp_path / "nic.txt"
        options["nic"].write_text(nic)
    return switch.load(file, **options)


def _keys(made: switch.Switch) -> dict[str, Any]:
    return made.settings.keys


def _fates(made: switch.Switch) -> dict[str, Fate | None]:
    return {line.name: line.fate for line in made.lines}


def _changed(table: str, row: str, **fields: str | None) -> dict[str, Any]:
    """The small switch with other fields of one row."""
    config = _small()
    config[table][row] = {name: value for name, value in (config[table][row] | fields).items() if value is not None}
    return config


def test_the_sample_becomes_a_scenario_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "made"
    assert main(["import", "switch", str(FILE), "--nic", str(NIC), "--out", str(out), "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    made = validate(out / "scenario.toml")
    # 16 of 18 ports are up; the pool has 9.6 MB of headroom for them together, and an xoff is less than a 16th of it.
    assert (len(made["topology"]["hosts"]), made["topology"]["switches"]) == (16, ["leaf-1"])
    assert made["switch"]["pfc"]["headroom"] == "600KB"
    assert (made["switch"]["pfc"]["alpha"], made["switch"]["pfc"]["priorities"]) == (2**-2, [3])
    assert made["switch"]["preset"] == "tomahawk3"
    lossy = made["switch"]["lossy"]
    assert (lossy["pool"], lossy["alpha"], made["switch"]["overflow"]) == ("16MB", 8.0, "drop-lossy")
    assert made["switch"]["shares"] == [{"priority": 3, "weight": 60}, {"priority": 0, "weight": 40}]
    assert made["switch"]["pfc"]["watchdog"] == {"action": "drop", "detect": "200ms", "restore": "200ms"}
    # A metre takes 5 ns: 3 m and 30 m.
    assert {link["delay"] for link in made["topology"]["links"]} == {"15ns", "150ns"}
    # NVIDIA's fractions of 1024.
    assert (made["cc"]["dcqcn"]["g"], made["cc"]["dcqcn"]["alpha-initial"]) == (5 / 1024, 1023 / 1024)
    assert made["switch"]["control-priority"] == 6
    assert all(line["became"] in {str(fate) for fate in Fate} for line in told["lines"])
    assert {line["became"] for line in told["lines"]} == {"taken", "as here", "no counterpart"}
    assert "tables that have nothing to do with congestion: BGP_NEIGHBOR, VLAN" in told["notes"]
    results = tmp_path / "results"
    assert main(["run", str(out / "scenario.toml"), "--out", str(results)]) == Exit.OK
    assert next(Results.find(results)).flows.collect().height == 15


def test_each_line_of_a_file_is_said_once_and_words_of_set_make_the_same_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["import", "switch", str(FILE), "--topology", "star hosts=4", "--out", str(tmp_path / "made"), "--json"]
    assert main(words) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    document = json.loads(FILE.read_text())
    fields = sum(len(row) for name, rows in document.items() if name in READ for row in rows.values())
    assert len(told["lines"]) == fields
    own = tmp_path / "own.toml"
    traffic = '[[traffic]]\nname = "all"\nkind = "permutation"\nsize = "1MB"\n'
    own.write_text(f'[topology]\nkind = "star"\nhosts = 4\nrate = "400Gbps"\ndelay = "50ns"\n{traffic}')
    made, by_words = validate(tmp_path / "made" / "scenario.toml"), validate(own, overrides=told["set"])
    assert by_words["switch"] == made["switch"]
    assert made["topology"]["rate"] == "400Gbps"


def test_a_profile_of_a_priority_group_is_the_threshold_reserve_headroom_and_hysteresis(tmp_path: Path) -> None:
    made = _load(tmp_path, _small())
    assert _keys(made) == {
        "switch.pfc.priorities": [3],
        "switch.pfc.threshold": "dynamic",
        "switch.pfc.alpha": 0.125,
        "switch.pfc.reserve": "1000B",
        "switch.pfc.headroom": "50000B",
        "switch.pfc.hysteresis": "3000B",
        "switch.buffer": "16000000B",
        "switch.detector.kind": "red",
        "switch.detector.kmin": "200000B",
        "switch.detector.kmax": "400000B",
        "switch.detector.pmax": 0.05,
    }
    # Where size has the headroom, what is set apart is the rest of it. Two lossless priorities have twice the headroom.
    config = _changed("BUFFER_PROFILE", "pg", size="60000", xon="10000", xon_offset=None, dynamic_th="0")
    config["PORT_QOS_MAP"] = {"Ethernet0,Ethernet4": {"pfc_enable": "3,4"}}
    config["BUFFER_PG"] = {"Ethernet0,Ethernet4|3-4": {"profile": "[BUFFER_PROFILE|pg]"}}
    keys = _keys(_load(tmp_path, config))
    assert (keys["switch.pfc.reserve"], keys["switch.pfc.headroom"]) == ("10000B", "100000B")
    assert (keys["switch.pfc.hysteresis"], keys["switch.pfc.alpha"]) == ("0B", 1.0)


def test_alpha_above_1_is_said_to_be_1(tmp_path: Path) -> None:
    made = _load(tmp_path, _changed("BUFFER_PROFILE", "pg", dynamic_th="3"))
    line = next(line for line in made.lines if line.name == "BUFFER_PROFILE|pg|dynamic_th")
    assert (line.key, line.why) == ("switch.pfc.alpha = 1.0", "SONiC's alpha is 2^3 = 8; here it is at most 1")


def test_a_static_threshold_is_xoff_and_xon(tmp_path: Path) -> None:
    made = _load(tmp_path, _changed("BUFFER_PROFILE", "pg", dynamic_th=None, static_th="99000"))
    keys = _keys(made)
    # PAUSE above what is set apart and what may be shared, RESUME at max(1000, 100000 − 3000).
    assert (keys["switch.pfc.threshold"], keys["switch.pfc.xoff"], keys["switch.pfc.xon"]) == (
        "static",
        "100000B",
        "97000B",
    )
    assert "switch.pfc.headroom" not in keys
    resolve(made.imported.files["scenario.toml"], tmp_path, {})


def test_a_computed_buffer_takes_the_default_threshold(tmp_path: Path) -> None:
    config = _small(
        BUFFER_PROFILE=None,
        BUFFER_PG={"Ethernet0|3": {"profile": "NULL"}, "Ethernet4|3": {"profile": "NULL"}},
        DEFAULT_LOSSLESS_BUFFER_PARAMETER={"AZURE": {"default_dynamic_th": "-1", "over_subscribe_ratio": "2"}},
    )
    keys = _keys(_load(tmp_path, config))
    assert keys["switch.pfc.alpha"] == 0.5
    assert "switch.pfc.headroom" not in keys


def test_ports_of_two_speeds_have_thresholds_of_their_own(tmp_path: Path) -> None:
    config = _small()
    config["PORT"]["Ethernet8"] = {"speed": "400000", "admin_status": "up"}
    for table in ("BUFFER_PG", "QUEUE"):
        config[table]["Ethernet8|3"] = dict(config[table]["Ethernet0|3"])
    config["PORT_QOS_MAP"]["Ethernet8"] = {"pfc_enable": "3"}
    config["WRED_PROFILE"]["fast"] = {
        "ecn": "ecn_green",
        "green_min_threshold": "800000",
        "green_max_threshold": "1600000",
    }
    config["QUEUE"]["Ethernet8|3"]["wred_profile"] = "fast"
    config["BUFFER_PROFILE"]["far"] = config["BUFFER_PROFILE"]["pg"] | {
        "pool": "[BUFFER_POOL|lossless]",
        "size": "2000",
        "xoff": "150000",
    }
    config["BUFFER_PG"]["Ethernet8|3"]["profile"] = "far"
    made = _load(tmp_path, config)
    keys = _keys(made)
    # Without a probability SONiC has 100 %.
    assert keys["switch.detector.by-rate"] == [{"rate": "400Gbps", "kmin": "800000B", "kmax": "1600000B", "pmax": 1.0}]
    assert keys["switch.pfc.headroom"] == "802.1qbb"
    fates = {field: _fates(made)[f"BUFFER_PROFILE|far|{field}"] for field in ("pool", "size", "xoff", "xon_offset")}
    assert fates == {"pool": Fate.TAKEN, "size": Fate.AGAINST, "xoff": Fate.NONE, "xon_offset": Fate.TAKEN}
    assert _fates(made)["BUFFER_PG|Ethernet8|3|profile"] is Fate.AGAINST
    resolve(made.imported.files["scenario.toml"], tmp_path, {})


def test_lines_that_contradict_others_are_named(tmp_path: Path) -> None:
    config = _small()
    config["PORT"]["Ethernet8"] = {"speed": "100000", "admin_status": "up"}
    config["PORT_QOS_MAP"]["Ethernet8"] = {"pfc_enable": "4"}
    config["BUFFER_PROFILE"]["lossy"] = {"pool": "lossless", "size": "0", "dynamic_th": "3"}
    config["BUFFER_PG"]["Ethernet8|3"] = {"profile": "lossy"}
    made = _load(
        tmp_path, config, "rpg_ai_rate = 5\nRPG_AI_RATE_P2 10\nroce_cc_prio_mask = 0\nenabled 0 0 0 0 1 0 0 0\n"
    )
    assert [line.name for line in made.lines if line.fate is Fate.AGAINST] == [
        "PORT_QOS_MAP|Ethernet8|pfc_enable",
        "BUFFER_PG|Ethernet8|3|profile",
        "RPG_AI_RATE_P2",
        "roce_cc_prio_mask",
        "PFC enabled",
    ]
    assert _keys(made)["switch.pfc.priorities"] == [3]


def test_wred_that_marks_nothing_is_no_detector(tmp_path: Path) -> None:
    made = _load(tmp_path, _changed("WRED_PROFILE", "red", ecn="ecn_none"))
    assert {key: value for key, value in _keys(made).items() if "detector" in key} == {"switch.detector.kind": "none"}
    without = _small(QUEUE={"Ethernet0|3": {"scheduler": "one"}}, SCHEDULER={"one": {"type": "DWRR", "weight": "1"}})
    assert _keys(_load(tmp_path, without))["switch.detector.kind"] == "none"


def test_weights_of_queues_are_shares_of_the_link(tmp_path: Path) -> None:
    # PFC of priority 3 is for queue 5. Queue 1 is not lossless, queue 6 is strict, queue 7 of the control priority.
    row = {"pfc_enable": "3", "pfc_to_queue_map": "m"}
    queues = {"5": "heavy", "1": "light", "6": "first", "7": "light"}
    config = _small(
        PORT_QOS_MAP={"Ethernet0": row, "Ethernet4": row},
        MAP_PFC_PRIORITY_TO_QUEUE={"m": {"3": "5"}},
        QUEUE={
            f"{port}|{queue}": {"scheduler": of} for port in ("Ethernet0", "Ethernet4") for queue, of in queues.items()
        },
        SCHEDULER={
            "heavy": {"type": "DWRR", "weight": "60"},
            "light": {"type": "WRR", "weight": "40"},
            "first": {"type": "STRICT"},
        },
    )
    made = _load(tmp_path, config)
    keys, fates = _keys(made), _fates(made)
    assert keys["switch.arbiter"] == "deficit"
    assert keys["switch.shares"] == [{"priority": 3, "weight": 60}, {"priority": 1, "weight": 40}]
    # Strict queues go first, the others share what they leave (SONiC QoS Scheduler and Shaping, section 1).
    assert keys["switch.strict"] == [6]
    assert [fates[f"QUEUE|Ethernet0|{queue}|scheduler"] for queue in (5, 1, 6, 7)] == [Fate.TAKEN] * 3 + [Fate.NONE]
    for field in ("heavy|weight", "light|weight", "first|type"):
        assert fates[f"SCHEDULER|{field}"] is Fate.TAKEN
    resolve(made.imported.files["scenario.toml"], tmp_path, {})


def test_equal_weights_change_nothing_and_a_lossless_queue_without_one_has_none(tmp_path: Path) -> None:
    same = {"one": {"type": "DWRR", "weight": "25"}}
    for queues, fate in (("3", Fate.SAME), ("0-1", Fate.NONE)):
        made = _load(tmp_path, _small(QUEUE={f"Ethernet0|{queues}": {"scheduler": "one"}}, SCHEDULER=same))
        assert not {"switch.arbiter", "switch.shares"} & _keys(made).keys()
        assert _fates(made)["SCHEDULER|one|weight"] is fate


def test_strict_queues_go_first_by_their_numbers(tmp_path: Path) -> None:
    def load(**queues: str) -> switch.Switch:
        ports = ("Ethernet0", "Ethernet4")
        of = {f"{port}|{queue[1:]}": {"scheduler": name} for port in ports for queue, name in queues.items()}
        kinds = {"strict": {"type": "STRICT"}, "one": {"type": "DWRR", "weight": "25"}}
        return _load(tmp_path, _small(QUEUE=of, SCHEDULER=kinds))

    keys = _keys(load(q3="strict", q1="strict", q5="one", q0="one"))
    assert (keys["switch.arbiter"], keys["switch.strict"]) == ("deficit", [3, 1])
    assert keys["switch.shares"] == [{"priority": 5, "weight": 25}, {"priority": 0, "weight": 25}]
    # The control priority, 7, goes first in any case.
    made = load(q3="one", q7="strict")
    assert not {"switch.arbiter", "switch.strict", "switch.shares"} & _keys(made).keys()
    assert _fates(made)["SCHEDULER|strict|type"] is Fate.SAME
    alone = load(q3="strict")
    assert (_keys(alone)["switch.strict"], "switch.shares" in _keys(alone)) == ([3], False)
    resolve(alone.imported.files["scenario.toml"], tmp_path, {})


def _with_lossy(**fields: str) -> dict[str, Any]:
    """The small switch with a pool of 8 MB for queues 0 to 2, of which a queue takes up to 2^3 of what is free."""
    config = _small()
    config["BUFFER_POOL"]["lossy"] = {"type": "egress", "mode": "dynamic", "size": "8000000"}
    config["BUFFER_PROFILE"]["egress_lossy"] = {"pool": "lossy", "size": "1518", "dynamic_th": "3"} | fields
    config["BUFFER_QUEUE"] = {f"{port}|0-2": {"profile": "egress_lossy"} for port in ("Ethernet0", "Ethernet4")}
    return config


def test_a_pool_of_lossy_queues_is_memory_beside_that_of_lossless_ones(tmp_path: Path) -> None:
    made = _load(tmp_path, _with_lossy())
    keys, fates = _keys(made), _fates(made)
    assert keys["switch.overflow"] == "drop-lossy"
    assert (keys["switch.lossy.pool"], keys["switch.lossy.alpha"]) == ("8000000B", 8.0)
    assert keys["switch.buffer"] == "24000000B"
    taken = ("BUFFER_POOL|lossy|size", "BUFFER_PROFILE|egress_lossy|dynamic_th", "BUFFER_QUEUE|Ethernet0|0-2|profile")
    assert {fates[name] for name in taken} == {Fate.TAKEN}
    assert fates["BUFFER_PROFILE|egress_lossy|size"] is Fate.NONE
    said = next(line.told() for line in made.lines if line.name == "BUFFER_POOL|lossless|size")
    assert said["key"] == 'switch.buffer = "24000000B"'
    assert any("pools do not overlap here" in note for note in made.imported.notes)
    resolve(made.imported.files["scenario.toml"], tmp_path, {})
    # Of two profiles the more frequent one; a lossless queue, and that of the control priority, are in no pool.
    config = _with_lossy()
    config["BUFFER_PROFILE"]["other"] = {"pool": "lossy", "size": "0", "dynamic_th": "1"}
    config["BUFFER_QUEUE"] |= {f"Ethernet0|{queue}": {"profile": "other"} for queue in ("3", "5", "7")}
    fates = _fates(_load(tmp_path, config))
    found = [fates[f"BUFFER_QUEUE|Ethernet0|{queue}|profile"] for queue in (3, 5, 7)]
    assert found == [Fate.NONE, Fate.AGAINST, Fate.NONE]


def test_wred_of_a_lossy_queue_drops_what_it_would_not_mark(tmp_path: Path) -> None:
    def early(**fields: str) -> switch.Switch:
        config = _with_lossy()
        curve = {"green_min_threshold": "100000", "green_max_threshold": "300000", "green_drop_probability": "10"}
        config["WRED_PROFILE"]["tail"] = curve | fields
        config["QUEUE"] |= {f"{port}|0-2": {"wred_profile": "tail"} for port in ("Ethernet0", "Ethernet4")}
        return _load(tmp_path, config)

    for ecn, drops in (("ecn_none", "all"), ("ecn_all", "not-capable")):
        made = early(wred_green_enable="true", ecn=ecn)
        keys, fates = _keys(made), _fates(made)
        names = ("drops", "kmin", "kmax", "pmax")
        assert [keys[f"switch.lossy.red.{name}"] for name in names] == [drops, "100000B", "300000B", 0.1]
        taken = (
            "WRED_PROFILE|tail|wred_green_enable",
            "WRED_PROFILE|tail|green_min_threshold",
            "QUEUE|Ethernet0|0-2|wred_profile",
        )
        assert {fates[name] for name in taken} == {Fate.TAKEN}
        # The detector is that of lossless queues.
        assert keys["switch.detector.kmin"] == "200000B"
        resolve(made.imported.files["scenario.toml"], tmp_path, {})
    made = early(ecn="ecn_none")
    assert not any(key.startswith("switch.lossy.red") for key in _keys(made))
    assert _fates(made)["WRED_PROFILE|tail|green_min_threshold"] is Fate.NONE


def test_alpha_of_a_lossy_queue_is_two_to_the_power_of_dynamic_th(tmp_path: Path) -> None:
    for threshold, alpha in (("7", 128.0), ("0", 1.0), ("-7", 2**-7), ("-8", 2**-7)):
        made = _load(tmp_path, _with_lossy(dynamic_th=threshold))
        assert _keys(made)["switch.lossy.alpha"] == alpha
        resolve(made.imported.files["scenario.toml"], tmp_path, {})


def test_a_lossy_queue_without_a_share_of_a_known_pool_changes_nothing(tmp_path: Path) -> None:
    fixed = _with_lossy(static_th="4000000")
    del fixed["BUFFER_PROFILE"]["egress_lossy"]["dynamic_th"]
    computed = _with_lossy()
    del computed["BUFFER_POOL"]["lossy"]["size"]
    alone = _with_lossy()
    del alone["BUFFER_POOL"]["lossless"]["size"]
    for config, why in ((fixed, "no dynamic_th"), (computed, "size of its pool"), (alone, "memory of lossless")):
        made = _load(tmp_path, config)
        assert not any("lossy" in key or key == "switch.overflow" for key in _keys(made))
        said = {line.why for line in made.lines if line.place[0] == "BUFFER_QUEUE"}
        assert all(why in one and "[switch.lossy]" in one for one in said), said


def _guarded(*ports: str, **fields: str) -> dict[str, Any]:
    row = {"action": "drop", "detection_time": "200", "restoration_time": "400"} | fields
    return _small(PFC_WD={"GLOBAL": {"POLL_INTERVAL": "100"}} | dict.fromkeys(ports, row))


def test_a_watchdog_of_most_ports_is_that_of_all(tmp_path: Path) -> None:
    both = ("Ethernet0", "Ethernet4")
    watchdog = "switch.pfc.watchdog"
    for action in ("drop", "forward"):
        made = _load(tmp_path, _guarded(*both, action=action))
        keys, fates = _keys(made), _fates(made)
        found = [keys[f"{watchdog}.{name}"] for name in ("action", "detect", "restore")]
        assert found == [action, "200ms", "400ms"]
        assert {fates[f"PFC_WD|{port}|detection_time"] for port in both} == {Fate.TAKEN}
        assert fates["PFC_WD|GLOBAL|POLL_INTERVAL"] is Fate.NONE
        # What is dropped is sent again, as RoCE NICs do. One that forwards fills the next switch, which drops.
        assert keys["transport.reliability"] == "go-back-n"
        resolve(made.imported.files["scenario.toml"], tmp_path, {})
    # Without a word on it SONiC's watchdog drops (pfcwdorch.cpp).
    config = _guarded(*both)
    for row in (config["PFC_WD"][port] for port in both):
        row.pop("action", None)
    assert _keys(_load(tmp_path, config))[f"{watchdog}.action"] == "drop"
    for row in (config["PFC_WD"][port] for port in both):
        row.pop("restoration_time", None)
    # There "Restoration time is optional": a watchdog without it never restores.
    made = _load(tmp_path, config)
    assert _keys(made)[f"{watchdog}.restore"] == "1000s"
    assert sum("without restoration_time" in note for note in made.imported.notes) == 1
    resolve(made.imported.files["scenario.toml"], tmp_path, {})
    # It starts none without detection_time.
    for row in (config["PFC_WD"][port] for port in both):
        row |= {"restoration_time": "400"}
        row.pop("detection_time", None)
    made = _load(tmp_path, config)
    assert not any(watchdog in key for key in _keys(made))
    assert "without detection_time" in next(
        line.why for line in made.lines if line.place[1:] == (both[0], "restoration_time")
    )


def test_a_watchdog_that_only_reports_or_of_few_ports_is_none(tmp_path: Path) -> None:
    config = _guarded("Ethernet0")
    for port in ("Ethernet8", "Ethernet12"):
        config["PORT"][port] = {"speed": "100000", "admin_status": "up"}
    for made, fate in (
        (_load(tmp_path, _guarded("Ethernet0", "Ethernet4", action="alert")), Fate.NONE),
        (_load(tmp_path, config), Fate.AGAINST),
    ):
        assert not any("watchdog" in key or "reliability" in key for key in _keys(made))
        assert _fates(made)["PFC_WD|Ethernet0|action"] is fate


def test_maps_say_which_queue_and_which_priority_group_are_lossless(tmp_path: Path) -> None:
    # PFC of priority 3 is for queue 5; class 2 goes there, and its priority group is 1.
    row = {"pfc_enable": "3", "pfc_to_queue_map": "m", "tc_to_queue_map": "m", "tc_to_pg_map": "m"}
    config = _small(
        PORT_QOS_MAP={"Ethernet0": row, "Ethernet4": row},
        MAP_PFC_PRIORITY_TO_QUEUE={"m": {"3": "5"}},
        TC_TO_QUEUE_MAP={"m": {"2": "5", "3": "3"}},
        TC_TO_PRIORITY_GROUP_MAP={"m": {"2": "1", "3": "3"}},
        BUFFER_PG={"Ethernet0|1": {"profile": "pg"}, "Ethernet4|1": {"profile": "pg"}},
        QUEUE={"Ethernet0|5": {"wred_profile": "red"}, "Ethernet4|5": {"wred_profile": "red"}},
    )
    keys = _keys(_load(tmp_path, config))
    assert (keys["switch.pfc.alpha"], keys["switch.detector.kmin"]) == (0.125, "200000B")


def test_pfc_of_priority_7_leaves_another_one_to_cnps(tmp_path: Path) -> None:
    ports = ("Ethernet0", "Ethernet4")
    made = _load(tmp_path, _small(PORT_QOS_MAP={port: {"pfc_enable": "6,7"} for port in ports}))
    assert (_keys(made)["switch.pfc.priorities"], _keys(made)["switch.control-priority"]) == ([6, 7], 5)
    assert "priority = 6" in made.imported.files["scenario.toml"]
    resolve(made.imported.files["scenario.toml"], tmp_path, {})
    every = _load(tmp_path, _small(PORT_QOS_MAP={port: {"pfc_enable": "0,1,2,3,4,5,6,7"} for port in ports}))
    assert _keys(every)["switch.pfc.priorities"] == [0, 1, 2, 3, 4, 5, 6]
    resolve(every.imported.files["scenario.toml"], tmp_path, {})


def test_an_mtu_of_1500_has_packets_of_1024(tmp_path: Path) -> None:
    # 1024 B and 60 B of IPv4, UDP, BTH, RETH and ICRC; 2048 B do not fit.
    assert _keys(_load(tmp_path, _changed("PORT", "Ethernet0", mtu="1500")))["packet.payload"] == "1024B"
    assert "packet.payload" not in _keys(_load(tmp_path, _changed("PORT", "Ethernet0", mtu="9100")))


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("rpg_hai_rate = 50", "cc.dcqcn.rate-hai", "50Mbps"),
        ("/sys/class/net/eth0/ecn/roce_rp/rpg_time_reset:300", "cc.dcqcn.rate-timer", "300us"),
        ("*       DCE_TCP_G_P1        1019      1019        960", "cc.dcqcn.g", 64 / 1024),
        ("CLAMP_TGT_RATE_P1   True(1)", "cc.dcqcn.clamp-target", True),
        ("rpg_threshold 5", "cc.dcqcn.fast-recovery", 5),
        ("initial_alpha_value: 512", "cc.dcqcn.alpha-initial", 0.5),
        ("rate_reduce_monitor_period = 50", "cc.dcqcn.decrease-interval", "50us"),
        ("rpg_min_rate = 10", "cc.min-rate", "10Mbps"),
    ],
)
def test_a_parameter_of_a_nic_is_a_key_in_our_unit(tmp_path: Path, line: str, key: str, value: object) -> None:
    assert _keys(_load(tmp_path, _small(), line))[key] == value


def test_what_a_parameter_is_depends_on_the_variant_of_dcqcn(tmp_path: Path) -> None:
    lines = "rpg_gd = 10\nrpg_byte_reset = 150\nmin_time_between_cnps = 4\nrate_reduce_monitor_period = 4\n"
    here = _load(tmp_path, _small(), lines, profile="ideal")
    assert {key: value for key, value in _keys(here).items() if key.startswith("cc.")} == {
        "cc.dcqcn.cut": 1.0,
        "cc.dcqcn.byte-counter": "150B",
        "cc.cnp-interval": "4us",
    }
    other = _load(tmp_path, _small(), lines)
    assert [key for key in _keys(other) if key.startswith("cc.")] == ["cc.dcqcn.decrease-interval"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("", "is empty"),
        ("{\n 1", "line 2: this is no JSON (Expecting property name"),
        ("[]", "line 1: a JSON object of tables is expected"),
        ('{"PORT": {},\n\n"PORT": {}}', "line 3: line 1 has 'PORT', too: a name stands once"),
        ('{"PORT": {"a": ' + "[" * 100_000, "line 1: this is nested too deeply"),
        ("{} {}", "line 1: nothing may follow the object"),
        ("{}", "has nothing that becomes a setting"),
        ({"PORT": 3}, "line 2: PORT '3' stands where an object"),
        ({"PORT": {"Ethernet0": {}}}, "line 3: PORT|Ethernet0 '' has no speed; write it in Mbps"),
        (_changed("PORT", "Ethernet0", speed="100G"), "'100G' is not a whole number of Mbps from 1 to 1600000; write"),
        (_changed("PORT", "Ethernet0", speed="0"), "'0' is not a whole number of Mbps from 1 to 1600000"),
        (
            _changed("BUFFER_POOL", "lossless", size="16MB"),
            "'16MB' is not a whole number of bytes from 1 to 4000000000",
        ),
        (_changed("BUFFER_PROFILE", "pg", dynamic_th="8"), "'8' is not a whole number from -8 to 7"),
        (_changed("BUFFER_PROFILE", "pg", dynamic_th=None, static_th="0"), "'0' means no threshold, and so no PAUSE"),
        (_changed("BUFFER_PROFILE", "pg", pool="losless"), "'losless' names no row of BUFFER_POOL; lossless?"),
        (_changed("BUFFER_PROFILE", "pg", pool=None), "'50000' is headroom of no pool"),
        (
            _changed("BUFFER_PROFILE", "pg", xoff="17000000"),
            "'17000000' is more than its pool 'lossless' has, 16000000",
        ),
        (_changed("BUFFER_POOL", "lossless", type="egress"), "'50000' is headroom of an egress pool, 'lossless'"),
        (_changed("BUFFER_PG", "Ethernet0|3", profile="[WRED_PROFILE|red]"), "names a row of WRED_PROFILE"),
        (
            _changed("QUEUE", "Ethernet0|3", wred_profile="[WRED_PROFILE|blue]"),
            "names no row of WRED_PROFILE; there are",
        ),
        (_changed("WRED_PROFILE", "red", ecn="ecn_on"), "'ecn_on' is not one of ecn_all, ecn_green,"),
        (
            _changed("WRED_PROFILE", "red", green_min_threshold="500000"),
            "'500000' is above green_max_threshold, '400000'",
        ),
        (_changed("WRED_PROFILE", "red", green_max_threshold=None), "needs green_max_threshold, in bytes"),
        (_changed("WRED_PROFILE", "red", green_drop_probability="101"), "is not a whole number from 0 to 100"),
        (_changed("PORT_QOS_MAP", "Ethernet0", pfc_enable="8"), "'8' is not a list of priorities from 0 to 7, such as"),
        (_small(PORT_QOS_MAP={"Ethernet0": {"pfc_enable": ""}}), "leaves no port a lossless priority"),
        (_small(BUFFER_PG={"Ethernet1|3": {"profile": "pg"}}), "'Ethernet1', which PORT does not have; Ethernet"),
        (_small(BUFFER_PG={"Ethernet0|4-3": {"profile": "pg"}}), "names no queue or priority group; write Ethernet0|3"),
        (_small(CABLE_LENGTH={"a": {"Ethernet0": "3 km"}}), "'3 km' is not a length in metres such as 40m"),
        (_small(DSCP_TO_TC_MAP={"a": {"64": "1"}}), "is of '64', which is not a number from 0 to 63"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: Any, message: str
) -> None:
    file = tmp_path / "config_db.json"
    file.write_text(config if isinstance(config, str) else json.dumps(config, indent=1))
    assert main(["import", "switch", str(file), "--out", str(tmp_path / "made")]) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("nic", "message"),
    [
        (
            "rpg_ai_rate = 5Mbps",
            "nic.txt: line 1: rpg_ai_rate '5Mbps' is not a whole number of Mbps from 0 to 100000000",
        ),
        ("\nrpg_ai_rate = 5 Mbps", "nic.txt: line 2: rpg_ai_rate '5 Mbps' is not a whole number of Mbps"),
        ("dce_tcp_g = 1024", "dce_tcp_g '1024' is not a whole number of 1024ths from 0 to 1023"),
        ("RPG_TIME_RESET_P1 0", "is not a whole number of microseconds from 1 to 1000000"),
        ("# nothing", "has no parameters; write lines such as rpg_ai_rate = 5"),
    ],
)
def test_what_is_wrong_with_a_nic_is_said_with_its_line(tmp_path: Path, nic: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        _load(tmp_path, _small(), nic)
    assert message in str(error.value)


def test_what_is_not_understood_is_listed_with_what_was_meant(tmp_path: Path) -> None:
    config = _small(WRED_PROFILES={"red": {"ecn": "ecn_all"}}, NOTHING={})
    config["WRED_PROFILE"]["red"]["green_min_treshold"] = "1"
    made = _load(tmp_path, config, "rpg_ai_rates = 5\nSRIOV_EN True(1)\n!\n")
    assert {line.name: line.why for line in made.lines if line.fate is Fate.UNKNOWN} == {
        "WRED_PROFILES|red|ecn": "SONiC has no table of this name; WRED_PROFILE?",
        "NOTHING": "SONiC has no table of this name",
        "WRED_PROFILE|red|green_min_treshold": "SONiC's WRED_PROFILE has no such field; green_min_threshold?",
        "rpg_ai_rates": "no parameter of DCQCN is called so; rpg_ai_rate?",
        "!": "write a parameter of DCQCN and its value in a line",
    }
    assert _fates(made)["SRIOV_EN"] is Fate.NONE


def test_a_profile_without_pfc_and_a_file_that_is_too_large_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--profile hdr: it has no PFC with output queues and DCQCN"):
        _load(tmp_path, _small(), profile="hdr")
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(2**26)
    with pytest.raises(UsageError, match=r"large\.json cannot be read"):
        switch.load(large)


def test_numbers_and_lists_are_read_as_their_texts(tmp_path: Path) -> None:
    config = _changed("PORT", "Ethernet0")
    config["PORT"]["Ethernet0"] |= {"speed": 100000, "lanes": ["1", "2"], "alias": None}
    assert _keys(_load(tmp_path, config)) == _keys(_load(tmp_path, _small()))


def _some(words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words.split())


_WORDS = _some(
    "Ethernet0 Ethernet4 Ethernet0|3 Ethernet0,Ethernet4|3-4 |3 global localhost pg lossless red m 3 4 NULL ecn_all"
    " [BUFFER_PROFILE|pg] ingress egress dynamic up 1000 -3 100000 99999999999999999999999 5m 0m true"
)
_FIELDS = _some(
    "speed mtu admin_status role pfc_enable pfc_to_queue_map tc_to_queue_map tc_to_pg_map pfc_to_pg_map type size xoff"
    " pool xon xon_offset dynamic_th static_th profile ecn green_min_threshold green_max_threshold wred_profile hwsku"
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_VALUES = _WORDS | _FIELDS | _ANY
_TABLES = st.dictionaries(
    st.sampled_from(sorted(READ)) | st.text(max_size=5),
    st.dictionaries(_WORDS | st.text(max_size=5), st.dictionaries(_FIELDS | _WORDS, _VALUES, max_size=4), max_size=4)
    | _VALUES,
    max_size=6,
)


@settings(max_examples=300, deadline=None)
@given(
    _TABLES, st.lists(st.sampled_from(NIC.read_text().splitlines()) | st.text(max_size=20), max_size=5), st.booleans()
)
def test_any_tables_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, tables: dict[str, Any], nic: list[str], base: bool
) -> None:
    config = {**_small(), **tables} if base else tables
    folder = tmp_path_factory.getbasetemp()
    (folder / "nic.txt").write_text("\n".join(nic).encode("utf-8", "replace").decode(), encoding="utf-8")
    (folder / "any.json").write_text(json.dumps(config))
    try:
        made = switch.load(folder / "any.json", folder / "nic.txt" if nic else None)
    except UsageError as error:
        str(error).encode()
        return
    assert all(line.fate is not None for line in made.lines)
    with contextlib.suppress(UsageError):
        resolve(made.imported.files["scenario.toml"], folder, {})
    tomllib.loads(made.imported.files["scenario.toml"])


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='{}[]":,\\ \n1aé', max_size=40) | _ANY.map(json.dumps))
def test_any_text_is_a_document_or_refused_with_a_line(text: str) -> None:
    try:
        document = located_json.read(text, "a.json")
    except UsageError as error:
        told = str(error)
    else:
        assert list(document.tables) == list(json.loads(text))
        return
    assert told.startswith("a.json: line ")


def test_the_tables_that_are_read_are_sonics() -> None:
    assert READ <= TABLES
