"""The meaning of a definite expression: what it computes to, for one row.

The catalog lets the database compute the same trees; a test holds the two together. Numbers are
those of a database: whole numbers of 64 bits that become floating when they grow beyond, and NULL
where there is no result.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

from gossamer.objects.expressions import (
    Between,
    Binary,
    Call,
    Column,
    IsNull,
    Junction,
    Like,
    Literal,
    Membership,
    Node,
    Shift,
    Unary,
)

Value = int | float | str | None
Number = int | float

SECONDS: Final = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": 86_400, "WEEK": 604_800}
_LARGEST: Final = (1 << 63) - 1
_SMALLEST: Final = -(1 << 63)
_UPPER_TO_LOWER: Final = {code: code + 32 for code in range(65, 91)}
_LOWER_TO_UPPER: Final = {code: code - 32 for code in range(97, 123)}


def evaluate(node: Node, row: Mapping[str, Value]) -> Value:
    """Return the value of a tree that `resolution.py` made definite."""
    match node:
        case Literal():
            return node.value
        case Column():
            return row[node.name]
        case Unary():
            return _unary(node.operator, evaluate(node.operand, row))
        case Junction():
            return _junction(node, row)
        case IsNull():
            return int((evaluate(node.operand, row) is None) != node.negated)
        case Binary():
            return _binary(node.operator, evaluate(node.left, row), evaluate(node.right, row))
        case Membership():
            operand = evaluate(node.operand, row)
            found = [_binary("=", operand, evaluate(item, row)) for item in node.items]
            return _negated(_any_of(found), node.negated)
        case Between():
            operand = evaluate(node.operand, row)
            above = _binary(">=", operand, evaluate(node.low, row))
            below = _binary("<=", operand, evaluate(node.high, row))
            return _negated(_all_of([above, below]), node.negated)
        case Like():
            text, pattern = evaluate(node.operand, row), evaluate(node.pattern, row)
            if not isinstance(text, str) or not isinstance(pattern, str):
                return None
            return int(_is_like(text, pattern) != node.negated)
        case Shift():
            amount = evaluate(node.amount, row)
            seconds = _binary("*", amount, node.sign * SECONDS[node.unit])
            return _binary("+", evaluate(node.operand, row), seconds)
        case Call():
            return _call(node.name, [evaluate(argument, row) for argument in node.arguments])
    raise AssertionError(f"not definite: {node}")


def _unary(operator: str, operand: Value) -> Value:
    if operand is None:
        return None
    if operator == "NOT":
        return int(not operand)
    return _binary("-", 0, operand) if operator == "-" else ~_whole(operand)


def _junction(node: Junction, row: Mapping[str, Value]) -> Value:
    parts = [evaluate(part, row) for part in node.parts]
    return _all_of(parts) if node.operator == "AND" else _any_of(parts)


def _all_of(parts: list[Value]) -> Value:
    if any(part is not None and not part for part in parts):
        return 0
    return None if None in parts else 1


def _any_of(parts: list[Value]) -> Value:
    if any(parts):
        return 1
    return None if None in parts else 0


def _negated(value: Value, negated: bool) -> Value:
    return value if value is None or not negated else int(not value)


def _binary(operator: str, left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    comparison = _COMPARISONS.get(operator)
    if comparison is not None:
        return int(comparison(left, right))
    assert not isinstance(left, str)
    assert not isinstance(right, str)
    return _ARITHMETIC[operator](left, right)


_COMPARISONS: Final[dict[str, Callable[..., bool]]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def _added(left: Number, right: Number) -> Value:
    return _held(left + right, lambda: float(left) + float(right))


def _subtracted(left: Number, right: Number) -> Value:
    return _held(left - right, lambda: float(left) - float(right))


def _multiplied(left: Number, right: Number) -> Value:
    return _held(left * right, lambda: float(left) * float(right))


def _divided(left: Number, right: Number) -> Value:
    if not right:
        return None
    quotient = float(left) / float(right)
    return None if math.isnan(quotient) else quotient


def _remainder(left: Number, right: Number) -> Value:
    dividend, divisor = _whole(left), _whole(right)
    if not divisor:
        return None
    rest = abs(dividend) % abs(divisor)
    signed = rest if dividend >= 0 else -rest
    return signed if isinstance(left, int) and isinstance(right, int) else float(signed)


def _held(exact: Number, floating: Callable[[], float]) -> Value:
    """Return a result as a database holds it."""
    if isinstance(exact, int):
        return exact if _SMALLEST <= exact <= _LARGEST else floating()
    return None if math.isnan(exact) else exact


def _whole(number: Value) -> int:
    """Return a number cut to a whole one of 64 bits."""
    if isinstance(number, int):
        return number
    assert isinstance(number, float)
    if number >= _LARGEST:
        return _LARGEST
    return _SMALLEST if number <= _SMALLEST else int(number)


def _shifted_left(left: Number, right: Number) -> Value:
    number, places = _whole(left), _whole(right)
    if places < 0:
        return number >> min(-places, 63)
    bits = (number << places) & ((1 << 64) - 1) if places < 64 else 0
    return bits - (1 << 64) if bits > _LARGEST else bits


def _shifted_right(left: Number, right: Number) -> Value:
    places = _whole(right)
    return _shifted_left(left, -places if places > _SMALLEST else _LARGEST)


_ARITHMETIC: Final[dict[str, Callable[[Number, Number], Value]]] = {
    "+": _added,
    "-": _subtracted,
    "*": _multiplied,
    "/": _divided,
    "%": _remainder,
    "&": lambda left, right: _whole(left) & _whole(right),
    "|": lambda left, right: _whole(left) | _whole(right),
    "<<": _shifted_left,
    ">>": _shifted_right,
}


def _call(name: str, arguments: list[Value]) -> Value:
    first = arguments[0]
    if name == "IFNULL":
        return arguments[1] if first is None else first
    if first is None:
        return None
    if name == "UNIX_TIMESTAMP":
        return _whole(first)
    text = str(first)
    if name == "LENGTH":
        return len(text.encode())
    # Letters of ASCII only, as the database does it.
    return text.translate(_UPPER_TO_LOWER if name == "LOWER" else _LOWER_TO_UPPER)


def _is_like(text: str, pattern: str) -> bool:
    """Whether a text is like a pattern; in steps of at most text times pattern."""
    items = _like_items(pattern.translate(_UPPER_TO_LOWER))
    if items is None:
        return False
    lowered = text.translate(_UPPER_TO_LOWER)
    here = item = 0
    resume: tuple[int, int] | None = None
    while here < len(lowered):
        if item < len(items) and items[item] == "%":
            item += 1
            resume = (here, item)
        elif item < len(items) and items[item] in ("_", "\\" + lowered[here]):
            here, item = here + 1, item + 1
        elif resume is not None:
            here, item = resume[0] + 1, resume[1]
            resume = (here, item)
        else:
            return False
    return all(rest == "%" for rest in items[item:])


def _like_items(pattern: str) -> list[str] | None:
    """Split a pattern into %, _ and characters (with a backslash before); None: matches nothing."""
    items: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            escaped = next(characters, None)
            if escaped is None:
                return None
            items.append("\\" + escaped)
        else:
            items.append(character if character in "%_" else "\\" + character)
    return items
