"""The language of an article: what the page and the feed claim, checked against its text.

Templates claim a language for all of their pages, feeds for all of their items, and both are often
left as they were delivered; a text of some length can hardly be mistaken. The detector
(py3langid, 0.3 ms for a text) is in the extra `news`; without it, the claims are what there is.
"""

import re
from functools import cache
from importlib.util import find_spec
from typing import Final, Protocol

import msgspec

from gossamer.parse.article_marks import Marks, value_of

LOOKED_AT: Final = 800
"""Characters of the text."""
TO_CONFIRM: Final = 250
MIN_CHARACTERS: Final = 60
_SURE_CHARACTERS: Final = 300
_TAG: Final = re.compile(r"\s*([a-zA-Z]{2,3})(?:[-_,;\s]|$)")
# Codes of the same language, or of two that a reader would not call different.
_SAME: Final = {
    "nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi", "mo": "ro", "sh": "sr", "eng": "en",
    "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "por": "pt", "ita": "it",
    "rus": "ru", "jpn": "ja", "zho": "zh", "chi": "zh", "cn": "zh", "jp": "ja", "kr": "ko",
    "gr": "el", "cz": "cs", "dk": "da", "ua": "uk",
}  # fmt: skip
_AGREED: Final = 0.99
_BOTH_CLAIM: Final = 0.85
_PAGE_CLAIMS: Final = 0.7
_FEED_CLAIMS: Final = 0.6
_DISPUTED: Final = 0.85
_SHORT: Final = 0.5


class Language(msgspec.Struct, frozen=True):
    """A code of ISO 639, and how sure it is."""

    code: str = ""
    confidence: float = 0.0


class _Detector(Protocol):
    def classify(self, text: str) -> tuple[str, float]: ...


def language_of(marks: Marks, text: str, feed: str) -> Language:
    """Return the language of a text with what is claimed about it."""
    page = next((code for said in _claims(marks) if (code := code_of(said))), "")
    claims = [code for code in (page, code_of(feed)) if code]
    claimed = _claimed(page, claims)
    sample = _sample(text)
    if len(sample) < MIN_CHARACTERS or not can_detect():
        return claimed
    # Less of it is enough to confirm a claim.
    for part in (sample[:TO_CONFIRM], sample) if claims else (sample,):
        said, probability = _detector().classify(part)
        code = code_of(said)
        if code in claims:
            return Language(code, _AGREED)
    if not claims:
        long_enough = len(sample) >= _SURE_CHARACTERS
        return Language(code, round(probability * (0.95 if long_enough else 0.75), 2))
    if len(sample) < _SURE_CHARACTERS:
        return Language(claimed.code, _SHORT)
    return Language(code, round(probability * _DISPUTED, 2))


def _sample(text: str) -> str:
    """Return the beginning of the running text: short lines are names, dates and prices."""
    lines = text[: 8 * LOOKED_AT].split("\n")
    long = [line for line in lines if len(line) >= MIN_CHARACTERS]
    return " ".join(" ".join(long or lines).split())[:LOOKED_AT]


def code_of(tag: str) -> str:
    """Return the language that a tag such as `en-GB` begins with; nothing for what is no tag."""
    found = _TAG.match(tag[:64])
    if not found:
        return ""
    code = found[1].lower()
    return _SAME.get(code, code)


def can_detect() -> bool:
    """Whether the detector is installed."""
    return find_spec("py3langid") is not None


def _claims(marks: Marks) -> tuple[str, ...]:
    node = value_of(marks.nodes[0], "inLanguage") if marks.nodes else ""
    return (
        marks.language,
        node,
        marks.meta("og:locale", "content-language", "dc.language", "language"),
    )


def _claimed(page: str, claims: list[str]) -> Language:
    if not claims:
        return Language()
    if len(claims) == 2 and claims[0] == claims[1]:
        return Language(page, _BOTH_CLAIM)
    return Language(page, _PAGE_CLAIMS) if page else Language(claims[0], _FEED_CLAIMS)


@cache
def _detector() -> _Detector:
    # Half a second and 30 MB, once for each process that extracts.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415

    detector: _Detector = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return detector
