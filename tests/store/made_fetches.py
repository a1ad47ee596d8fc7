"""Fetches by lot: most are ordinary, the rest is what servers, proxies and enemies make of one."""

from random import Random

from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome

LINES = (
    b"Server: nginx/1.22.1",
    b"Content-Type: text/html; charset=utf-8",
    b"X: transfer-encoding: chunked",
    b"X-Transfer-Encoding: chunked",
    b" continued",
)
ODD_LINES = (
    b"Transfer-Encoding: chunked",
    b"transfer-encoding\t:gzip",
    b"TRANSFER-ENCODING:",
    b"Transfer-Encodin",
    b"",
    b"\r",
    b" ",
    b"\x85",
    b"\xa0\x1c\x1f",
    b"\x0b\x0c",
    b"\0",
    b"\xff: \xfe",
    b"WARC-Type: warcinfo",
)
STARTS = (b"HTTP/1.1 200 OK", b"HTTP/1.0 404 Not Found", b"HTTP/1.1 200")
ODD_STARTS = (
    b"HTTP/2 200",
    b"HTTP/3 200 ",
    b"http/1.1 200 OK",
    b"ICY 200",
    b" HTTP/1.1 200 OK",
    b"",
)
ENDS = (b"\r\n\r\n", b"\n\n")
ODD_ENDS = (
    b"",
    b"\n",
    b"\r\n",
    b"\r\n\r\n\r\n",
    b"\r\n\r\r\n",
    b"\n\r",
    b"\n \n",
    b"\n\n ",
    b"\r\n\r\nx",
)
URLS = (
    "https://docs.example.org/a.html",
    "http://[::1]:8080/?q=1&r=%20#x",
    "http://a/" + "b" * 700,
)
ODD_URLS = (
    "",
    "http://a/ b",
    "http://a/\r\nWARC-Type: x",
    "http://a/\x7f",
    "http://ä/",
    "http://a/\ud800",
    "http://a/" + "b" * 6_000,
)
ADDRESSES = ("127.0.0.1", "::1", "fe80::FFFF:1.2.3.4")
ODD_ADDRESSES = ("", "1", "localhost", "1.2.3.4\r\n", "1" * 46, "\u0661.\u0662.\u0663")
MOMENTS = (0.0, 0.000_000_5, 1_800_000_000.125, 951_782_399.999_999_9, 4_102_444_800.0, 1.5e9)
ODD_MOMENTS = (-5.0, 1e12, 253_402_300_799.0)


def fetches(random: Random, count: int) -> list[Fetch]:
    return [_fetch(random) for _ in range(count)]


def _fetch(random: Random) -> Fetch:
    oddity = random.random() if random.random() < 0.5 else 0.0

    def one(usual, odd):
        return random.choice(odd if random.random() < oddity else usual)

    def head() -> bytes:
        lines = [one(LINES, ODD_LINES) for _ in range(random.randrange(6))]
        line_end = one((b"\r\n",), (b"\n", b"\r"))
        return line_end.join([one(STARTS, ODD_STARTS), *lines]) + one(ENDS, ODD_ENDS)

    visit = Visit(
        0,
        random.choice((0, 9, 10, 12_345_678_901)),
        "",
        one(URLS, ODD_URLS),
        depth=one((0, 7, 10), (-1, 1 << 70)),
        tries=random.randrange(3),
        via=one(((),), (("http://a/",),)),
    )
    return Fetch(
        visit,
        one((Outcome.OK, Outcome.HTTP_4XX), (Outcome.OK_PARTIAL, Outcome.BODY_TOO_LARGE)),
        detail=one(("",), ("cut\r\nhere",)),
        status=200,
        request_head=head(),
        head=head(),
        raw=random.randbytes(random.choice((0, 1, 55, 56, 63, 64, 300))),
        flags=one(((),), (("length_unknown",),)),
        address=one(ADDRESSES, ODD_ADDRESSES),
        fetched_at=one((*MOMENTS, random.random() * 4e9), ODD_MOMENTS),
        milliseconds=random.randrange(3_000),
    )
