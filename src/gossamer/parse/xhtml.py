"""XHTML, made fit for a parser of HTML."""

import re
from typing import Final

# Elements that never have an end tag in HTML, so that a slash at their end means nothing.
_VOID: Final = (
    rb"area|base|basefont|bgsound|br|col|command|embed|frame|hr|image|img|input|keygen|link|meta|"
    rb"param|source|track|wbr"
)
_EMPTY_ELEMENT: Final = re.compile(
    rb"<(?!(?:" + _VOID + rb")[\t\n\r />])([A-Za-z][\w:.-]*+)"
    rb"((?:[\t\n\r ]++[^\t\n\r =<>/\"']++[\t\n\r ]*+=[\t\n\r ]*+(?:\"[^\"<]*+\"|'[^'<]*+')){0,256})"
    rb"[\t\n\r ]*+/>"
)


def with_end_tags(body: bytes) -> bytes:
    """Write out the end tags of empty elements: HTML has none that end themselves.

    To a parser of HTML, all that follows `<script src="x"/>` or `<title/>` would be inside of it.
    """
    return _EMPTY_ELEMENT.sub(rb"<\1\2></\1>", body)
