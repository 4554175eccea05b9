"""The tables of SONiC's CONFIG_DB and the fields of those that matter here: sonic-yang-models, commit 086b03b.

Ranges are those of the models; where a key of ours has less, that is the range.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

#: What a value may be: a whole number in a range, one of some words, or any text.
Takes = tuple[int, int] | frozenset[str] | None
#: All tables.
TABLES = frozenset(Path(__file__).with_name("sonic_tables.txt").read_text(encoding="utf-8").split())


def _any(names: str) -> dict[str, Takes]:
    """Fields that take any text."""
    return dict.fromkeys(names.split())


#: What a size may be: bytes.
_BYTES = (0, 10**12)
_SWITCHED = frozenset({"on", "off"})
_TRUTH = frozenset({"true", "false"})

#: Of each table that is read its fields.
FIELDS: Mapping[str, Mapping[str, Takes]] = {
    "PORT": {
        "speed": (1, 1_600_000),
        "mtu": (68, 9216),
        "admin_status": frozenset({"up", "down"}),
        "role": frozenset({"Ext", "Int", "Inb", "Rec", "Dpc"}),
        "pfc_asym": _SWITCHED,
        "link_training": _SWITCHED,
        "autoneg": _SWITCHED,
        "fec": frozenset({"rs", "fc", "none", "auto"}),
        **_any(
            "core_id core_port_id num_voq alias lanes mode description dhcp_rate_limit adv_speeds interface_type"
            " adv_interface_types subport index asic_port_name dom_polling tpid mux_cable macsec tx_power laser_freq"
            " fast_linkup"
        ),
    },
    "PORT_QOS_MAP": _any(
        "tc_to_pg_map tc_to_queue_map pfc_enable pfcwd_sw_enable pfc_to_queue_map pfc_to_pg_map dscp_to_tc_map"
        " tc_to_dscp_map dot1p_to_tc_map scheduler dscp_to_fc_map exp_to_fc_map"
    ),
    "BUFFER_POOL": {
        "type": frozenset({"ingress", "egress", "both"}),
        "mode": frozenset({"static", "dynamic"}),
        "size": (1, 4_000_000_000),
        "xoff": _BYTES,
        "percentage": (0, 100),
    },
    "BUFFER_PROFILE": {
        "pool": None,
        "size": _BYTES,
        "xon": _BYTES,
        "xoff": _BYTES,
        "xon_offset": _BYTES,
        "dynamic_th": (-8, 7),
        "static_th": _BYTES,
        "headroom_type": frozenset({"static", "dynamic"}),
        "packet_discard_action": frozenset({"drop", "trim"}),
    },
    "BUFFER_PG": {"profile": None},
    "BUFFER_QUEUE": {"profile": None},
    "BUFFER_PORT_INGRESS_PROFILE_LIST": {"profile_list": None},
    "BUFFER_PORT_EGRESS_PROFILE_LIST": {"profile_list": None},
    "WRED_PROFILE": {
        "ecn": frozenset("ecn_" + word for word in _any("none green yellow red green_yellow green_red yellow_red all")),
        **{f"wred_{colour}_enable": _TRUTH for colour in ("green", "yellow", "red")},
        **{f"{colour}_{kind}_threshold": _BYTES for colour in ("green", "yellow", "red") for kind in ("min", "max")},
        **{f"{colour}_drop_probability": (0, 100) for colour in ("green", "yellow", "red")},
    },
    "QUEUE": {"scheduler": None, "wred_profile": None},
    "SCHEDULER": {
        "type": frozenset({"DWRR", "WRR", "STRICT"}),
        "weight": (1, 100),
        "priority": (0, 9),
        "meter_type": frozenset({"packets", "bytes"}),
        **dict.fromkeys(("cir", "pir", "cbs", "pbs"), (0, 10**15)),
    },
    "PFC_WD": {
        "action": frozenset({"drop", "forward", "alert"}),
        "detection_time": (100, 5000),
        "restoration_time": (100, 60_000),
        "POLL_INTERVAL": (100, 1000),
        "pfc_stat_history": frozenset({"enable", "disable"}),
    },
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"default_dynamic_th": (-8, 7), "over_subscribe_ratio": (0, 1000)},
    "LOSSLESS_TRAFFIC_PATTERN": {"mtu": (1, 9216), "small_packet_percentage": (0, 100)},
}

#: Of each map the greatest number that it maps, and the greatest that it maps to.
MAPS = {
    "DSCP_TO_TC_MAP": (63, 15),
    "DOT1P_TO_TC_MAP": (7, 15),
    "TC_TO_QUEUE_MAP": (15, 15),
    "TC_TO_PRIORITY_GROUP_MAP": (15, 7),
    "TC_TO_DSCP_MAP": (15, 63),
    "MAP_PFC_PRIORITY_TO_QUEUE": (7, 7),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": (7, 7),
}
#: Tables whose fields are named by the user.
FREE = frozenset({"CABLE_LENGTH", "DEVICE_METADATA", *MAPS})
#: Every table that is read.
READ = frozenset(FIELDS) | FREE
#: The fields that name a row of another table.
REFERENCES = {
    ("BUFFER_PROFILE", "pool"): "BUFFER_POOL",
    ("BUFFER_PG", "profile"): "BUFFER_PROFILE",
    ("BUFFER_QUEUE", "profile"): "BUFFER_PROFILE",
    ("BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list"): "BUFFER_PROFILE",
    ("BUFFER_PORT_EGRESS_PROFILE_LIST", "profile_list"): "BUFFER_PROFILE",
    ("QUEUE", "wred_profile"): "WRED_PROFILE",
    ("QUEUE", "scheduler"): "SCHEDULER",
    ("PORT_QOS_MAP", "scheduler"): "SCHEDULER",
    ("PORT_QOS_MAP", "pfc_to_queue_map"): "MAP_PFC_PRIORITY_TO_QUEUE",
    ("PORT_QOS_MAP", "pfc_to_pg_map"): "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    ("PORT_QOS_MAP", "tc_to_queue_map"): "TC_TO_QUEUE_MAP",
    ("PORT_QOS_MAP", "tc_to_pg_map"): "TC_TO_PRIORITY_GROUP_MAP",
    ("PORT_QOS_MAP", "tc_to_dscp_map"): "TC_TO_DSCP_MAP",
    ("PORT_QOS_MAP", "dscp_to_tc_map"): "DSCP_TO_TC_MAP",
    ("PORT_QOS_MAP", "dot1p_to_tc_map"): "DOT1P_TO_TC_MAP",
}
#: The tables whose keys begin with ports.
BY_PORT = frozenset(
    {"PORT_QOS_MAP", "BUFFER_PG", "BUFFER_QUEUE", "QUEUE", "PFC_WD", "CABLE_LENGTH"}
    | {"BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST"}
)
#: Why a table or one of its fields has no key.
REASONS: Mapping[tuple[str, str] | str, str] = {
    "PORT": "nothing of it acts on congestion",
    ("PORT", "pfc_asym"): "PFC here works in both directions of a link",
    ("PORT", "role"): "only front ports get a host",
    ("PORT", "admin_status"): "a port that is up gets a host",
    "PORT_QOS_MAP": "traffic of a scenario names its priority itself (traffic.priority)",
    ("PORT_QOS_MAP", "scheduler"): "ports here have no shaper",
    ("PORT_QOS_MAP", "pfcwd_sw_enable"): "switch.pfc.watchdog is of all lossless priorities",
    "BUFFER_PG": "the priority group is not lossless",
    "BUFFER_QUEUE": "no priority here has the queue",
    "BUFFER_PORT_INGRESS_PROFILE_LIST": "ports have no limit of their own here; priorities have",
    "BUFFER_PORT_EGRESS_PROFILE_LIST": "egress ports have no limit of their own here: memory is counted at the ingress",
    "BUFFER_POOL": "no lossless priority group and no lossy queue here uses it",
    ("BUFFER_POOL", "type"): "it only says at which side the memory is counted",
    ("BUFFER_POOL", "mode"): "the profile says how its threshold is meant",
    (
        "BUFFER_POOL",
        "percentage",
    ): "of what it is a share is not in the file; switch.preset has the memory, if it is known",
    "BUFFER_PROFILE": "no lossless priority group and no lossy queue here uses it",
    "WRED_PROFILE": "no lossless queue uses it, and no lossy one with a pool here",
    "QUEUE": "the queue is not lossless, and no lossy one with a pool here",
    ("QUEUE", "scheduler"): "no priority here has the queue",
    ("SCHEDULER", "type"): "weights are shares of bytes here (DWRR), and those of packets count as such",
    "SCHEDULER": "ports here have no shaper, and weights are bytes of queues that priorities have",
    "PFC_WD": "the port is not a front port that is up",
    ("PFC_WD", "POLL_INTERVAL"): "the watchdog here looks at all times: it acts up to an interval earlier",
    ("PFC_WD", "pfc_stat_history"): "nothing of it acts on congestion",
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": "headroom is not oversubscribed here",
    "LOSSLESS_TRAFFIC_PATTERN": "headroom follows packet.payload here, not a mix of packets",
    "CABLE_LENGTH": "the network that --topology names has delays of its own",
    "DEVICE_METADATA": "nothing of it acts on congestion",
    **dict.fromkeys(MAPS, "traffic of a scenario names its priority itself (traffic.priority)"),
}
