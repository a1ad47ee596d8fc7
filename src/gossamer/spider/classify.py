"""What a transfer amounts to: exactly one outcome for everything a server or the network can do.

Pure: the facts come in, a verdict goes out. The facts are judged in the order of their weight:
what we stopped ourselves, what is wrong with the head, what libcurl could not bear, what the
status means, what is wrong with the body.
"""

import errno
from enum import IntEnum
from typing import Final

from msgspec import Struct, field

from gossamer.clock import header_moment
from gossamer.outcomes import Outcome
from gossamer.spider.decode import Decoded
from gossamer.spider.head import Head, coding_fault

# The flag of a fetch that our own machine had no socket for. Its outcome keeps the URL pending
# without end (see RULES) and blames no host; whoever runs the spider should open fewer at once.
OUT_OF_SOCKETS: Final = "out_of_sockets"
_OWN_LIMITS: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
# Whoever waits has limits of its own: for the host of a crawl it is an hour.
_LONGEST_WISH_SECONDS: Final = 86_400
_RESET: Final = frozenset((errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED))
_UNREACHABLE: Final = frozenset(
    (
        errno.ENETUNREACH,
        errno.EHOSTUNREACH,
        errno.ENETDOWN,
        errno.EHOSTDOWN,
        errno.EACCES,
        errno.EPERM,
        errno.EADDRNOTAVAIL,
        errno.EAFNOSUPPORT,
        errno.EINVAL,
        errno.EPROTONOSUPPORT,
    )
)


class CurlError(IntEnum):
    """libcurl's error codes that have a meaning here; pycurl does not name all of them."""

    UNSUPPORTED_PROTOCOL = 1
    URL_MALFORMAT = 3
    COULDNT_RESOLVE_PROXY = 5
    COULDNT_RESOLVE_HOST = 6
    COULDNT_CONNECT = 7
    WEIRD_SERVER_REPLY = 8
    HTTP2 = 16
    PARTIAL_FILE = 18
    OPERATION_TIMEDOUT = 28
    SSL_CONNECT_ERROR = 35
    GOT_NOTHING = 52
    SEND_ERROR = 55
    RECV_ERROR = 56
    SSL_CERTPROBLEM = 58
    SSL_CIPHER = 59
    PEER_FAILED_VERIFICATION = 60
    BAD_CONTENT_ENCODING = 61
    FILESIZE_EXCEEDED = 63
    SSL_SHUTDOWN_FAILED = 80
    SSL_ISSUER_ERROR = 83
    SSL_INVALIDCERTSTATUS = 91
    HTTP2_STREAM = 92
    SSL_CLIENTCERT = 98
    TOO_LARGE = 100


class Facts(Struct, gc=False):
    """All that is known when a transfer has ended."""

    code: int = 0
    """libcurl's error code; 0 is success."""
    error_number: int = 0
    message: str = ""
    head: Head = field(default_factory=Head)
    stopped: Outcome | None = None
    """Why we ended it ourselves: a deadline, a limit, the address policy."""
    stopped_detail: str = ""
    conditional: bool = False
    """The request had If-None-Match or If-Modified-Since."""
    secure: bool = False
    verified: bool = True
    connected: bool = False
    requested: bool = False
    """The request went out."""
    is_cut: bool = False
    """More of the body was there than is wanted."""
    is_whole: bool = False
    """All the bytes that the head announced have come, whatever befell the connection then."""
    decoded: Decoded | None = None
    flags: tuple[str, ...] = ()
    """What was noticed before the head was read."""


class Verdict(Struct, gc=False):
    """The class of a fetch, with words for people."""

    outcome: Outcome
    detail: str = ""
    flags: tuple[str, ...] = ()


def judge(facts: Facts) -> Verdict:
    """Return the one outcome that these facts amount to."""
    head = facts.head
    if facts.stopped is not None:
        return Verdict(facts.stopped, facts.stopped_detail, head.flags)
    if head.fault is not None:
        return Verdict(head.fault, head.detail, head.flags)
    if facts.code and not facts.is_cut and not facts.is_whole:
        return _judge_error(facts)
    if not head.complete:
        return Verdict(Outcome.NET_CLOSED_EARLY, "connection closed before the header was complete")
    return _judge_response(facts)


