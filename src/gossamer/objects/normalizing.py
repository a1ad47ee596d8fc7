"""URLs rewritten as a site wants it: URL_NORMALIZE, URL_NORMALIZE_MASK and its processor's mask.

Theory of operation. A URL is known by the md5 of its canonical form, which is therefore always
made; a mask can only ask for more. Replacements come first, then `www.` is dropped, then the
canonical form is made, then validated. What is no URL after that is refused.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer.objects.patterns import PatternError, check_pattern, replaced
from gossamer.objects.problems import ObjectError
from gossamer.url.canonical import authority_of, canonicalize, host_of
from gossamer.wording import shortened

NORMALIZE: Final = "URL_NORMALIZE"
NORMALIZE_MASK: Final = "URL_NORMALIZE_MASK"
PROCESSOR_MASK: Final = "URL_NORMALIZE_MASK_PROCESSOR"
DROP_WWW: Final = 1
VALIDATE: Final = 2
CANONICAL: Final = 4
_ALL: Final = DROP_WWW | VALIDATE | CANONICAL
_MOST: Final = 100
_WWW: Final = re.compile(r"\A(https?://)(?:www\.)+(?=[^/.:]+\.[^/:])")
_NAME: Final = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]+)"
)
_ADDRESS: Final = re.compile(r"[0-9.]+|[0-9a-f:.]*:[0-9a-f:.]*")

Mask = Annotated[int, Meta(ge=0, le=_ALL)]


class Rewriting(Struct, frozen=True):
    """How the URLs of a site are rewritten."""

    mask: int = CANONICAL
    replacements: tuple[tuple[str, str], ...] = ()
    """Pattern and what stands in its place, one after the other."""

    @property
    def is_usual(self) -> bool:
        """Whether nothing is done beyond the canonical form."""
        return not self.replacements and not self.mask & (DROP_WWW | VALIDATE)


class _Given(Struct, forbid_unknown_fields=True):
    mask: Mask | None = None
    replace: Annotated[list[dict[str, str]], Meta(max_length=_MOST)] = []


def parse_rewriting(text: str) -> tuple[int | None, tuple[tuple[str, str], ...]]:
    """Return mask and replacements of URL_NORMALIZE; ObjectError if it cannot be used."""
    if not text.strip():
        return None, ()
    try:
        given = msgspec.json.decode(text, type=_Given)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        why = shortened(str(error), 100)
        expected = f'{{"mask": 0 to {_ALL}, "replace": [{{pattern: text}}]}} is expected ({why})'
        raise ObjectError("Property", NORMALIZE, expected) from None
    pairs = tuple(pair for each in given.replace for pair in each.items())
    if len(pairs) > _MOST:
        raise ObjectError("Property", NORMALIZE, f"at most {_MOST} replacements are expected")
    for pattern, text_instead in pairs:
        try:
            check_pattern(pattern)
            # A replacement is looked at only where something matches; so let nothing match, too.
            replaced(f"{pattern}|", text_instead, "")
        except PatternError as error:
            raise ObjectError("Property", NORMALIZE, error.expected) from None
    return given.mask, pairs


def parse_mask(text: str, name: str = NORMALIZE_MASK) -> int | None:
    """Return a mask; None if there is none, ObjectError if it cannot be used."""
    bare = text.strip()
    if not bare:
        return None
    if not bare.isascii() or not bare.isdecimal() or len(bare) > 2 or int(bare) > _ALL:
        raise ObjectError("Property", name, "a sum of 1, 2 and 4 is expected")
    return int(bare)


def rewriting_of(properties: Mapping[str, str], *, processor: bool = False) -> Rewriting:
    """Return how URLs are rewritten that pages name, or, with `processor`, that feeds name.

    What cannot be used was refused when it was set, and is passed over.
    """
    return _rewriting(
        properties.get(NORMALIZE, ""),
        properties.get(NORMALIZE_MASK, ""),
        properties.get(PROCESSOR_MASK, "") if processor else "",
    )


@lru_cache(maxsize=1_024)
def _rewriting(text: str, mask_text: str, processor_mask_text: str) -> Rewriting:
    try:
        mask, replacements = parse_rewriting(text)
        masks = (parse_mask(processor_mask_text), mask, parse_mask(mask_text), CANONICAL)
    except ObjectError:
        return Rewriting()
    return Rewriting(next(each for each in masks if each is not None), replacements)


def rewritten(url: str, rewriting: Rewriting) -> str | None:
    """Return a URL as a site wants it, canonical; None if it is none then.

    PatternError if a replacement cannot be decided in time.
    """
    for pattern, text in rewriting.replacements:
        url = replaced(pattern, text, url)
    canonical = canonicalize(url)
    if canonical is not None and rewriting.mask & DROP_WWW:
        canonical = _WWW.sub(r"\1", canonical)
    if canonical is None or not rewriting.mask & VALIDATE:
        return canonical
    return canonical if is_valid(canonical) else None


def is_valid(canonical: str) -> bool:
    """Whether the host of a URL is a name with a domain, an address, or this machine's own."""
    host = host_of(canonical)
    if host == "localhost" or _ADDRESS.fullmatch(host):
        return True
    return _NAME.fullmatch(host) is not None and "@" not in authority_of(canonical)
