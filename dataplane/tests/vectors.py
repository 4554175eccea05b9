"""Makes the frames that test_roce.c expects by scapy, an independent program: `python3 dataplane/tests/vectors.py`."""

from scapy.all import IP, UDP, Ether, Raw, raw
from scapy.contrib.roce import BTH, cnp

A, B = "02:00:00:00:00:01", "02:00:00:00:00:02"
data = (
    Ether(src=A, dst=B, type=0x800)
    / IP(src="10.0.0.1", dst="10.0.0.2", tos=3 << 5 | 1, id=0, flags="DF", ttl=64)
    / UDP(sport=0xC001, dport=4791, chksum=0)
    / BTH(opcode=4, dqpn=0x101, psn=0xABCDEF, padcount=2)
    / Raw(bytes(range(6)) + bytes(2))
)
back = (
    Ether(src=B, dst=A, type=0x800)
    / IP(src="10.0.0.2", dst="10.0.0.1", tos=6 << 5, id=0, flags="DF", ttl=64)
    / UDP(sport=0xC001, dport=4791, chksum=0)
    / cnp(0x101)
)
print("data", raw(data).hex())
print("cnp ", raw(back).hex())
