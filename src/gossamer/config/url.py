"""Settings of url: which URLs are the same, which may be visited."""

from typing import Annotated

from msgspec import Meta, Struct


class UrlSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[url]`: canonical form, traps, address policy."""

    max_bytes: Annotated[
        int, Meta(ge=256, le=65_535, description="Links longer than this are dropped.")
    ] = 8_192
    sort_query: Annotated[
        bool, Meta(description="Sort query parameters; off, for it can change a page.")
    ] = False
    drop_parameters: Annotated[
        tuple[str, ...],
        Meta(
            description="Query parameters to remove; `utm_*` style endings match. "
            '["tracking"] names a built-in list.'
        ),
    ] = ()
    max_repeated_segments: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000,
            description="A path with a segment repeated more often, or a run of segments repeated "
            "this often, is a trap; a query with a parameter repeated more often too.",
        ),
    ] = 3
    max_path_segments: Annotated[
        int, Meta(ge=1, le=10_000, description="A path with more segments is a trap.")
    ] = 40
    max_query_variants: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000_000,
            description="More combinations of two or more parameters than this on one path of a "
            "host are quarantined, unless one parameter tells the pages apart as an id does.",
        ),
    ] = 2_000
    max_pattern_urls: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000_000,
            description="More URLs than this of one host that differ only in numbers and ids are "
            "quarantined.",
        ),
    ] = 100_000
    max_calendar_urls: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000_000,
            description="More URLs than this of one host that differ only in dates (calendars) "
            "are quarantined.",
        ),
    ] = 5_000
    max_pattern_depth: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="URLs with numbers, dates or queries that are more links than this away "
            "from a start URL are taken for an endless chain.",
        ),
    ] = 5_000
    max_session_variants: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="More URLs than this that differ only in a session id are quarantined.",
        ),
    ] = 8
    max_fruitless_pages: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000_000,
            description="Links that only pages with nothing new to say lead to are followed on "
            "probation; after more pages than this without news, those links are quarantined.",
        ),
    ] = 100
    max_domain_hosts: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000_000,
            description="More hosts than this of one registrable domain are quarantined "
            "(wildcard names).",
        ),
    ] = 10_000
    max_host_sitemaps: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000_000,
            description="More sitemaps than this of one host that other sitemaps name are "
            "quarantined.",
        ),
    ] = 50_000
    trap_exempt: Annotated[
        tuple[str, ...],
        Meta(description="Hosts, or whole domains for their number of hosts, without trap rules."),
    ] = ()
    allow_private: Annotated[
        bool, Meta(description="Lift the address policy: for crawls inside one's own network.")
    ] = False
    allow_networks: Annotated[
        tuple[str, ...],
        Meta(description="Networks (CIDR) that may be visited though they are not public."),
    ] = ()
