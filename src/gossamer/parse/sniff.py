"""What a body is: the claimed content type, checked against the first bytes.

The table follows the MIME Sniffing standard with one difference: markup that is labelled as plain
text or as an image is still markup to a crawler, which runs no script that could do harm.
"""

import re
from functools import lru_cache
from typing import Final

HTML: Final = "text/html"
XHTML: Final = "application/xhtml+xml"
XML: Final = "application/xml"
GZIP: Final = "application/gzip"
TEXT: Final = "text/plain"
BINARY: Final = "application/octet-stream"
CSS: Final = "text/css"

_LOOKED_AT: Final = 1_445  # bytes; MIME Sniffing, section 5.2
_HEADER_LOOKED_AT: Final = 1_024
_SPACE: Final = b"\t\n\x0c\r "
_TYPE: Final = re.compile(
    r"\s*([a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127})\s*(?:[;,]|$)", re.IGNORECASE
)
_CHARSET: Final = re.compile(
    r";\s*charset\s*=\s*(?:\"([^\"]{1,40})\"|'([^']{1,40})'|([^\s;,\"']{1,40}))", re.IGNORECASE
)
_MAGIC: Final = (
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\x1f\x8b\x08", GZIP),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\x00", "application/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x7fELF", BINARY),
)
# Formats that hold others (a word processor's file is a zip): the label knows what is inside.
_CONTAINERS: Final = frozenset(("application/zip", "application/ogg", "video/webm", "video/mp4"))
_SAYS_NOTHING: Final = frozenset(("", BINARY, "unknown/unknown", "application/unknown", "*/*"))
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/avi"}
_MARKUP: Final = re.compile(
    rb"<(?:!doctype\s+html|(?:html|head|body|script|iframe|h1|div|font|table|a|style|title|b|br|p|meta|link|frameset)"
    rb"(?=[\s>/])|!--)",
    re.IGNORECASE,
)
_SURE_MARKUP: Final = re.compile(
    rb"<(?:!doctype\s+html|(?:html|head|body)(?=[\s>/]))", re.IGNORECASE
)
_ROOT: Final = re.compile(
    rb"(?:<\?[^>]{0,512}>|<!--(?:(?!-->).){0,512}-->|<!doctype[^>\[]{0,512}>|\s)*"
    rb"<(?:[A-Za-z_][\w.-]{0,32}:)?([A-Za-z_][\w.-]{0,64})",
    re.IGNORECASE | re.DOTALL,
)
# What may follow the `<` of a declaration or of one of these roots; or nothing.
_MAY_BE_XML: Final = frozenset((b"", *(bytes((letter,)) for letter in b"?usrfUSRF")))
SITEMAP_ROOTS: Final = frozenset((b"urlset", b"sitemapindex", b"rss", b"feed", b"rdf"))
# Bytes that text in no encoding of the web contains; MIME Sniffing, section 5.1.
_BINARY_BYTES: Final = bytes((*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))


def content_type_of(claimed: str, body: bytes) -> str:
    """Return the type of a body without parameters; `claimed` is "" if nothing is claimed."""
    # The usual case; XML declarations and the roots of sitemaps and feeds are looked at below.
    if claimed == HTML and body[:1] == b"<" and body[1:2] not in _MAY_BE_XML:
        return HTML
    start = _readable(body[:_LOOKED_AT])
    magic = _magic(start)
    if magic:
        keeps_label = (
            magic in _CONTAINERS and claimed not in _SAYS_NOTHING and claimed[:5] != "text/"
        )
        return claimed if keeps_label else magic
    if claimed in (HTML, XHTML):
        return XML if root_of(start) in SITEMAP_ROOTS else claimed
    if claimed.endswith(("/xml", "+xml")):
        return _xml_or_html(claimed, start)
    if claimed in _SAYS_NOTHING or claimed == TEXT:
        return _unlabelled(claimed, start, body)
    if _SURE_MARKUP.match(start):
        return HTML
    return claimed


def root_of(start: bytes) -> bytes:
    """Return the local name of the first element in lower case, or nothing."""
    found = _ROOT.match(start)
    return found[1].lower() if found else b""


@lru_cache(maxsize=256)
def claimed_by(header: str | None) -> tuple[str, str]:
    """Return type and charset label of a Content-Type header, "" for what it does not say."""
    if not header:
        return "", ""
    header = header[:_HEADER_LOOKED_AT]
    kind = _TYPE.match(header)
    charset = _CHARSET.search(header)
    label = next((group for group in charset.groups() if group), "") if charset else ""
    return kind[1].lower() if kind else "", label.strip().lower()


def _readable(start: bytes) -> bytes:
    """Remove the byte order mark, the zeros of UTF-16, and leading white space."""
    if start.startswith(b"\xef\xbb\xbf"):
        start = start[3:]
    elif start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start[2:].replace(b"\0", b"")
    return start.lstrip(_SPACE)


def _magic(start: bytes) -> str:
    for prefix, kind in _MAGIC:
        if start.startswith(prefix):
            return kind
    if start.startswith(b"RIFF"):
        return _RIFF.get(start[8:12], "")
    return "video/mp4" if start[4:8] == b"ftyp" else ""


def _xml_or_html(claimed: str, start: bytes) -> str:
    if start.startswith(b"<?xml"):
        return XHTML if root_of(start) == b"html" else claimed
    return HTML if _SURE_MARKUP.match(start) else claimed


def _unlabelled(claimed: str, start: bytes, body: bytes) -> str:
    if start.startswith(b"<?xml"):
        return XHTML if root_of(start) == b"html" else XML
    if root_of(start) in SITEMAP_ROOTS:
        return XML
    if _MARKUP.match(start):
        return HTML
    if claimed in (TEXT, BINARY):
        return claimed
    head = body[:_LOOKED_AT]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return TEXT
    return BINARY if head.translate(None, _BINARY_BYTES) != head else TEXT
