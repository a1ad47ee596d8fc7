"""Parsed criterions made definite: known columns, values for macros, one kind for each operand.

Theory of operation. Databases change texts to numbers, and numbers to dates, each in its own way.
Here a literal takes the kind of what it stands beside (`UDate > '2026-01-01'`, `Status = '4'`), and
two operands of different kinds are an error. So the result means the same wherever it is computed.
"""

from calendar import monthrange
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from gossamer.objects.evaluation import evaluate
from gossamer.objects.expressions import (
    Between,
    Binary,
    Call,
    Column,
    IsNull,
    Junction,
    Kind,
    Like,
    Literal,
    Macro,
    Membership,
    Node,
    Shift,
    Unary,
    children_of,
)
from gossamer.objects.moments import epoch_of
from gossamer.objects.problems import CriterionError
from gossamer.wording import shortened

Value = int | float | str | None
Typed = tuple[Node, Kind]

_COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = 86_400


class Scope(Struct, frozen=True):
    """What the names in a criterion stand for."""

    columns: Mapping[str, Kind]
    """By name in lower case; `table.name` for those of joined tables."""
    now: float
    tables: frozenset[str] = frozenset()
    """Names under which the columns without a table may be addressed as well."""
    macros: Mapping[str, Value] = {}
    """By name, in its case; None is NULL."""


def resolve_condition(node: Node, scope: Scope, field: str = "WHERE") -> Node:
    """Return a condition made definite."""
    return _Resolver(scope, field).need(node, Kind.NUMBER)


def resolve_value(node: Node, scope: Scope, field: str) -> Typed:
    """Return an expression made definite, and its kind."""
    return _Resolver(scope, field).resolve(node)


def resolve_moment(node: Node, scope: Scope, field: str = "date") -> Node:
    """Return the date of an object made definite."""
    return _Resolver(scope, field).need(node, Kind.MOMENT)


def moment_at(node: Node, now: float) -> float | None:
    """Return the date that an expression without columns means now, as seconds since 1970."""
    value = evaluate(resolve_moment(node, Scope({}, now)), {})
    return None if value is None else float(value)


