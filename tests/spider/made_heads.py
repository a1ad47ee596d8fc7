"""Heads by lot: a half of them odd in any way that we know of."""

from random import Random

STATUS_LINES = (
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 200",
    b"HTTP/1.0 200 OK",
    b"HTTP/1.1 404 Not Found",
    b"HTTP/1.1 599 ",
    b"HTTP/1.1 301 Moved  Permanently",
)
ODD_STATUS_LINES = (
    b"",
    b"HTTP/1.1",
    b"HTTP/1.1 20",
    b"HTTP/1.1 2000 OK",
    b"HTTP/1.1 100 Continue",
    b"HTTP/1.1 600 OK",
    b"HTTP/1.1 2x0 OK",
    b"HTTP/1.1 200OK",
    b"HTTP/1.2 200 OK",
    b"HTTP/1.1  200 OK",
    b"http/1.1 200 OK",
    b"HTTP/1.1 200 \x7f",
    b"HTTP/1.1 200 caf\xe9",
    b"HTTP/2 200",
)
FIELDS = (
    b"Server: nginx/1.22.1",
    b"Date: Mon, 16 Nov 2026 19:01:43 GMT",
    b"Date: Mon, 16 Nov 2026 19:01:44 GMT",
    b"Content-Type: text/html",
    b"content-type:text/html",
    b"Last-Modified: Sun, 07 Aug 2022 22:07:15 GMT",
    b"Connection: keep-alive",
    b'ETag: "62f03793-5564"',
    b"Accept-Ranges: bytes",
    b"X-Empty:",
    b"X-Blank:    ",
    b"x: y",
    b"X:  a: b  ",
    b"!#$%&'*+-.^_`|~09azAZ: every letter of names",
    b"X-Long: " + b"long " * 60,
)
LENGTHS = (
    b"Content-Length: 4000",
    b"content-length:0",
    b"CONTENT-LENGTH:   000123456789012345   ",
    b"Content-Length: 123456789012345678",
)
ODD_FIELDS = (
    b"X-" + b"n" * 300 + b": long name",
    b"Content-Length: 4000",
    b"Content-Length:",
    b"Content-Length: -1",
    b"Content-Length: 1, 1",
    b"Content-Length: 1 1",
    b"Content-Length: 1234567890123456789",
    b"Content-Length: \xb2",
    b"Content-Encoding: gzip",
    b"Transfer-Encoding: chunked",
    b"Location: /a",
    b"Retry-After: 5",
    b"Set-Cookie: a=b",
    b" folded",
    b"no colon",
    b": no name",
    b"spaced : value",
    b"(x): y",
    b"x{: y",
    b"X:\tvalue",
    b"X: a\rb",
    b"X: a\nb",
    b"X: a\0b",
    b"X: caf\xe9",
    b"X: \xad",
    b"X\x80: y",
    b"\r",
    b"",
)


def heads(random: Random, count: int) -> list[bytes]:
    """Return starts of responses, with something of a body or cut short."""
    return [_head(random) for _ in range(count)]


def _head(random: Random) -> bytes:
    status = random.choice(STATUS_LINES)
    fields = random.choices(FIELDS, k=random.choice((0, 1, 3, 7, 8, 9, 62, 63, 64, 120)))
    fields.insert(random.randint(0, len(fields)), random.choice(LENGTHS))
    if random.random() < 0.1:
        fields.append(b"X-%d: %d" % (random.randrange(9), random.randrange(9_999)))
    oddity = random.randrange(10)
    if oddity == 0:
        status = random.choice(ODD_STATUS_LINES)
    elif oddity < 3:
        fields.insert(random.randint(0, len(fields)), random.choice(ODD_FIELDS))
    data = b"\r\n".join((status, *fields, b"", b""))
    if oddity == 3:
        data = data[: random.randrange(len(data))]
    elif oddity == 4:
        position = random.randrange(len(data))
        data = data[:position] + random.randbytes(1) + data[position + 1 :]
    return data + random.choice((b"", b"<p>body", b"\r\n\r\n"))
