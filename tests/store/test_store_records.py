"""The records are good WARC 1.1, as another reader of WARC sees it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isal import igzip_lib
from store_samples import BASE, fetch_of, warcio_problems, warcio_records

from gossamer.config.store import StoreSettings
from gossamer.messages import Pointer
from gossamer.outcomes import Outcome
from gossamer.store.fields import (
    RecordIds,
    metadata_block,
    one_line,
    record_date,
    record_id,
    target_uri,
)
from gossamer.store.members import record_of
from gossamer.store.records import RecordWriter
from gossamer.store.store import Known, payload_digest


def written(tmp_path, *fetches, parent=None, known=None, **settings):
    """Write fetches into one file, have warcio check it, and return what warcio reads."""
    writer = RecordWriter(StoreSettings(**settings))
    path = tmp_path / "sample.warc.gz"
    groups = [writer.group(fetch, parent, known).data for fetch in fetches]
    path.write_bytes(b"".join([writer.warcinfo(path.name, BASE), *groups]))
    assert warcio_problems(path) == 0
    return warcio_records(path)


def test_a_page_becomes_response_request_and_metadata(tmp_path):
    info, response, request, metadata = written(tmp_path, fetch_of(1), operator="Ada\r\nX: y")
    assert [info[0], response[0], request[0], metadata[0]] == [
        "warcinfo",
        "response",
        "request",
        "metadata",
    ]
    assert b"operator: Ada  X: y\r\n" in info[3]
    assert info[1]["WARC-Filename"] == "sample.warc.gz"
    identity = response[1]["WARC-Record-ID"]
    for _, headers, _, _ in (response, request, metadata):
        assert headers["WARC-Target-URI"] == "https://docs.example.org/page/1"
        assert headers["WARC-IP-Address"] == "127.0.0.1"
        assert headers["WARC-Date"] == "2027-01-15T08:00:01.125000Z"
    assert request[1]["WARC-Concurrent-To"] == metadata[1]["WARC-Concurrent-To"] == identity
    assert response[1]["WARC-Payload-Digest"] == payload_digest(fetch_of(1).raw)
    assert response[3] == fetch_of(1).raw
    assert b"outcome: ok\r\n" in metadata[3]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_of_compression_is_readable(tmp_path, level):
    records = written(tmp_path, fetch_of(40), compression_level=level)
    assert records[1][3] == fetch_of(40).raw


def test_block_digests_of_responses_can_be_asked_for(tmp_path):
    records = written(tmp_path, fetch_of(1), response_block_digests=True)
    assert records[1][1]["WARC-Block-Digest"] == payload_digest(fetch_of(1).head + fetch_of(1).raw)


def test_a_compressed_payload_is_kept_compressed_and_decodes(tmp_path):
    plain = b"<p>hello</p>" * 100
    raw = igzip_lib.compress(plain, 1, igzip_lib.COMP_GZIP)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    _, response, *_ = written(tmp_path, fetch_of(1, raw=raw, head=head))
    assert response[3] == plain
    assert response[1]["WARC-Payload-Digest"] == payload_digest(raw)
    assert response[2]["X-Archive-Orig-Transfer-Encoding"] == "chunked"
    assert response[2]["Content-Length"] == str(len(raw))


def test_http_2_is_written_as_text_and_named(tmp_path):
    _, response, *_ = written(
        tmp_path, fetch_of(1, head=b"HTTP/2 200 \r\ncontent-type: a/b\r\n\r\n")
    )
    assert response[1]["WARC-Protocol"] == "h2"
    assert response[3] == fetch_of(1).raw


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome.OK_PARTIAL, "unspecified"),
        (Outcome.BODY_TOO_LARGE, "length"),
        (Outcome.NET_TIMEOUT_TOTAL, "time"),
        (Outcome.NET_SLOW, "time"),
        (Outcome.BODY_SHORT, "disconnect"),
    ],
)
def test_a_body_that_was_cut_says_why(tmp_path, outcome, reason):
    _, response, *_ = written(tmp_path, fetch_of(1, outcome=outcome))
    assert response[1]["WARC-Truncated"] == reason


def test_a_repetition_names_what_it_repeats(tmp_path):
    pointer = Pointer("gossamer-20270115080000-w1-00001.warc.gz", 321, 9)
    known = Known("https://docs.example.org/first", BASE, payload_digest(b"same"), pointer)
    _, revisit, *_ = written(tmp_path, fetch_of(2, raw=b"same"), known=known)
    assert revisit[0] == "revisit"
    assert revisit[1]["WARC-Profile"].endswith("/warc/1.1/revisit/identical-payload-digest")
    assert revisit[1]["WARC-Payload-Digest"] == known.payload_digest
    assert revisit[1]["WARC-Refers-To-Target-URI"] == known.uri
    assert revisit[1]["WARC-Refers-To-Date"] == "2027-01-15T08:00:00.125000Z"
    assert revisit[1]["WARC-Refers-To-Filename"] == pointer.file
    assert revisit[1]["WARC-Refers-To-File-Offset"] == "321"
    assert revisit[3] == b""


def test_not_modified_has_a_profile_of_its_own(tmp_path):
    fetch = fetch_of(2, raw=b"", status=304, head=b"HTTP/1.1 304 Not Modified\r\n\r\n")
    _, revisit, *_ = written(tmp_path, fetch)
    assert revisit[1]["WARC-Profile"].endswith("/warc/1.1/revisit/server-not-modified")
    assert "WARC-Payload-Digest" not in revisit[1]


def test_an_address_that_is_none_is_left_out(tmp_path):
    _, ordinary, *_ = written(tmp_path, fetch_of(1, connected="2001:db8::1"))
    assert ordinary[1]["WARC-IP-Address"] == "2001:db8::1"
    _, odd, *_ = written(tmp_path, fetch_of(1, connected="evil\r\nX: y"))
    assert "WARC-IP-Address" not in odd[1]


HOSTILE = st.text(st.sampled_from("a:/?#%\r\n\0\t \x7f\x85\u2028é\ud800"), max_size=30)


@given(url=HOSTILE, detail=HOSTILE, flag=HOSTILE, parent=HOSTILE, address=HOSTILE)
def test_no_text_from_outside_can_add_a_header(url, detail, flag, parent, address):
    """Line breaks, NUL, broken Unicode: each record has exactly the headers and fields we wrote."""
    fetch = fetch_of(1, url=f"http://h/{url}", detail=detail, flags=(flag,), connected=address)
    writer = RecordWriter(StoreSettings())
    group = writer.group(fetch, parent, None)
    record = record_of(igzip_lib.decompress(group.data[: group.length], igzip_lib.DECOMP_GZIP))
    assert [name for name, _ in record.headers if name != "WARC-IP-Address"] == [
        "WARC-Type",
        "WARC-Record-ID",
        "WARC-Date",
        "WARC-Target-URI",
        "WARC-Payload-Digest",
        "Content-Type",
        "Content-Length",
    ]
    assert record.block == fetch.head + fetch.raw
    names = re.findall(r"(?m)^(\w+): ", metadata_block(fetch, parent).decode())
    expected = {"outcome", "fetchTimeMs", "docId", "depth", "tries", "via", "flags", "detail"}
    assert len(names) == len(set(names))
    assert set(names) <= expected


@given(HOSTILE)
def test_a_uri_is_always_one_word_of_ascii(url):
    assert re.fullmatch(rb"[!-~]*", target_uri(url))


def test_a_canonical_uri_is_not_touched():
    url = "https://docs.example.org:8443/a%20b/~c?d=e&f[]=%C3%A9"
    assert target_uri(url) == url.encode()


def test_long_text_is_cut():
    assert len(one_line("x" * 100_000)) == 4_000


@pytest.mark.parametrize(
    ("moment", "date"),
    [
        (0.0, b"1970-01-01T00:00:00.000000Z"),
        (-5.0, b"1970-01-01T00:00:00.000000Z"),
        (1_800_000_000.9999999, b"2027-01-15T08:00:01.000000Z"),
    ],
)
def test_dates_are_utc_with_microseconds(moment, date):
    assert record_date(moment) == date


def test_record_ids_are_uuids_that_never_repeat():
    writers = [RecordIds() for _ in range(50)]
    groups = [ids.new_group() for ids in writers for _ in range(50)]
    ids = {record_id(group, place) for group in groups for place in range(3)}
    assert len(ids) == 7_500
    pattern = rb"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>"
    assert all(re.fullmatch(pattern, one) for one in ids)


@pytest.mark.parametrize(
    ("raw", "media_type"),
    [
        (b"<!doctype html><title>x</title>", "text/html"),
        (b"%PDF-1.7 ...", "application/pdf"),
        (b"plain words", "text/plain"),
        (b"\0\1\2\3", "application/octet-stream"),
    ],
)
def test_a_document_alone_becomes_a_resource_of_the_type_it_seems_to_be(tmp_path, raw, media_type):
    info, resource, metadata = written(tmp_path, fetch_of(1, head=b"", request_head=b"", raw=raw))
    assert (info[0], resource[0], metadata[0]) == ("warcinfo", "resource", "metadata")
    assert resource[1]["Content-Type"] == media_type
    assert resource[1]["WARC-Payload-Digest"] == resource[1]["WARC-Block-Digest"]
    assert resource[3] == raw
    assert metadata[1]["WARC-Concurrent-To"] == resource[1]["WARC-Record-ID"]
    assert b"status: 200\r\n" in metadata[3]
