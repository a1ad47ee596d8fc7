"""Figures of a content: what tells it from others (CONTENT_HASH), and how good it is (metrics)."""

import hashlib
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec
from msgspec import Struct

from gossamer.objects.content_hash import HashOrder
from gossamer.objects.error_mask import ErrorBit
from gossamer.parse.feed_text import text_in
from gossamer.parse.scraper_records import Metrics, Problems

_LOOKED_AT: Final = 1 << 18
_WORD: Final = re.compile(r"\w+")
_SENTENCE_END: Final = re.compile(r"[.!?…。！？]+(?=\s|\Z)|[。！？]")  # noqa: RUF001
_NOT_LETTER: Final = re.compile(r"[^A-Z]")
_LONGEST_SOUNDEX: Final = 32
_SOUNDS: Final = {
    letter: digit
    for digit, letters in enumerate(("BFPV", "CGJKQSXZ", "DT", "L", "MN", "R"), start=1)
    for letter in letters
}
MetricName = Literal["words", "sentences", "readability"]


class Thresholds(Struct, frozen=True):
    """From which figure on a metric counts."""

    words: int = 100
    sentences: int = 5
    readability: float = 1.0


def thresholds_of(properties: Mapping[str, str], problems: Problems) -> Thresholds:
    """Return the thresholds of a site (property SCRAPER_METRICS)."""
    text = properties.get("SCRAPER_METRICS", "").strip()
    if not text:
        return Thresholds()
    try:
        return msgspec.json.decode(text, type=Thresholds, strict=False)
    except (msgspec.MsgspecError, RecursionError) as error:
        problems.add(ErrorBit.SCRAPER, f"SCRAPER_METRICS: {error}")
        return Thresholds()


def metrics_of(content: Mapping[str, str], thresholds: Thresholds) -> Metrics:
    """Return the figures of a content's text."""
    text = text_in((content.get("content_encoded") or content.get("description", ""))[:_LOOKED_AT])
    words = _WORD.findall(text)
    if not words:
        return Metrics()
    sentences = max(1, len(_SENTENCE_END.findall(text)))
    letters = sum(map(len, words))
    readability = 4.71 * letters / len(words) + 0.5 * len(words) / sentences - 21.43
    rank = (
        (len(words) >= thresholds.words)
        + (sentences >= thresholds.sentences)
        + (readability >= thresholds.readability)
    )
    return Metrics(len(words), sentences, round(readability, 2), rank)


def content_hash(
    properties: Mapping[str, str], content: Mapping[str, str], problems: Problems
) -> str:
    """Return what tells a content from others as CONTENT_HASH asks; "" if it does not ask."""
    text = properties.get("CONTENT_HASH", "").strip()
    if not text or not content:
        return ""
    try:
        order = msgspec.json.decode(text, type=HashOrder, strict=False)
    except (msgspec.MsgspecError, RecursionError) as error:
        problems.add(ErrorBit.SCRAPER, f"CONTENT_HASH: {error}")
        return ""
    algorithm = _ALGORITHMS.get(order.algorithm)
    if algorithm is None:
        problems.add(
            ErrorBit.SCRAPER, f"CONTENT_HASH: algorithm {order.algorithm} is not supported"
        )
        return ""
    listed = order.tags.split(",") if isinstance(order.tags, str) else order.tags
    tags = [tag.strip() for tag in listed if tag.strip()] or sorted(content)
    values = [content[tag] for tag in tags if tag in content]
    return algorithm("\n".join(values)) if values else ""


def deletes_duplicates(properties: Mapping[str, str]) -> bool:
    """Whether CONTENT_HASH asks that URLs of equal contents are deleted but for the first."""
    try:
        order = msgspec.json.decode(
            properties.get("CONTENT_HASH", ""), type=HashOrder, strict=False
        )
    except (msgspec.MsgspecError, RecursionError):
        return False
    return order.deletes


def _md5(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def _crc32(text: str) -> str:
    return f"{zlib.crc32(text.encode('utf-8', 'replace')):08x}"


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def _md5_without_html(text: str) -> str:
    return _md5(text_in(text))


def _soundex(text: str) -> str:
    """Return the Soundex of all letters of a text: one letter and digits, at most 32."""
    letters = _NOT_LETTER.sub("", text_in(text)[:_LOOKED_AT].upper())
    if not letters:
        return ""
    code = letters[0]
    last = _SOUNDS.get(letters[0], 0)
    for letter in letters[1:]:
        sound = _SOUNDS.get(letter, 0)
        if sound and sound != last:
            code += str(sound)
            if len(code) == _LONGEST_SOUNDEX:
                break
        # H and W do not part two letters of one sound.
        if letter not in "HW":
            last = sound
    return code.ljust(4, "0")


_ALGORITHMS: Final[dict[int, Callable[[str], str]]] = {
    1: _md5,
    2: _crc32,
    3: _soundex,
    4: _sha1,
    9: _md5_without_html,
}
