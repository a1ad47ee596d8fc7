def group(
    identity: bytes,
    fetched_at: float,
    url: str,
    address: str,
    payload_digest: str,
    head: bytes,
    raw: bytes,
    request_head: bytes,
    outcome: str,
    milliseconds: int,
    doc_id: int,
    depth: int,
    tries: int,
    /,
) -> tuple[bytes, bytes, bytes] | None: ...
def digest(sha1_sum: bytes, /) -> str: ...
