"""The text of a document, for people and programs that read rather than follow links."""

from turbohtml import HTMLParseError, parse

from gossamer.messages import Page
from gossamer.parse.charset import codec_of
from gossamer.parse.sniff import HTML, XHTML
from gossamer.parse.xhtml import with_end_tags


def visible_text(body: bytes, page: Page) -> str:
    """Return what a reader sees of a page, and all of other documents made of text."""
    if page.content_type in (HTML, XHTML):
        if page.content_type == XHTML:
            body = with_end_tags(body)
        try:
            return parse(body, positions=False, encoding=page.charset or None).to_text().strip()
        except (HTMLParseError, LookupError, ValueError):
            return ""
    if page.content_type.startswith("text/") or page.content_type.endswith(("json", "xml")):
        return body.decode(codec_of(page.charset) or "utf-8", "replace")
    return ""
