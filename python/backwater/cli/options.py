"""Options that several commands have."""

from typing import Annotated

from cyclopts import Parameter, validators

Json = Annotated[bool, Parameter(name="--json", negative="")]
Set = Annotated[list[str] | None, Parameter(name="--set", negative="")]
Flag = Annotated[bool, Parameter(negative="")]
Words = Annotated[list[str] | None, Parameter(negative="")]
AtLeastOne = Annotated[int | None, Parameter(validator=validators.Number(gte=1))]
AtLeastTwo = Annotated[int | None, Parameter(validator=validators.Number(gte=2))]
Count = Annotated[int, Parameter(validator=validators.Number(gte=1))]
Seed = Annotated[int | None, Parameter(validator=validators.Number(gte=0, lte=2**64 - 1))]
