"""The critical path of applications: which message waited where, for whom, and what would be left without that."""

from backwater.analysis.critical.analysis import Critical, Wait, beside, of, paths, whole
from backwater.analysis.critical.report import line

__all__ = ["Critical", "Wait", "beside", "line", "of", "paths", "whole"]
