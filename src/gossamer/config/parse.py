"""Settings of parse: how far a document is understood."""

from typing import Annotated

from msgspec import Meta, Struct


class ParseSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[parse]`: limits for hostile or huge documents."""

    max_bytes: Annotated[
        int,
        Meta(
            ge=1_024,
            le=1 << 30,
            description="Only the first so many bytes of a document are parsed.",
        ),
    ] = 4_194_304
    max_links: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000_000,
            description="Links of one page beyond this are dropped, and it says so.",
        ),
    ] = 50_000
    max_sitemap_bytes: Annotated[
        int,
        Meta(
            ge=1_024,
            le=1 << 30,
            description="The largest sitemap that is fetched and read, unpacked.",
        ),
    ] = 52_428_800
    max_sitemap_urls: Annotated[
        int,
        Meta(ge=1, le=10_000_000, description="Entries of one sitemap beyond this are dropped."),
    ] = 50_000
    cpu_seconds: Annotated[
        float,
        Meta(
            ge=0.1,
            le=600,
            description="A page that takes longer costs the worker its life; twice, and the "
            "page is quarantined.",
        ),
    ] = 10.0
    near_duplicates: Annotated[
        bool,
        Meta(description="Compute a fingerprint of the text of each page for near duplicates."),
    ] = True
    obey_robots_meta: Annotated[
        bool, Meta(description="Honour nofollow in pages, links and X-Robots-Tag.")
    ] = True
