"""Criterions as they stand in requests; `criterions.py` parses them."""

from typing import Annotated, Final

from msgspec import Meta, field

from gossamer.objects.record import Record

MAX_EXPRESSION: Final = 8_192

ExpressionText = Annotated[str, Meta(max_length=MAX_EXPRESSION)]
QueryName = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}\Z")]


class Criterions(Record, frozen=True, kw_only=True):
    """Which rows are meant, in what order, and how many."""

    where: ExpressionText | None = field(default=None, name="WHERE")
    order_by: ExpressionText | None = field(default=None, name="ORDER BY")
    limit: int | ExpressionText | list[int] | None = field(default=None, name="LIMIT")
    """A number, "10", "5,10" or [5, 10]: of a pair the first is the offset."""
    sql: Annotated[dict[QueryName, ExpressionText], Meta(max_length=32)] | None = field(
        default=None, name="SQL"
    )
    """Of URLFetch: queries by name, run once per site; their first value replaces %name%."""
    tables: ExpressionText | None = field(default=None, name="TABLES")
    """Of SiteFind: further tables that WHERE may name."""
