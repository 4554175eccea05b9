"""Congestion controls and detectors of the user's own, in Python or C: docs/extend.md."""

from backwater.extend.abi import (
    ACK,
    CE,
    CNP,
    CONGESTION,
    DEPARTURE,
    JUDGING,
    NEVER,
    NON_CONGESTION,
    RESUME,
    SEND,
    TIMER,
    UE,
    UNDETERMINED,
)
from backwater.extend.errors import PlainPythonWarning, UserCodeError
from backwater.extend.functions import UserFunction, congestion_control, detector

__all__ = [
    "ACK",
    "CE",
    "CNP",
    "CONGESTION",
    "DEPARTURE",
    "JUDGING",
    "NEVER",
    "NON_CONGESTION",
    "RESUME",
    "SEND",
    "TIMER",
    "UE",
    "UNDETERMINED",
    "PlainPythonWarning",
    "UserCodeError",
    "UserFunction",
    "congestion_control",
    "detector",
]
