"""Settings of crawl: the whole run."""

from typing import Annotated

from msgspec import Meta, Struct


class CrawlSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[crawl]`: size, scope, processes."""

    scope: Annotated[
        str,
        Meta(
            pattern=r"^(host|domain|prefix|any|subdomains)\Z",
            description="How far from the start URLs links are followed.",
        ),
    ] = "host"
    include: Annotated[
        tuple[str, ...],
        Meta(description="Only URLs that match one of these expressions are fetched."),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Meta(description="URLs that match one of these expressions are not fetched."),
    ] = ()
    max_pages: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000_000_000,
            description="Stop after exactly so many pages, over the life of the workspace; 0: no "
            "limit.",
        ),
    ] = 0
    max_depth: Annotated[
        int,
        Meta(
            ge=-1,
            le=1_000_000,
            description="Follow links at most this far from a start URL; -1: no limit.",
        ),
    ] = -1
    concurrency: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description="How many fetches may be open at once in all, those of robots.txt among "
            "them; fewer where the machine does not allow twice as many open files, and 128 more.",
        ),
    ] = 64
    workers: Annotated[
        int,
        Meta(
            ge=-1,
            le=256,
            description="Worker processes; -1: one for each core; 0: all in one process.",
        ),
    ] = -1
    sitemaps: Annotated[
        bool, Meta(description="Fetch the sitemaps that robots.txt names and follow their entries.")
    ] = True
    patience_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=1_000_000_000,
            description="When only waiting is left (retries, robots.txt unreachable) and it would "
            "last longer than this, stop with exit code 5; run again to go on.",
        ),
    ] = 60.0
