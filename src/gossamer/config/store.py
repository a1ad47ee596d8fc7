"""Settings of the store: how bytes are kept."""

from typing import Annotated

from msgspec import Meta, Struct


class StoreSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[store]`: the archive."""

    keep: Annotated[
        bool,
        Meta(
            description="Keep what is fetched in the archive; when off, only the catalog remembers."
        ),
    ] = True
    raw_folder: Annotated[
        str,
        Meta(
            description="For the crawling service: the folder in which raw contents are kept as "
            "files, by site and URL; empty: in the archive."
        ),
    ] = ""
    raw_keeps_old: Annotated[
        bool,
        Meta(description="In that folder, earlier versions of a URL stay when it gets another."),
    ] = True
    max_file_bytes: Annotated[
        int,
        Meta(
            ge=1_024,
            le=1 << 40,
            description="A WARC file is closed and a new one begun at this size.",
        ),
    ] = 1_000_000_000
    compression_level: Annotated[
        int, Meta(ge=0, le=3, description="gzip level of the fast compressor: 0 least, 3 most.")
    ] = 1
    write_requests: Annotated[bool, Meta(description="Keep the request beside each response.")] = (
        True
    )
    write_metadata: Annotated[
        bool,
        Meta(description="Keep a metadata record (timings, parent, outcome) beside each response."),
    ] = True
    revisits: Annotated[
        bool,
        Meta(description="Write a revisit record instead of a payload that is stored already."),
    ] = True
    response_block_digests: Annotated[
        bool,
        Meta(description="Add a SHA-1 over head and payload to the SHA-1 that each payload has."),
    ] = False
    buffer_bytes: Annotated[
        int,
        Meta(
            ge=4_096,
            le=1 << 32,
            description="Records waiting for a sync take up to this much memory.",
        ),
    ] = 8_388_608
    reserve_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=1 << 50,
            description="Crawling pauses while less than this is free on the disk.",
        ),
    ] = 268_435_456
    greeting: Annotated[
        bool,
        Meta(
            description="As a daemon: greet Spiders that wait for it, and tell them how many of "
            "their results are saved; one that says something else first is never greeted."
        ),
    ] = True
    unsaved_bytes: Annotated[
        int,
        Meta(
            ge=65_536,
            le=1 << 40,
            description="As a daemon: results that are not saved yet take up to about this much "
            "memory; beyond it nothing more is read from Spiders.",
        ),
    ] = 67_108_864
    silence_seconds: Annotated[
        float,
        Meta(
            ge=0.1,
            le=86_400,
            description="As a daemon: a Spider that stops in the middle of a result for longer "
            "than this is left.",
        ),
    ] = 60.0
    grace_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=3_600,
            description="As a daemon, when told to stop: how long saving what was received may "
            "still take.",
        ),
    ] = 30.0
    operator: Annotated[str, Meta(description="Who runs the crawl, for the warcinfo record.")] = ""
