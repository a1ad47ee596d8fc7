"""Bytes become UTF-8: XML and JSON, whatever they claim to be, and texts of a known charset.

Text that is valid UTF-8 and not all ASCII is hardly ever anything else, so the bytes are believed
before the labels; of two labels the document's own goes first, for servers put theirs on every
file alike.
"""

import codecs
import re
from functools import lru_cache
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# How `<` and `{` begin a document without a mark in wide encodings.
_WIDE_STARTS: Final = (
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
    (b"{\0", "utf-16-le"),
    (b"\0{", "utf-16-be"),
)
_DECLARED: Final = re.compile(
    rb"<\?xml[^>]{0,256}?encoding\s{0,8}=\s{0,8}[\"']([\w.:-]{1,40})", re.IGNORECASE
)
_LABEL: Final = re.compile(r"[a-z0-9_.:-]{1,40}")
_LOOKED_AT: Final = 1_024
# The detector takes about 0.1 µs a byte.
_SAMPLE: Final = 16_384
_LONGEST_CHARACTER: Final = 4
_GOOD_FOR_EACH_BAD: Final = 4
_LOST_OF_EACH: Final = 10
_UNICODE: Final = frozenset(("utf-8", "utf8", "unicode-1-1-utf-8"))
# Encodings of the standard of which Python's encoders have another name, or a narrower idea.
_ENCODERS: Final = {
    "euc-kr": "cp949",
    "iso-8859-8-i": "iso8859-8",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}
_NOT_ASCII: Final = re.compile("[^\0-\x7f]+")
# URL standard, "special-query percent-encode set".
_ESCAPED: Final = frozenset((*range(0x21), *b"\"#'<>", *range(0x7F, 0x100)))


def to_utf8(body: bytes, label: str) -> tuple[bytes, bool]:
    """Return the body as UTF-8 without a mark, and whether its labels are wrong."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            body = body[len(mark) :]
            if codec == "utf-8":
                break
            return _recoded(body, codec), False
    else:
        for start, codec in _WIDE_STARTS:
            if body.startswith(start):
                return _recoded(body, codec), False
    labels = _labels(body, label)
    # The only encoding of the web that is ASCII to the eye and is not.
    if "iso-2022-jp" in labels and b"\x1b" in body:
        return _recoded(body, "whatwg-iso-2022-jp"), False
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return _from_other(body, error.start, labels)
    return body, bool(labels) and _UNICODE.isdisjoint(labels) and not body.isascii()


def codec_of(label: str) -> str:
    """Return the codec of a label in the Encoding standard, as browsers read it; "" if none is."""
    label = label.strip().lower()
    if not _LABEL.fullmatch(label):
        return ""
    # It registers these codecs. Most documents are pages, which need none: 2 ms less at the start.
    import turbohtml.detect  # noqa: F401, PLC0415

    try:
        codecs.lookup(f"whatwg-{label}")
    except LookupError:
        return ""
    return f"whatwg-{label}"


@lru_cache(maxsize=64)
def encoder_of(encoding: str) -> str:
    """Return the codec in which a page of this encoding asks its queries; "" if that is UTF-8."""
    label = encoding.lower()
    # Nobody asks in UTF-16 (Encoding standard, "get an output encoding").
    if label in _UNICODE or label.startswith("utf-16"):
        return ""
    try:
        return codecs.lookup(_ENCODERS.get(label, label)).name
    except LookupError:
        return ""


def with_coded_query(reference: str, codec: str) -> str:
    """Escape what is not ASCII in the query of a reference as browsers do on a page of a charset.

    The URL standard writes everything else in UTF-8, whatever the page is in.
    """
    path, mark, query = reference.partition("?")
    if not mark or query.isascii():
        return reference
    query, mark, fragment = query.partition("#")
    coded = _NOT_ASCII.sub(lambda found: _escaped(found[0], codec), query)
    return f"{path}?{coded}{mark}{fragment}"


def _escaped(text: str, codec: str) -> str:
    try:
        coded = text.encode(codec)
    except UnicodeEncodeError:
        if len(text) > 1:
            return "".join([_escaped(character, codec) for character in text])
        return f"%26%23{ord(text)}%3B"
    return "".join([f"%{byte:02X}" if byte in _ESCAPED else chr(byte) for byte in coded])


def recoded(body: bytes, charset: str) -> tuple[bytes, bool]:
    """Return a text in UTF-8, and whether a good part of it is lost by that.

    What is in UTF-8, or has a charset that nobody knows, stays as it is.
    """
    is_unicode = charset.lower() in _UNICODE
    codec = "utf-8" if is_unicode else codec_of(charset)
    if not codec:
        return body, bool(charset)
    text = body.decode(codec, "replace")
    is_lost = text.count("\ufffd") * _LOST_OF_EACH > len(text)
    return body if is_unicode else text.encode("utf-8", "replace"), is_lost


def _labels(body: bytes, label: str) -> list[str]:
    """Return what the document and its header claim, in this order, without what says nothing."""
    found = _DECLARED.search(body, 0, _LOOKED_AT)
    declared = found[1].decode("ascii", "replace").lower() if found else ""
    return [each for each in (declared, label.strip().lower()) if _LABEL.fullmatch(each)]


def _from_other(body: bytes, fault_at: int, labels: list[str]) -> tuple[bytes, bool]:
    """Recode what is not valid UTF-8."""
    if len(body) - fault_at < _LONGEST_CHARACTER:
        return body[:fault_at], False
    text = body.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    if good >= bad * _GOOD_FOR_EACH_BAD:
        return text.encode(), True
    for label in labels:
        if label not in _UNICODE and _is_known(label):
            return _recoded(body, f"whatwg-{label}"), False
    from turbohtml.detect import detect  # noqa: PLC0415 - as in codec_of

    start = max(0, fault_at - _SAMPLE // 2)
    codec = detect(body[start : start + _SAMPLE]).codec or "whatwg-windows-1252"
    return _recoded(body, codec), True


def _is_known(label: str) -> bool:
    # A body that begins like ASCII is none of these, whatever its label.
    return bool(codec_of(label)) and "utf-16" not in label and "utf-32" not in label


def _recoded(body: bytes, codec: str) -> bytes:
    return body.decode(codec, "replace").encode("utf-8", "replace")
