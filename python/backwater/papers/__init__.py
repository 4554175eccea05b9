"""Papers: their claims, definitions and figures, run, judged, varied and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backwater.results import Results

#: One seed's runs of a figure, by their names.
Runs = Mapping[str, Results]
#: Those of every seed.
Seeds = Sequence[Runs]
#: What a figure measures of one seed's runs; None where there is nothing to measure.
Metrics = dict[str, float | bool | None]
#: Several numbers of one metric, by the names of their points or bins.
Family = dict[str, float | None]
Measurement = float | bool | Family | None
#: What a figure may measure: numbers, and families of numbers.
Measurements = dict[str, Measurement]
