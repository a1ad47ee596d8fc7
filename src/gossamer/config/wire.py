"""Settings of the links between the daemons."""

from typing import Annotated

from msgspec import Meta, Struct


class WireSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[wire]`: links between URL Server, Spider and Store Server."""

    secret_file: Annotated[
        str,
        Meta(
            description="A file with the secret that both ends of a link must know, of at least 16 "
            "bytes, not readable by others; empty means the environment variable GOSSAMER_SECRET, "
            "and without that no secret."
        ),
    ] = ""
    max_peers: Annotated[
        int,
        Meta(ge=1, le=10_000, description="How many peers a listener serves at the same time."),
    ] = 64
    flow_grace_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=60_000,
            description="How long one side waits after connecting for the other to say how the "
            "link is used: the URL Server for a first GET, the Spider for a Store Server's "
            "greeting.",
            extra={"source_name": "Flow_Grace"},
        ),
    ] = 500
