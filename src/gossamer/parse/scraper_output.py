"""How contents are written: by a template's output format."""

import json
import re
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

from gossamer.parse.scraper_records import Tags
from gossamer.parse.scraper_template import OutputFormat

MAX_OUTPUT: Final = 4 << 20
_MACRO: Final = re.compile(r"%([A-Za-z_][\w.-]{0,63})%")
_NOT_XML: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


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


def _in_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _in_xml(value: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", value), {'"': "&quot;", "'": "&apos;"})
