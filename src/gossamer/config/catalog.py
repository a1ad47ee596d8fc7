"""Settings of the catalog: what is remembered."""

from typing import Annotated

from msgspec import Meta, Struct


class CatalogSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[catalog]`: the database and the revisit plan."""

    cache_bytes: Annotated[
        int, Meta(ge=1 << 20, le=1 << 40, description="Memory for database pages.")
    ] = 64 << 20
    recrawl_first_seconds: Annotated[
        float,
        Meta(
            ge=1,
            le=1_000_000_000,
            description="A page is due again this long after its first fetch.",
        ),
    ] = 86_400.0
    recrawl_min_seconds: Annotated[
        float,
        Meta(
            ge=1,
            le=1_000_000_000,
            description="A page that always changes is due again after this.",
        ),
    ] = 3_600.0
    recrawl_max_seconds: Annotated[
        float,
        Meta(
            ge=1, le=1_000_000_000, description="A page that never changes is due again after this."
        ),
    ] = 2_592_000.0
    follow_duplicates: Annotated[
        bool,
        Meta(
            description="Follow the links of a page that has the same bytes as an earlier one; "
            "when off, what only such pages lead to is kept out."
        ),
    ] = True
    keep_links: Annotated[
        bool, Meta(description="Keep the link graph (export --format links).")
    ] = True
