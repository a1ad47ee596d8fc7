"""The golden vectors, read from their files, and strategies for messages of either format."""

import json
from itertools import pairwise
from pathlib import Path

from hypothesis import strategies as st

from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome
from gossamer.wire.lines import Order
from gossamer.wire.results import Result

GOLDEN = Path(__file__).parent / "golden"
LINES = json.loads((GOLDEN / "lines.json").read_text(encoding="utf-8"))
RESULTS = json.loads((GOLDEN / "results.json").read_text(encoding="utf-8"))
VISIT = Visit(7, 12, "192.0.2.1", "http://example.org/")


def golden_bytes(vector: dict) -> bytes:
    return (GOLDEN / vector["file"]).read_bytes()


def text_of(value: str | dict) -> bytes:
    if isinstance(value, str):
        return value.encode("ascii")
    return value["begins"].encode().ljust(value["bytes"], value["filled_with"].encode())


def result_in(vector: dict) -> Result:
    return Result(
        doc_id=vector["doc_id"],
        success=vector["success"],
        specific=vector["specific"],
        http=vector["http"],
        milliseconds=vector["milliseconds"],
        url=text_of(vector["url"]),
        new_url=text_of(vector["new_url"]),
        document=bytes.fromhex(vector["document_hex"]),
        form=vector["padding"] if vector["padding"] == 1 else 0,
    )


_printable = st.characters(min_codepoint=0x21, max_codepoint=0x7E)
urls = st.text(_printable, min_size=1, max_size=60).map(lambda rest: "http://" + rest)
orders = st.builds(
    Order,
    trans_id=st.integers(0, 2**64 - 1),
    doc_id=st.integers(0, 2**32 - 1),
    address=st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str),
    host=st.text(_printable, min_size=1, max_size=40).filter(lambda host: "://" not in host),
    url=urls,
)
results = st.builds(
    Result,
    doc_id=st.integers(0, 2**32 - 1),
    success=st.booleans(),
    specific=st.integers(0, 255),
    http=st.integers(0, 255),
    milliseconds=st.integers(0, 2**32 - 1),
    url=st.one_of(st.just(""), urls).map(str.encode),
    new_url=st.one_of(st.just(""), urls).map(str.encode),
    document=st.binary(max_size=300),
    form=st.integers(0, 1),
)
_words = st.text(st.characters(codec="latin-1"), max_size=20)
fetches = st.builds(
    Fetch,
    visit=st.just(VISIT),
    outcome=st.sampled_from(Outcome),
    detail=st.text(st.characters(codec="utf-8"), max_size=40),
    status=st.integers(0, 999),
    http_version=st.sampled_from(["", "1.0", "1.1", "2"]),
    request_head=st.binary(max_size=60),
    head=st.binary(max_size=60),
    headers=st.lists(st.tuples(_words, _words), max_size=4).map(tuple),
    raw=st.binary(max_size=100),
    body=st.binary(max_size=100),
    flags=st.lists(_words, max_size=3).map(tuple),
    address=st.ip_addresses().map(str),
    fetched_at=st.floats(0, 4e9),
    milliseconds=st.integers(0, 2**32 - 1),
    retry_after_seconds=st.one_of(st.none(), st.floats(0, 3600)),
    redirect_to=st.one_of(st.none(), st.just("https://example.org/there")),
)


def cut_at(data: bytes, places: list[int]) -> list[bytes]:
    """Return the data in pieces that end at these places."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]
