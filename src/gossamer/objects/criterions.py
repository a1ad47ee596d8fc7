"""Criterions parsed by a small grammar; nothing that a client wrote ever becomes SQL text."""

from typing import Final

from gossamer.objects.expressions import Kind, Literal, Node, Ordering, Select, Selection, Window
from gossamer.objects.grammar import Parser, measured
from gossamer.objects.moments import epoch_of
from gossamer.objects.problems import CriterionError
from gossamer.objects.selection import Criterions

MAX_ROWS: Final = 1 << 53
"""The largest number in LIMIT."""


def parse_criterions(criterions: Criterions) -> Selection:
    """Return the criterions of a request as data; empty parts are left out."""
    return Selection(
        where=parse_condition(criterions.where) if _is_given(criterions.where) else None,
        order_by=parse_order(criterions.order_by) if _is_given(criterions.order_by) else (),
        window=parse_limit(criterions.limit),
        queries=tuple(
            (name, parse_select(query, f"SQL {name}"))
            for name, query in (criterions.sql or {}).items()
        ),
        tables=parse_tables(criterions.tables) if _is_given(criterions.tables) else (),
    )


def parse_condition(text: str | None, field: str = "WHERE") -> Node:
    """Return a condition as a tree."""
    parser = Parser(field, text or "")
    node = parser.expression()
    parser.finish()
    return measured(field, node)


def parse_order(text: str | None, field: str = "ORDER BY") -> tuple[Ordering, ...]:
    """Return the parts of ORDER BY."""
    parser = Parser(field, text or "")
    order = parser.order()
    parser.finish()
    return order


def parse_limit(limit: int | str | list[int] | None) -> Window | None:
    """Return LIMIT, given as 10, "10", "5,10", "10 OFFSET 5" or [5, 10]; None if it is empty."""
    if limit is None or limit in ("", []):
        return None
    if isinstance(limit, str):
        if not limit.strip():
            return None
        parser = Parser("LIMIT", limit)
        window = parser.window()
        parser.finish()
        return window
    numbers = [limit] if isinstance(limit, int) else limit
    if len(numbers) > 2 or any(not 0 <= number <= MAX_ROWS for number in numbers):
        raise CriterionError("LIMIT", "a count, or a pair of offset and count, is expected")
    return Window(numbers[-1], numbers[0] if len(numbers) == 2 else 0)


def parse_select(text: str, field: str = "SQL") -> Select:
    """Return a query of one value: SELECT value FROM table [WHERE …] [ORDER BY …] [LIMIT …]."""
    parser = Parser(field, text)
    query = parser.select()
    parser.finish()
    return query


def parse_tables(text: str | None, field: str = "TABLES") -> tuple[str, ...]:
    """Return the names of tables in a list with commas, in lower case."""
    parser = Parser(field, text or "")
    names = [parser.table()]
    while parser.takes(","):
        names.append(parser.table())
    parser.finish()
    return tuple(names)


def parse_moment(text: str) -> Node:
    """Return a date of an object as a tree: a literal date, or an expression such as NOW()."""
    epoch = epoch_of(text)
    if epoch is not None:
        return Literal(epoch, Kind.MOMENT)
    return parse_condition(text, "date")


def _is_given(text: str | None) -> bool:
    return text is not None and bool(text.strip())
