"""Settings of the store: how bytes are kept."""

from typing import Annotated

from msgspec import Meta, Struct


class StoreSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[store]`: the archive."""

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
    operator: Annotated[str, Meta(description="Who runs the crawl, for the warcinfo record.")] = ""
