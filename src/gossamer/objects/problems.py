"""What is wrong with an object that a client sent."""

from gossamer.errors import InputError


class ObjectError(InputError):
    """An object of the service cannot be used; says which one, which field and what is expected."""

    def __init__(self, kind: str, field: str, expected: str) -> None:
        dot = "." if field and not field.startswith("[") else ""
        place = f"{kind}{dot}{field}"
        super().__init__(f"cannot use {place}: {expected}")
        self.kind = kind
        self.field = field
        self.expected = expected


class CriterionError(ObjectError):
    """A condition cannot be understood or is not allowed; says at which character."""

    def __init__(self, field: str, expected: str, position: int | None = None) -> None:
        where = "" if position is None else f" at character {position + 1}"
        super().__init__("criterions", field, f"{expected}{where}")
        self.position = position


class UnsupportedError(ObjectError):
    """What is asked for is known, but this service does not do it."""
