"""Conditions as data: the nodes that a criterion is parsed into.

A parsed tree still has macros, dates as texts and columns that may not exist; `resolution.py` makes
of it a tree whose leaves are known columns and literals of a known kind, which is the only kind of
tree that `evaluation.py` computes and that the catalog turns into SQL.
"""

from collections.abc import Iterator
from enum import Enum
from typing import TypeAlias

from msgspec import Struct


class Kind(Enum):
    """What a value is; there is no silent change from one kind to another."""

    NUMBER = "a number"
    TEXT = "a text"
    MOMENT = "a date"
    """Computed with as seconds since 1970."""
    NOTHING = "NULL"


class Literal(Struct, frozen=True):
    """A constant."""

    value: int | float | str | None
    kind: Kind
    position: int = 0


class Column(Struct, frozen=True):
    """A column, in lower case, perhaps with the name of its table."""

    name: str
    table: str = ""
    position: int = 0


class Macro(Struct, frozen=True):
    """%NAME%, to be replaced by a value."""

    name: str
    position: int = 0


class Unary(Struct, frozen=True):
    """NOT, - or ~ before an operand."""

    operator: str
    operand: "Node"


class Binary(Struct, frozen=True):
    """A comparison, a sum, a product, or an operation on bits."""

    operator: str
    left: "Node"
    right: "Node"
    position: int = 0


class Junction(Struct, frozen=True):
    """AND or OR over two or more parts."""

    operator: str
    parts: tuple["Node", ...]


class Membership(Struct, frozen=True):
    """[NOT] IN (list)."""

    operand: "Node"
    items: tuple["Node", ...]
    negated: bool = False
    position: int = 0


class Between(Struct, frozen=True):
    """[NOT] BETWEEN low AND high."""

    operand: "Node"
    low: "Node"
    high: "Node"
    negated: bool = False
    position: int = 0


class Like(Struct, frozen=True):
    r"""[NOT] LIKE pattern; `\` is the escape character, case of ASCII letters does not matter."""

    operand: "Node"
    pattern: "Node"
    negated: bool = False
    position: int = 0


class IsNull(Struct, frozen=True):
    """IS [NOT] NULL."""

    operand: "Node"
    negated: bool = False


class Call(Struct, frozen=True):
    """A function of the list in `criterions.py`."""

    name: str
    arguments: tuple["Node", ...]
    position: int = 0


class Shift(Struct, frozen=True):
    """A date plus an interval; a negative sign is for DATE_SUB."""

    operand: "Node"
    amount: "Node"
    unit: str
    sign: int = 1
    position: int = 0


Node: TypeAlias = (
    Literal
    | Column
    | Macro
    | Unary
    | Binary
    | Junction
    | Membership
    | Between
    | Like
    | IsNull
    | Call
    | Shift
)


class Ordering(Struct, frozen=True):
    """One part of ORDER BY."""

    node: Node
    descending: bool = False


class Window(Struct, frozen=True):
    """LIMIT: how many rows after how many that are left out."""

    count: int
    offset: int = 0


class Aggregate(Struct, frozen=True):
    """COUNT(*), COUNT, MIN, MAX, SUM or AVG of an expression."""

    name: str
    argument: Node | None
    position: int = 0


class Select(Struct, frozen=True):
    """A query of one value, as the SQL criterion of URLFetch has them."""

    value: Node | Aggregate
    table: str
    where: Node | None = None
    order_by: tuple[Ordering, ...] = ()
    window: Window | None = None
    position: int = 0


class Selection(Struct, frozen=True):
    """All criterions of a request, parsed."""

    where: Node | None = None
    order_by: tuple[Ordering, ...] = ()
    window: Window | None = None
    queries: tuple[tuple[str, Select], ...] = ()
    tables: tuple[str, ...] = ()


def children_of(node: Node) -> Iterator[Node]:
    """Return the operands of a node."""
    match node:
        case Unary() | IsNull():
            yield node.operand
        case Binary():
            yield from (node.left, node.right)
        case Junction():
            yield from node.parts
        case Membership():
            yield node.operand
            yield from node.items
        case Between():
            yield from (node.operand, node.low, node.high)
        case Like():
            yield from (node.operand, node.pattern)
        case Call():
            yield from node.arguments
        case Shift():
            yield from (node.operand, node.amount)
