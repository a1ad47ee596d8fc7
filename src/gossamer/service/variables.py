"""What can be read and set while a thread class runs: GET and SET."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

LogLevel = Literal["debug", "info", "warning", "error"]
PollTimeout = Annotated[int, Meta(ge=1, le=60_000)]
AtLeastOne = Annotated[int, Meta(ge=1, le=1 << 40)]
Seconds = Annotated[float, Meta(ge=0.0, le=86_400.0)]
ALL: Final = "*"


class Outcome(Struct, frozen=True):
    """What GET or SET has to say: values by name, and whether all went well."""

    fields: dict[str, Any]
    refused: bool = False


class Variables:
    """Named values with a type each. They belong to one thread."""

    def __init__(self) -> None:
        self._types: dict[str, Any] = {}
        self._values: dict[str, Any] = {}
        self._fixed: Mapping[str, Any] = {}

    def declare(self, name: str, kind: Any, value: Any) -> None:
        """Add a variable of a type (with limits, if it is annotated so)."""
        self._types[name] = kind
        self._values[name] = value

    def show(self, fixed: Mapping[str, Any]) -> None:
        """Add what can be read but not set."""
        self._fixed = dict(fixed)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def get(self, names: list[str]) -> Outcome:
        """Return the values of some variables, or of all; a name that is unknown gets no value."""
        known = {**self._fixed, **self._values}
        if ALL in names:
            return Outcome(known)
        unknown = {name: _unknown(name) for name in names if name not in known}
        found = {name: known[name] for name in names if name in known}
        return Outcome(found | unknown, refused=bool(unknown))

    def set(self, values: Mapping[str, Any]) -> Outcome:
        """Set all of them or, if one is not allowed, none; answer the values as they are now."""
        checked: dict[str, Any] = {}
        wrong: dict[str, Any] = {}
        for name, value in values.items():
            try:
                checked[name] = self._checked(name, value)
            except ValueError as error:
                wrong[name] = {"error": str(error)}
        if wrong:
            return Outcome(wrong, refused=True)
        self._values |= checked
        return Outcome(checked)

    def _checked(self, name: str, value: Any) -> Any:
        if name in self._fixed:
            raise ValueError(f"{name} is set at the start only, in the configuration file")
        if name not in self._types:
            raise ValueError(_unknown(name)["error"])
        try:
            return msgspec.convert(value, self._types[name])
        except msgspec.ValidationError as error:
            raise ValueError(f"{name} cannot be {value!r}: {error}") from error


def _unknown(name: str) -> dict[str, str]:
    return {"error": f"there is no variable {name} in this class"}
