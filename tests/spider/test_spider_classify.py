"""The classes of everything that can be told without a network."""

import errno
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.outcomes import Outcome
from gossamer.spider.classify import CurlError, Facts, judge, meaning_of, retry_after_seconds
from gossamer.spider.decode import Decoded
from gossamer.spider.head import Head

SPECIAL = {
    101: Outcome.PROTO_UPGRADE,
    206: Outcome.PROTO_FRAMING,
    304: Outcome.PROTO_STATUS,
    305: Outcome.REDIR_NONE,
    306: Outcome.REDIR_NONE,
    429: Outcome.HTTP_429,
}


@pytest.mark.req("S0.26")
@pytest.mark.parametrize("status", range(100, 1000))
def test_every_status_has_a_meaning(status: int) -> None:
    families = {1: Outcome.PROTO_STATUS, 2: Outcome.OK, 3: Outcome.OK, 4: Outcome.HTTP_4XX}
    expected = SPECIAL.get(status, families.get(status // 100, Outcome.HTTP_5XX))
    verdict = judge(Facts(head=Head(status=status, version="1.1", complete=True)))
    assert verdict.outcome is expected
    assert ("status_unknown" in verdict.flags) == (status >= 600)
    assert bool(verdict.detail) == (expected is not Outcome.OK)


def test_304_is_good_news_when_asked_for() -> None:
    assert meaning_of(304, conditional=True)[0] is Outcome.NOT_MODIFIED


ERRORS = [
    (CurlError.COULDNT_CONNECT, errno.ECONNREFUSED, "", Outcome.NET_REFUSED),
    (CurlError.COULDNT_CONNECT, errno.EHOSTUNREACH, "", Outcome.NET_UNREACHABLE),
    (CurlError.COULDNT_CONNECT, errno.ENETUNREACH, "", Outcome.NET_UNREACHABLE),
    (CurlError.COULDNT_CONNECT, errno.EACCES, "", Outcome.NET_UNREACHABLE),
    (CurlError.COULDNT_CONNECT, errno.EADDRNOTAVAIL, "", Outcome.NET_UNREACHABLE),
    (CurlError.COULDNT_CONNECT, errno.ECONNRESET, "", Outcome.NET_RESET),
    (CurlError.COULDNT_CONNECT, errno.ETIMEDOUT, "", Outcome.NET_TIMEOUT_CONNECT),
    (CurlError.COULDNT_CONNECT, errno.EMFILE, "", Outcome.STORE_FAILED),
    (CurlError.COULDNT_CONNECT, errno.ENOBUFS, "", Outcome.STORE_FAILED),
    (CurlError.URL_MALFORMAT, 0, "", Outcome.DNS_BAD),
    (CurlError.COULDNT_RESOLVE_HOST, 0, "", Outcome.DNS_BAD),
    (CurlError.UNSUPPORTED_PROTOCOL, 0, 'Protocol "ftp" disabled', Outcome.REDIR_SCHEME),
    (CurlError.UNSUPPORTED_PROTOCOL, 0, "Received HTTP/0.9 when", Outcome.PROTO_NOT_HTTP),
    (CurlError.UNSUPPORTED_PROTOCOL, 0, "Unsupported HTTP version", Outcome.PROTO_VERSION),
    (CurlError.UNSUPPORTED_PROTOCOL, 0, "Unsupported HTTP/1 subversion", Outcome.PROTO_STATUS),
    (CurlError.WEIRD_SERVER_REPLY, 0, "Invalid status line", Outcome.PROTO_NOT_HTTP),
    (CurlError.WEIRD_SERVER_REPLY, 0, "Header without colon", Outcome.PROTO_HEADER),
    (CurlError.WEIRD_SERVER_REPLY, 0, "Version mismatch", Outcome.PROTO_VERSION),
    (CurlError.WEIRD_SERVER_REPLY, 0, "Multiple Location headers", Outcome.REDIR_BAD),
    (CurlError.OPERATION_TIMEDOUT, 0, "", Outcome.NET_TIMEOUT_CONNECT),
    (CurlError.RECV_ERROR, errno.ECONNRESET, "", Outcome.NET_RESET),
    (CurlError.RECV_ERROR, errno.ETIMEDOUT, "", Outcome.NET_TIMEOUT_CONNECT),
    (CurlError.RECV_ERROR, errno.EHOSTUNREACH, "", Outcome.NET_UNREACHABLE),
    (CurlError.RECV_ERROR, 0, "invalid chunk size: 'x'", Outcome.PROTO_CHUNK),
    (CurlError.RECV_ERROR, 0, "Too large response headers", Outcome.PROTO_HEADER_LIMIT),
    (CurlError.RECV_ERROR, 0, "", Outcome.NET_CLOSED_EARLY),
    (CurlError.SEND_ERROR, errno.EPIPE, "", Outcome.NET_RESET),
    (CurlError.GOT_NOTHING, 0, "Empty reply", Outcome.NET_CLOSED_EARLY),
    (CurlError.PARTIAL_FILE, 0, "", Outcome.BODY_SHORT),
    (CurlError.TOO_LARGE, 0, "", Outcome.PROTO_HEADER_LIMIT),
    (CurlError.FILESIZE_EXCEEDED, 0, "", Outcome.BODY_TOO_LARGE),
    (CurlError.BAD_CONTENT_ENCODING, 0, "Transfer-Encoding (gzip) x", Outcome.BODY_ENCODING),
    (CurlError.BAD_CONTENT_ENCODING, 0, "Transfer-Encoding (zap) x", Outcome.PROTO_FRAMING),
    (CurlError.HTTP2, 0, "", Outcome.PROTO_FRAMING),
    (CurlError.HTTP2_STREAM, 0, "stream 1 was not closed cleanly", Outcome.NET_RESET),
    (CurlError.PEER_FAILED_VERIFICATION, 0, "certificate has expired", Outcome.TLS_EXPIRED),
    (CurlError.PEER_FAILED_VERIFICATION, 0, "is not yet valid", Outcome.TLS_EXPIRED),
    (CurlError.PEER_FAILED_VERIFICATION, 0, "self-signed certificate", Outcome.TLS_UNTRUSTED),
    (CurlError.PEER_FAILED_VERIFICATION, 0, "no alternative subject name", Outcome.TLS_NAME),
    (CurlError.SSL_CONNECT_ERROR, 0, "tls: wrong version number", Outcome.TLS_NOT_TLS),
    (CurlError.SSL_CONNECT_ERROR, 0, "alert handshake failure", Outcome.TLS_HANDSHAKE),
    (CurlError.SSL_CONNECT_ERROR, errno.ECONNRESET, "", Outcome.NET_RESET),
    (CurlError.SSL_CLIENTCERT, 0, "", Outcome.TLS_HANDSHAKE),
    (23, 0, "a bug of ours", Outcome.INTERNAL),
]


@pytest.mark.parametrize(("code", "number", "message", "expected"), ERRORS)
def test_errors_of_libcurl(code: int, number: int, message: str, expected: Outcome) -> None:
    verdict = judge(Facts(code=code, error_number=number, message=message))
    assert verdict.outcome is expected
    assert verdict.detail


def test_the_phase_of_a_timeout() -> None:
    timed_out = Facts(code=CurlError.OPERATION_TIMEDOUT, connected=True)
    assert judge(timed_out).outcome is Outcome.NET_TIMEOUT_CONNECT
    timed_out.secure = True
    assert judge(timed_out).outcome is Outcome.TLS_HANDSHAKE
    timed_out.requested = True
    assert judge(timed_out).outcome is Outcome.NET_TIMEOUT_HEADERS
    timed_out.head = Head(status=200, version="1.1", complete=True)
    assert judge(timed_out).outcome is Outcome.NET_TIMEOUT_TOTAL


def test_a_body_that_has_all_its_bytes_is_whole_whatever_came_then() -> None:
    head = Head(status=200, version="1.1", complete=True, content_length=5)
    cut = Facts(code=CurlError.RECV_ERROR, message="unexpected eof while reading", head=head)
    assert judge(cut).outcome is Outcome.BODY_SHORT
    cut.is_whole = True
    assert judge(cut).outcome is Outcome.OK


def test_a_broken_body_counts_only_for_a_document() -> None:
    broken = Decoded(b"", Outcome.BODY_DECODE, "damaged")
    document = Facts(head=Head(status=200, version="1.1", complete=True), decoded=broken)
    assert judge(document).outcome is Outcome.BODY_DECODE
    error_page = Facts(head=Head(status=404, version="1.1", complete=True), decoded=broken)
    assert judge(error_page).outcome is Outcome.HTTP_4XX


@given(
    st.builds(
        Facts,
        code=st.integers(0, 130),
        error_number=st.integers(0, 140),
        message=st.text(max_size=40),
        head=st.builds(
            Head,
            status=st.integers(0, 999),
            version=st.sampled_from(["", "1.0", "1.1", "2"]),
            complete=st.booleans(),
        ),
        stopped=st.none() | st.sampled_from(list(Outcome)),
        conditional=st.booleans(),
        secure=st.booleans(),
        connected=st.booleans(),
        requested=st.booleans(),
        is_cut=st.booleans(),
    )
)
def test_any_facts_amount_to_one_outcome(facts: Facts) -> None:
    verdict = judge(facts)
    assert verdict.outcome in Outcome
    if facts.stopped is not None:
        assert verdict.outcome is facts.stopped


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120.0),
        (" 7 ", 7.0),
        ("0", 1.0),
        ("7200", 7200.0),
        ("1000000000000", 86400.0),
        ("9" * 400, 86400.0),
        ("Fri, 15 Jan 2027 08:01:00 GMT", 60.0),
        ("Friday, 15-Jan-27 08:01:00 GMT", 60.0),
        ("Fri Jan 15 08:01:00 2027", 60.0),
        ("Fri, 15 Jan 2027 09:01:00 +0100", 60.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 1.0),
        ("Sat, 16 Jan 2027 07:00:00 GMT", 82800.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86400.0),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        (None, None),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_retry_after(
    value: str | None, expected: float | None, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H84: both forms, clamped, wherever we are; nonsense is no wish at all."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert retry_after_seconds(value, NOW) == expected
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.text())
def test_retry_after_never_fails(value: str) -> None:
    seconds = retry_after_seconds(value, NOW)
    assert seconds is None or 1.0 <= seconds <= 86400.0
