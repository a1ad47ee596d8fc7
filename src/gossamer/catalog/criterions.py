"""Criterions as SQL: texts of our own, with everything that a client wrote in bound parameters.

Theory of operation. The tree was parsed by `objects/criterions.py` and made definite here, against
an allow-list of columns. Each node then has one form in SQL; a literal is always `?`. No word of
the request can get into the text of a statement, because no form takes one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from gossamer.objects.columns import ColumnForm
from gossamer.objects.criterions import parse_criterions
from gossamer.objects.evaluation import SECONDS
from gossamer.objects.expressions import (
    Aggregate,
    Between,
    Binary,
    Call,
    Column,
    IsNull,
    Junction,
    Kind,
    Like,
    Literal,
    Membership,
    Node,
    Ordering,
    Select,
    Selection,
    Shift,
    Unary,
    Window,
    children_of,
)
from gossamer.objects.problems import CriterionError
from gossamer.objects.resolution import (
    Scope,
    Value,
    resolve_condition,
    resolve_moment,
    resolve_value,
)
from gossamer.objects.selection import Criterions
from gossamer.wording import shortened

_FORMS: Final = {
    "UNIX_TIMESTAMP": "CAST({} AS INTEGER)",
    "IFNULL": "ifnull({}, {})",
    "LENGTH": "length(CAST({} AS BLOB))",
    "LOWER": "lower({})",
    "UPPER": "upper({})",
}
_SUMMING: Final = ("SUM", "AVG")
_GROUP: Final = 50
# SQLite remembers 100 unfinished words; the rest is for the statement around.
_STACK: Final = 80


class Source(Struct, frozen=True):
    """Where the values of a column come from: an expression of ours in SQL, and their kind."""

    sql: str
    kind: Kind


class Columns(Struct, frozen=True):
    """The allow-list: which columns may be named."""

    sources: Mapping[str, Source]
    """By name in lower case; `table.name` for those of joined tables."""
    tables: frozenset[str] = frozenset()
    """Names (lower case) under which the columns without a table may be addressed as well."""


def allow_list(
    forms: Mapping[str, ColumnForm], sql: Mapping[str, str], tables: Iterable[str] = ()
) -> Columns:
    """Return the allow-list of a table of the document: which of its columns are what in SQL."""
    sources = {name.lower(): Source(text, forms[name].kind) for name, text in sql.items()}
    return Columns(sources, frozenset(table.lower() for table in tables))


class Table(Struct, frozen=True):
    """A table that queries of the SQL criterion may name."""

    sql: str
    columns: Columns


class Compiled(Struct, frozen=True):
    """A piece of SQL and the values for its question marks, in order."""

    sql: str = ""
    parameters: tuple[Value, ...] = ()


class Compiler:
    """Turns criterions into SQL, for one allow-list, one moment and one set of macros."""

    def __init__(
        self, columns: Columns, now: float, macros: Mapping[str, Value] | None = None
    ) -> None:
        self._columns = columns
        kinds = {name: source.kind for name, source in columns.sources.items()}
        self._scope = Scope(kinds, now, columns.tables, macros or {})

    def criterions(self, criterions: Criterions, added: Compiled | None = None) -> Compiled:
        """Return ` WHERE … ORDER BY … LIMIT …`; `added` is a condition of ours, joined by AND."""
        return self.selection(parse_criterions(criterions), added)

    def selection(self, selection: Selection, added: Compiled | None = None) -> Compiled:
        """Return what `criterions` returns, for criterions that are parsed already."""
        conditions: list[Compiled] = []
        if added is not None and added.sql:
            conditions.append(Compiled(f"({added.sql})", added.parameters))
        if selection.where is not None:
            conditions.append(self.condition(selection.where))
        pieces = [
            _joined(" WHERE ", " AND ", conditions),
            self.order(selection.order_by),
            limit_of(selection.window),
        ]
        return _joined("", "", [piece for piece in pieces if piece.sql])

    def condition(self, node: Node, field: str = "WHERE") -> Compiled:
        """Return a condition in parentheses."""
        return self._written(resolve_condition(node, self._scope, field), field)

    def moment(self, node: Node, field: str = "date") -> Compiled:
        """Return the date of an object, in seconds since 1970; it may be made of columns."""
        return self._written(resolve_moment(node, self._scope, field), field)

    def order(self, order: Sequence[Ordering]) -> Compiled:
        """Return ` ORDER BY …`, or nothing."""
        parts = []
        for part in order:
            value = self._written(resolve_value(part.node, self._scope, "ORDER BY")[0], "ORDER BY")
            direction = " DESC" if part.descending else " ASC"
            parts.append(Compiled(value.sql + direction, value.parameters))
        return _joined(" ORDER BY ", ", ", parts)

    def value(self, value: Node | Aggregate, field: str = "SQL") -> Compiled:
        """Return what a query selects."""
        if not isinstance(value, Aggregate):
            return self._written(resolve_value(value, self._scope, field)[0], field)
        if value.argument is None:
            return Compiled("count(*)")
        node, kind = resolve_value(value.argument, self._scope, field)
        if value.name in _SUMMING and kind not in (Kind.NUMBER, Kind.NOTHING):
            raise CriterionError(field, f"{value.name} of a number is expected", value.position)
        argument = self._written(node, field)
        # TOTAL does not fail where SUM of whole numbers does, beyond 64 bits.
        name = "total" if value.name == "SUM" else value.name.lower()
        return Compiled(f"{name}({argument.sql})", argument.parameters)

    def _written(self, node: Node, field: str) -> Compiled:
        if _stack_of(node) > _STACK:
            raise CriterionError(field, "less nesting is expected")
        parameters: list[Value] = []
        return Compiled(self._sql(node, parameters), tuple(parameters))

    def _sql(self, node: Node, parameters: list[Value]) -> str:
        """Return the text of a node, and put its values where they belong in the order."""
        match node:
            case Literal():
                parameters.append(node.value)
                return "?"
            case Column():
                return f"({self._columns.sources[node.name].sql})"
            case Unary():
                return f"({_UNARY[node.operator]} {self._sql(node.operand, parameters)})"
            case IsNull():
                test = "IS NOT NULL" if node.negated else "IS NULL"
                return f"({self._sql(node.operand, parameters)} {test})"
            case Junction():
                parts = [self._sql(part, parameters) for part in node.parts]
                return _grouped(_JUNCTIONS[node.operator], parts)
            case Binary():
                return self._binary(node, parameters)
            case Membership():
                operand = self._sql(node.operand, parameters)
                items = ", ".join(self._sql(item, parameters) for item in node.items)
                return f"({operand} {_not(node.negated)}IN ({items}))"
            case Between():
                operand, low, high = (
                    self._sql(each, parameters) for each in (node.operand, node.low, node.high)
                )
                return f"({operand} {_not(node.negated)}BETWEEN {low} AND {high})"
            case Like():
                operand, pattern = (
                    self._sql(each, parameters) for each in (node.operand, node.pattern)
                )
                return f"({operand} {_not(node.negated)}LIKE {pattern} ESCAPE '\\')"
            case Shift():
                operand, amount = (
                    self._sql(each, parameters) for each in (node.operand, node.amount)
                )
                return f"({operand} + ({amount} * {node.sign * SECONDS[node.unit]}))"
            case Call():
                arguments = [self._sql(each, parameters) for each in node.arguments]
                return _FORMS[node.name].format(*arguments)
        raise AssertionError(f"not definite: {node}")

    def _binary(self, node: Binary, parameters: list[Value]) -> str:
        left, right = (self._sql(each, parameters) for each in (node.left, node.right))
        if node.operator == "/":
            # A half is a half: the database would cut the quotient of whole numbers.
            return f"(CAST({left} AS REAL) / {right})"
        return f"({left} {_BINARY[node.operator]} {right})"


def compile_select(
    query: Select, tables: Mapping[str, Table], now: float, macros: Mapping[str, Value]
) -> Compiled:
    """Return a query of the SQL criterion; only the given tables can be named."""
    table = tables.get(query.table)
    if table is None:
        shown = shortened(query.table, 80)
        raise CriterionError("SQL", f"{shown!r} is no table here", query.position)
    compiler = Compiler(table.columns, now, macros)
    value = compiler.value(query.value)
    rest = compiler.selection(Selection(query.where, query.order_by, query.window))
    return Compiled(
        # Put together from texts of ours only.
        f"SELECT {value.sql} FROM {table.sql}{rest.sql}",  # noqa: S608
        value.parameters + rest.parameters,
    )


def check_tables(names: Iterable[str], known: Iterable[str]) -> None:
    """Make sure that a TABLES criterion names only tables of a list."""
    allowed = frozenset(known)
    for name in names:
        if name not in allowed:
            raise CriterionError("TABLES", f"{shortened(name, 80)!r} is no table here")


def limit_of(window: Window | None) -> Compiled:
    """Return ` LIMIT … OFFSET …`, or nothing."""
    if window is None:
        return Compiled()
    return Compiled(" LIMIT ? OFFSET ?", (window.count, window.offset))


_JUNCTIONS: Final = {"AND": " AND ", "OR": " OR "}
_UNARY: Final = {"NOT": "NOT", "-": "-", "~": "~"}
# Written out, so that what is printed comes from this table and not from the tree.
_BINARY: Final = {
    "=": "=",
    "<>": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "+": "+",
    "-": "-",
    "*": "*",
    "%": "%",
    "&": "&",
    "|": "|",
    "<<": "<<",
    ">>": ">>",
}


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _grouped(operator: str, parts: Sequence[str]) -> str:
    """Join parts in groups: a chain of all of them would be a tree too deep for the database."""
    while len(parts) > _GROUP:
        groups = [parts[start : start + _GROUP] for start in range(0, len(parts), _GROUP)]
        parts = [f"({operator.join(group)})" for group in groups]
    return f"({operator.join(parts)})"


def _stack_of(node: Node) -> int:
    """Return how many unfinished words the database has to remember while it reads a node."""
    match node:
        case Unary() | IsNull():
            return 2 + _stack_of(node.operand)
        case Binary():
            left = 3 if node.operator == "/" else 1
            return max(left + _stack_of(node.left), 3 + _stack_of(node.right))
        case Junction():
            levels = 1 + (len(node.parts) > _GROUP)
            return 3 * levels + max(map(_stack_of, node.parts))
        case Shift():
            return max(1 + _stack_of(node.operand), 4 + _stack_of(node.amount))
        case Call() | Membership() | Between() | Like():
            return 6 + max(map(_stack_of, children_of(node)))
    return 8


def _joined(start: str, between: str, pieces: Sequence[Compiled]) -> Compiled:
    if not pieces:
        return Compiled()
    sql = start + between.join(piece.sql for piece in pieces)
    return Compiled(sql, tuple(value for piece in pieces for value in piece.parameters))
