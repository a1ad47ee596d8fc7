"""Words for people that are safe to print: unable to steer a terminal, and short enough to read.

Everything that came from the web passes `visible` before it is printed, `safe_json` before it is
written as JSON, and `safe_xml` before it is written as XML: control characters, escape sequences,
line breaks and the invisible characters that turn the direction of text become escapes.
"""

import re

# Inside a JSON text these can stand only in strings, so an escape there means the same; inside XML,
# only in names or in text, and our own names have none.
# As texts: most commands meet none of these, and to compile them takes 0.7 ms of each start.
_UNSAFE = (
    "[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Between letters of some scripts, and between the parts of an emoji; beside ASCII they only hide.
_JOINERS = "\u200c\u200d"
_JOINER = f"(?<=[^\x00-\x7f{_JOINERS}])([{_JOINERS}])(?=[^\x00-\x7f{_JOINERS}])"
# Inside a JSON text control characters can stand only between strings, as line breaks.
_SAFE_ASCII = bytes(range(0x7F))


def visible(text: str) -> str:
    """Return the text with every character that does not print shown as an escape."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else _escape(character) for character in text
    )


def readable(text: str) -> str:
    """Return visible text in which joiners stay where a script or an emoji needs them."""
    if text.isprintable():
        return text
    return "".join(
        part if part in _JOINERS else visible(part) for part in re.split(_JOINER, text) if part
    )


def shortened(text: str, most: int) -> str:
    """Return printable text of at most so many characters; an ellipsis shows that it was longer."""
    # Escapes are longer than what they stand for, so the cut comes first and last.
    return cut(visible(text[: most + 1]), most)


def cut(shown: str, most: int) -> str:
    """Return a text of at most so many characters; an ellipsis shows that it was longer."""
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def safe_json(encoded: bytes) -> bytes:
    """Return JSON without raw control or direction characters; it means the same."""
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    # No unsafe character is printable. Most of a text is ASCII, and the rest is soon looked at.
    if encoded.translate(None, _SAFE_ASCII).decode().isprintable():
        return encoded
    return re.sub(_UNSAFE, lambda found: _json_escape(found[0]), encoded.decode()).encode()


def safe_xml(encoded: bytes) -> bytes:
    """Return XML whose texts and attributes have no raw control or direction characters.

    References take their place, and mean the same; line breaks and tabs stay.
    """
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    return re.sub(_UNSAFE, lambda found: f"&#x{ord(found[0]):x};", encoded.decode()).encode()


def count_in_words(count: int, noun: str, several: str = "") -> str:
    """Write how many there are of something: 1 page, 2,000 pages; `several`: its odd plural."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def bytes_in_words(count: float) -> str:
    """Write a size: 512 B, 1.5 kB, 20 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def seconds_in_words(seconds: float) -> str:
    """Write a duration: 3.2 s, 4 min 5 s, 2 h 3 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