class _Resolver:
    def __init__(self, scope: Scope, field: str) -> None:
        self._scope = scope
        self._field = field

    def need(self, node: Node, kind: Kind) -> Node:
        """Return a node made definite, of this kind."""
        return self._as(self.resolve(node), kind)

    def resolve(self, node: Node) -> Typed:
        """Return a node made definite, and its kind."""
        match node:
            case Literal():
                return self._literal(node)
            case Column():
                return self._column(node)
            case Macro():
                return self._macro(node)
            case Unary():
                return Unary(node.operator, self.need(node.operand, Kind.NUMBER)), Kind.NUMBER
            case Junction():
                parts = tuple(self.need(part, Kind.NUMBER) for part in node.parts)
                return Junction(node.operator, parts), Kind.NUMBER
            case IsNull():
                return IsNull(self.resolve(node.operand)[0], node.negated), Kind.NUMBER
            case Like():
                return self._like(node), Kind.NUMBER
            case Binary():
                return self._binary(node), Kind.NUMBER
            case Membership():
                (operand, *items), _ = self._agreed((node.operand, *node.items))
                return Membership(operand, tuple(items), node.negated), Kind.NUMBER
            case Between():
                (operand, low, high), _ = self._agreed((node.operand, node.low, node.high))
                return Between(operand, low, high, node.negated), Kind.NUMBER
            case Call():
                return self._call(node)
            case Shift():
                return self._shift(node), Kind.MOMENT

    def _literal(self, node: Literal) -> Typed:
        value = node.value
        if isinstance(value, str) and "%" in value:
            for name, replacement in self._scope.macros.items():
                value = value.replace(f"%{name}%", "" if replacement is None else str(replacement))
            node = Literal(value, node.kind, node.position)
        return node, node.kind

    def _column(self, node: Column) -> Typed:
        name = f"{node.table}.{node.name}" if node.table else node.name
        if name not in self._scope.columns and node.table in self._scope.tables:
            name = node.name
        kind = self._scope.columns.get(name)
        if kind is None:
            shown = shortened(name, 80)
            raise CriterionError(self._field, f"{shown!r} is no column here", node.position)
        return Column(name, position=node.position), kind

    def _macro(self, node: Macro) -> Typed:
        if node.name not in self._scope.macros:
            raise CriterionError(
                self._field, f"the macro %{shortened(node.name, 60)}% has no value", node.position
            )
        value = self._scope.macros[node.name]
        literal = Literal(value, _kind_of(value), node.position)
        return literal, literal.kind

    def _binary(self, node: Binary) -> Node:
        if node.operator in _COMPARISONS:
            (left, right), _ = self._agreed((node.left, node.right))
        else:
            left, right = (self.need(part, Kind.NUMBER) for part in (node.left, node.right))
        return Binary(node.operator, left, right)

    def _like(self, node: Like) -> Node:
        pattern = self.need(node.pattern, Kind.TEXT)
        if not isinstance(pattern, Literal):
            raise CriterionError(self._field, "LIKE and a text are expected", node.position)
        return Like(self.need(node.operand, Kind.TEXT), pattern, node.negated)

    def _call(self, node: Call) -> Typed:
        now = self._scope.now
        match node.name, node.arguments:
            case "NOW", _:
                return Literal(now, Kind.MOMENT, node.position), Kind.MOMENT
            case "CURDATE", _:
                return Literal(now // _DAY * _DAY, Kind.MOMENT, node.position), Kind.MOMENT
            case "UNIX_TIMESTAMP", ():
                return Literal(int(now), Kind.NUMBER, node.position), Kind.NUMBER
            case "UNIX_TIMESTAMP", (moment,):
                return Call(node.name, (self.need(moment, Kind.MOMENT),)), Kind.NUMBER
            case "IFNULL", arguments:
                agreed, kind = self._agreed(arguments)
                return Call(node.name, tuple(agreed)), kind
            case "LENGTH", (text,):
                return Call(node.name, (self.need(text, Kind.TEXT),)), Kind.NUMBER
            case _:
                (text,) = node.arguments
                return Call(node.name, (self.need(text, Kind.TEXT),)), Kind.TEXT

    def _shift(self, node: Shift) -> Node:
        operand = self.need(node.operand, Kind.MOMENT)
        amount = self.need(node.amount, Kind.NUMBER)
        if node.unit not in _MONTHS:
            return Shift(operand, amount, node.unit, node.sign)
        # Months differ in length, so these are computed here, once, and not by the database.
        if _has_columns(operand) or _has_columns(amount):
            raise CriterionError(
                self._field, f"with {node.unit}, values without columns are expected", node.position
            )
        start, months = evaluate(operand, {}), evaluate(amount, {})
        if start is None or months is None:
            return Literal(None, Kind.NOTHING, node.position)
        try:
            shifted = _months_later(float(start), node.sign * int(months) * _MONTHS[node.unit])
        except (ValueError, OverflowError):
            raise CriterionError(self._field, "a date is out of range", node.position) from None
        return Literal(shifted, Kind.MOMENT, node.position)

    def _agreed(self, nodes: Sequence[Node]) -> tuple[list[Node], Kind]:
        """Return nodes that are compared with each other, all of one kind."""
        typed = [self.resolve(node) for node in nodes]
        kind = _common_kind(typed)
        return [self._as(each, kind) for each in typed], kind

    def _as(self, typed: Typed, wanted: Kind) -> Node:
        node, kind = typed
        if kind in (wanted, Kind.NOTHING) or wanted is Kind.NOTHING:
            return node
        position = _position_of(node)
        if isinstance(node, Literal):
            value = _converted(node.value, wanted)
            if value is not None:
                return Literal(value, wanted, position)
        raise CriterionError(
            self._field, f"{wanted.value} is expected where {kind.value} stands", position
        )


def _common_kind(typed: Sequence[Typed]) -> Kind:
    """Return the kind that literals adapt to: that of columns, else of dates, else of numbers."""
    kinds = [kind for node, kind in typed if not isinstance(node, Literal)]
    for kind in kinds:
        if kind is not Kind.NOTHING:
            return kind
    literal_kinds = {kind for _, kind in typed}
    for kind in (Kind.MOMENT, Kind.NUMBER, Kind.TEXT):
        if kind in literal_kinds:
            return kind
    return Kind.NOTHING


def _converted(value: Value, wanted: Kind) -> Value:
    """Return a literal as another kind; None if it has no form of that kind."""
    if wanted is Kind.MOMENT:
        return epoch_of(value) if isinstance(value, str) else None
    if wanted is Kind.TEXT:
        return str(value) if isinstance(value, int) else None
    return _number_in(value) if isinstance(value, str) else None


def _number_in(text: str) -> int | float | None:
    bare = text.strip()
    if not bare.isascii() or len(bare) > 40 or not bare.lstrip("+-.")[:1].isdecimal():
        return None
    try:
        whole = int(bare) if "_" not in bare else None
    except ValueError:
        whole = None
    if whole is not None and abs(whole) < 1 << 63:
        return whole
    try:
        return float(bare) if "_" not in bare else None
    except ValueError:
        return None


def _kind_of(value: Value) -> Kind:
    if value is None:
        return Kind.NOTHING
    return Kind.TEXT if isinstance(value, str) else Kind.NUMBER


def _has_columns(node: Node) -> bool:
    return isinstance(node, Column) or any(_has_columns(child) for child in children_of(node))


def _position_of(node: Node) -> int:
    return getattr(node, "position", 0)


def _months_later(epoch: float, months: int) -> float:
    """Return a date so many months later; the last day of the month if it has no such day."""
    start = _EPOCH + timedelta(seconds=epoch)
    count = start.year * 12 + start.month - 1 + months
    year, month = divmod(count, 12)
    day = min(start.day, monthrange(year, month + 1)[1])
    return (start.replace(year=year, month=month + 1, day=day) - _EPOCH).total_seconds()