def meaning_of(status: int, conditional: bool) -> tuple[Outcome, str]:
    """Return what a final status means (S0.26); redirects are OK here, `redirect` looks further."""
    if status == 101:
        return Outcome.PROTO_UPGRADE, "switches to a protocol that was not asked for"
    if status < 200:
        return Outcome.PROTO_STATUS, f"final status {status}"
    if status == 206:
        return Outcome.PROTO_FRAMING, "a part of the document, though no part was asked for"
    if status == 304:
        if conditional:
            return Outcome.NOT_MODIFIED, ""
        return Outcome.PROTO_STATUS, "304 to an unconditional request"
    if status in (305, 306):
        return Outcome.REDIR_NONE, f"status {status} is obsolete and not followed"
    if status < 400:
        return Outcome.OK, ""
    if status == 429:
        return Outcome.HTTP_429, f"status {status}"
    if status < 500:
        return Outcome.HTTP_4XX, f"status {status}"
    return Outcome.HTTP_5XX, f"status {status}"


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """Read Retry-After (seconds or a date) as seconds, up to a day; None if it is neither."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        wish = float(text[:18])
    else:
        moment = header_moment(text)
        if moment is None:
            return None
        wish = moment - now
    return float(min(max(wish, 1), _LONGEST_WISH_SECONDS))


def _judge_response(facts: Facts) -> Verdict:
    head = facts.head
    outcome, detail = meaning_of(head.status, facts.conditional)
    flags = [*facts.flags, *head.flags]
    if head.status >= 600:
        flags.append("status_unknown")
    if _has_unknown_length(head):
        flags.append("length_unknown")
    if facts.secure and not facts.verified:
        flags.append("tls_unverified")
    if facts.is_cut:
        flags.append("body_cut")
    decoded = facts.decoded
    if decoded is not None:
        flags.extend(decoded.flags)
        # The body of an error or a redirect is an extra: whatever is wrong with it changes nothing.
        if decoded.fault is not None and outcome is Outcome.OK and head.status < 300:
            outcome, detail = decoded.fault, decoded.detail
    return Verdict(outcome, detail, tuple(flags))


def _has_unknown_length(head: Head) -> bool:
    """Whether only the end of the connection told where the body ends."""
    return (
        head.content_length is None
        and not head.chunked
        and head.version.startswith("1")
        and head.status not in (204, 304)
    )


def _judge_error(facts: Facts) -> Verdict:
    outcome = _class_of_error(facts)
    flags = facts.head.flags
    detail = facts.message or f"libcurl error {facts.code}"
    if outcome is Outcome.STORE_FAILED:
        flags = (*flags, OUT_OF_SOCKETS)
    elif outcome is Outcome.PROTO_NOT_HTTP:
        # libcurl has other words for it on a connection that was used before.
        detail = "what came back is not HTTP"
    return Verdict(outcome, detail, flags)


def _class_of_error(facts: Facts) -> Outcome:
    code = facts.code
    if facts.error_number in _OWN_LIMITS:
        return Outcome.STORE_FAILED
    if code == CurlError.COULDNT_CONNECT:
        return _class_of_connect(facts)
    if code in (CurlError.RECV_ERROR, CurlError.SEND_ERROR, CurlError.GOT_NOTHING):
        return _class_of_transport(facts)
    if code == CurlError.PEER_FAILED_VERIFICATION:
        return _class_of_certificate(facts.message)
    if code == CurlError.SSL_CONNECT_ERROR:
        return _class_of_handshake(facts)
    if code == CurlError.OPERATION_TIMEDOUT:
        return _class_of_timeout(facts)
    for needle, outcome in _MESSAGES.get(code, ()):
        if needle in facts.message:
            return outcome
    if code == CurlError.BAD_CONTENT_ENCODING:
        return coding_fault(facts.message.partition("(")[2].partition(")")[0].lower())
    return _CODES.get(code, Outcome.INTERNAL)


def _class_of_connect(facts: Facts) -> Outcome:
    if facts.error_number in _UNREACHABLE:
        return Outcome.NET_UNREACHABLE
    if facts.error_number in _RESET:
        return Outcome.NET_RESET
    if facts.error_number == errno.ETIMEDOUT:
        return Outcome.NET_TIMEOUT_CONNECT
    return Outcome.NET_REFUSED


def _class_of_transport(facts: Facts) -> Outcome:
    message = facts.message
    if "chunk" in message or "hexadecimal" in message:
        return Outcome.PROTO_CHUNK
    if "Too large response headers" in message or "Too many response headers" in message:
        return Outcome.PROTO_HEADER_LIMIT
    if "alert" in message and facts.secure and not facts.head.raw:
        # TLS 1.3: a server that wants a certificate of ours says so after the handshake.
        return Outcome.TLS_HANDSHAKE
    if facts.error_number in _RESET or "reset" in message or "Broken pipe" in message:
        return Outcome.NET_RESET
    if facts.error_number == errno.ETIMEDOUT:
        return _class_of_timeout(facts)
    if facts.error_number in _UNREACHABLE:
        return Outcome.NET_UNREACHABLE
    return Outcome.BODY_SHORT if facts.head.complete else Outcome.NET_CLOSED_EARLY


def _class_of_timeout(facts: Facts) -> Outcome:
    if not facts.connected:
        return Outcome.NET_TIMEOUT_CONNECT
    if not facts.requested:
        return Outcome.TLS_HANDSHAKE if facts.secure else Outcome.NET_TIMEOUT_CONNECT
    return Outcome.NET_TIMEOUT_TOTAL if facts.head.complete else Outcome.NET_TIMEOUT_HEADERS


def _class_of_certificate(message: str) -> Outcome:
    if "expired" in message or "not yet valid" in message:
        return Outcome.TLS_EXPIRED
    if "subject" in message or "hostname" in message or "host name" in message:
        return Outcome.TLS_NAME
    return Outcome.TLS_UNTRUSTED


def _class_of_handshake(facts: Facts) -> Outcome:
    message = facts.message.lower()
    if any(sign in message for sign in _NOT_TLS):
        return Outcome.TLS_NOT_TLS
    if facts.error_number in _RESET or "reset" in message:
        return Outcome.NET_RESET
    return Outcome.TLS_HANDSHAKE


_NOT_TLS: Final = (
    "wrong version number",
    "packet length too long",
    "record layer failure",
    "http request",
    "unknown protocol",
    "bad record type",
)
_MESSAGES: Final[dict[int, tuple[tuple[str, Outcome], ...]]] = {
    CurlError.UNSUPPORTED_PROTOCOL: (
        ("HTTP/0.9", Outcome.PROTO_NOT_HTTP),
        ("subversion", Outcome.PROTO_STATUS),
        ("HTTP version", Outcome.PROTO_VERSION),
        ("rotocol", Outcome.REDIR_SCHEME),
    ),
    CurlError.WEIRD_SERVER_REPLY: (
        # No status line at all; one that is there but wrong is a "subversion" to libcurl.
        ("status line", Outcome.PROTO_NOT_HTTP),
        ("ersion", Outcome.PROTO_VERSION),
        ("Content-Length", Outcome.PROTO_FRAMING),
        ("Multiple Location", Outcome.REDIR_BAD),
    ),
    CurlError.BAD_CONTENT_ENCODING: (("after chunked", Outcome.PROTO_FRAMING),),
    CurlError.PARTIAL_FILE: (("chunk hex", Outcome.PROTO_CHUNK),),
    CurlError.HTTP2_STREAM: (("not closed cleanly", Outcome.NET_RESET),),
}
_CODES: Final[dict[int, Outcome]] = {
    CurlError.UNSUPPORTED_PROTOCOL: Outcome.PROTO_NOT_HTTP,
    CurlError.WEIRD_SERVER_REPLY: Outcome.PROTO_HEADER,
    CurlError.URL_MALFORMAT: Outcome.DNS_BAD,
    # Not a name of the web: nobody is to think that the host of the URL has none.
    CurlError.COULDNT_RESOLVE_PROXY: Outcome.NET_UNREACHABLE,
    CurlError.COULDNT_RESOLVE_HOST: Outcome.DNS_BAD,
    CurlError.PARTIAL_FILE: Outcome.BODY_SHORT,
    CurlError.FILESIZE_EXCEEDED: Outcome.BODY_TOO_LARGE,
    CurlError.HTTP2: Outcome.PROTO_FRAMING,
    CurlError.HTTP2_STREAM: Outcome.PROTO_FRAMING,
    CurlError.SSL_CIPHER: Outcome.TLS_HANDSHAKE,
    CurlError.SSL_CERTPROBLEM: Outcome.TLS_HANDSHAKE,
    CurlError.SSL_ISSUER_ERROR: Outcome.TLS_UNTRUSTED,
    CurlError.SSL_INVALIDCERTSTATUS: Outcome.TLS_UNTRUSTED,
    CurlError.SSL_CLIENTCERT: Outcome.TLS_HANDSHAKE,
    CurlError.SSL_SHUTDOWN_FAILED: Outcome.TLS_HANDSHAKE,
    CurlError.TOO_LARGE: Outcome.PROTO_HEADER_LIMIT,
}
