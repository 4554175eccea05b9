"""Makes `fixtures.hex` with scapy, a program that is independent of ours: `python fixtures.py > fixtures.hex`.

Made with scapy 2.8.0 from PyPI in a virtual environment of its own. Its ICRC agreed with that of Linux' rdma_rxe on 300
of 300 captured frames. The frames `kernel-*` have the fields that rdma_rxe writes: P_Key 0xFFFF, migration state set, a
random UDP source port with its upper bits set, TTL 64, don't-fragment.
"""

from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.contrib.roce import AETH, BTH, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

PAUSE = "01:80:c2:00:00:01"
MACS = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}


def show(name: str, frame) -> None:
    """Prints a frame, filled up to the least frame."""
    data = bytes(frame)
    print(name, (data + bytes(max(0, 60 - len(data)))).hex())


def roce(tos: int, bth: BTH, payload, *, tag=None, port=0xC000, **ip):
    """A RoCEv2 frame from 10.0.0.1 to 10.0.0.2."""
    ether = Ether(**MACS)
    if tag is not None:
        ether = ether / tag
    fields = {"src": "10.0.0.1", "dst": "10.0.0.2", "tos": tos, "ttl": 64, "flags": "DF", "id": 0} | ip
    return ether / IP(**fields) / UDP(sport=port, dport=4791, chksum=0) / bth / payload


show("pause", Ether(src=MACS["src"], dst=PAUSE) / MACControlPause(pause_time=0x1234))
show("pfc", Ether(src=MACS["src"], dst=PAUSE) / MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=0xFFFF))
show(
    "pfc-several",
    Ether(src=MACS["src"], dst=PAUSE)
    / MACControlClassBasedFlowControl(
        c0_enabled=1, c0_pause_time=1, c3_enabled=1, c3_pause_time=0, c7_enabled=1, c7_pause_time=0x8000
    ),
)
data = BTH(opcode=0x04, migreq=1, pkey=0xFFFF, dqpn=0x10, psn=7)
show("send-only", roce(0x61, data, Raw(bytes(range(64)))))
show("send-only-ce", roce(0x63, data, Raw(bytes(range(64)))))
show("send-only-vlan", roce(0x61, data, Raw(bytes(range(64))), tag=Dot1Q(vlan=5, prio=3)))
show(
    "send-padded",
    roce(
        0x61, BTH(opcode=0x04, migreq=1, pkey=0xFFFF, dqpn=0x10, psn=8, padcount=3), Raw(b"\x01\x02\x03\x04\x05\0\0\0")
    ),
)
show(
    "ack", roce(0xC0, BTH(opcode=0x11, migreq=1, pkey=0xFFFF, dqpn=0x123456, psn=0xFFFFFF), AETH(syndrome=0x1F, msn=9))
)
show("cnp", roce(0xC3, cnp(dqpn=0x10), Raw(b"")))
show(
    "kernel-send-first",
    roce(
        0x02, BTH(opcode=0x00, migreq=1, pkey=0xFFFF, dqpn=0x11, psn=0xA2B3C4), Raw(bytes(1024)), port=0xE1F3, id=0x1A2B
    ),
)
show(
    "kernel-send-last",
    roce(
        0x02,
        BTH(opcode=0x02, migreq=1, ackreq=1, pkey=0xFFFF, dqpn=0x11, psn=0xA2B3C5),
        Raw(bytes(range(256)) * 2),
        port=0xE1F3,
        id=0x1A2C,
    ),
)
