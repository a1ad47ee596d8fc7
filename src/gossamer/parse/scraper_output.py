"""How contents are written: by a template's output format, and packed for the store."""

import base64
import binascii
import json
import re
from collections.abc import Sequence
from typing import Final, Literal
from xml.sax.saxutils import escape

import msgspec
from msgspec import Struct, field

from gossamer.parse.scraper_records import Tags
from gossamer.parse.scraper_template import OutputFormat

MAX_OUTPUT: Final = 4 << 20
MAX_PACKED: Final = 64 << 20
"""Bytes; what is longer is not unpacked."""
_MACRO: Final = re.compile(r"%([A-Za-z_][\w.-]{0,63})%")
_NOT_XML: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

ProcessedKind = Literal["processed", "internal", "custom", "pairs", "all"]


class Processed(Struct, frozen=True):
    """The processed content of a URL: the default, and what modules add."""

    default: object = None
    internal: list[object] = field(default_factory=list)
    custom: list[object] = field(default_factory=list)


def write_output(form: OutputFormat, contents: Sequence[Tags]) -> str:
    """Return contents in a template's format; values are escaped, unknown tags are empty."""
    write = _in_json if form.name == "json" else _in_xml
    between = "," if form.name == "json" else ""
    items = (
        _MACRO.sub(lambda macro, tags=content: write(tags.get(macro[1], "")), form.item)  # type: ignore[misc]
        for content in contents
    )
    body = between.join(items)
    text = f"{form.header}{form.items_header}{body}{form.items_footer}{form.footer}"
    # Cut, it would be neither JSON nor XML.
    return text if len(text) <= MAX_OUTPUT else ""


def pack_processed(
    default: object, internal: Sequence[object] = (), custom: Sequence[object] = ()
) -> bytes:
    """Return processed content as the store keeps it: base64 of JSON."""
    data = {"default": default, "internal": list(internal), "custom": list(custom)}
    return base64.b64encode(msgspec.json.encode(data))


def unpack_processed(packed: bytes, kind: ProcessedKind = "processed") -> object:
    """Return what is asked for of a processed content; None if it is damaged or has none.

    processed: the first custom value, else the default. internal, custom: the lists. pairs: the
    two lists, number by number. all: the record itself.
    """
    if len(packed) > MAX_PACKED:
        return None
    try:
        processed = msgspec.json.decode(base64.b64decode(packed, validate=True), type=Processed)
    except (binascii.Error, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    if kind == "all":
        return processed
    if kind == "internal":
        return processed.internal
    if kind == "custom":
        return processed.custom
    if kind == "pairs":
        return _pairs(processed)
    return processed.custom[0] if processed.custom else processed.default


def _pairs(processed: Processed) -> list[tuple[object, object]]:
    internal, custom = processed.internal, processed.custom
    longest = max(len(internal), len(custom))
    return list(
        zip(
            internal + [None] * (longest - len(internal)),
            custom + [None] * (longest - len(custom)),
            strict=True,
        )
    )


def _in_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _in_xml(value: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", value), {'"': "&quot;", "'": "&apos;"})
