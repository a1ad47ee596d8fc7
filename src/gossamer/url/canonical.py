"""The canonical form of a URL, and references made absolute.

Theory of operation. A canonical URL is what the WHATWG standard (ada-url) makes of the text, then:
http and https only; no fragment; no user name or password; no dot at the end of the host name;
percent escapes in upper case and none for letters, digits, `-._~` (RFC 3986, 6.2.2). It is ASCII,
has no space or control character, and is its own canonical form. The case of a path and the query
stay as they are, unless settings ask for sorted or dropped parameters. The reasons are in
docs/decisions/canonical-form.md.
"""

import re
from collections.abc import Iterable
from itertools import repeat
from typing import Final

from ada_url import join_url, normalize_url

from gossamer.config.url import UrlSettings
from gossamer.errors import InputError
from gossamer.url.generations import Generations
from gossamer.url.parts import (
    authority_of,
    directory_of,
    host_of,
    md5_of,
    path_query_of,
    port_of,
    registrable_domain,
    site_of,
)
from gossamer.url.plain import KEY_BYTES, Keys, Survey, url_table
from gossamer.url.steps import WEB, finish, without_fragment

__all__ = [
    "Joiner",
    "authority_of",
    "canonicalize",
    "directory_of",
    "host_of",
    "md5_of",
    "parse_start_url",
    "path_query_of",
    "port_of",
    "registrable_domain",
    "site_of",
]

_DEFAULTS: Final = UrlSettings()
_STRIPPED: Final = "".join(map(chr, range(0x21)))
_REMOVED: Final = str.maketrans("", "", "\t\n\r")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
# Something before "://" that cannot be a scheme: a slip of the keys, not a host.
_BROKEN_SCHEME: Final = re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]*://)[^/?#\\]*://")
_HOST_AND_PORT: Final = re.compile(r"[^/?#:@\[\]]+:[0-9]{1,5}(?:[/?#]|$)")
# What needs no parser, which takes five times as long: most references are a climb and a path, or
# a whole URL, in characters that stay as they are. The exceptions are told by the words below.
_PATH: Final = (
    r"[A-Za-z0-9_~,;=+()!$*@-][A-Za-z0-9_~,;=+()!$*@/.-]*(?:\?[A-Za-z0-9_~,;=+()!$*@/.:&-]+)?"
)
_PLAIN: Final = re.compile(rf"((?:\.\./)*)(/?{_PATH})")
_PLAIN_PATH: Final = re.compile(rf"/(?:{_PATH})?")
_PLAIN_URL: Final = re.compile(rf"https?://(?:[a-z0-9-]+\.)+[a-z]{{2,}}/(?:{_PATH})?")
_DOT_SEGMENT: Final = "/."
_PUNYCODE: Final = "xn--"
# Text shrinks on its way to the canonical form (`%41`, `/a/../`), hardly ever more than this.
_SHRINKING: Final = 4
_UNKNOWN: Final = ""
# References of the most frequent other schemes need no parser: they are nothing that is crawled.
_OTHER_SCHEMES: Final = ("data:", "file:", "ftp:", "javascript:", "mailto:", "tel:")
_MOST_KNOWN: Final = 4_096
_LONGEST_KNOWN: Final = 300


def canonicalize(text: str, settings: UrlSettings | None = None) -> str | None:
    """Return the canonical URL; None if there is none, it is not for the web, or it is too long."""
    if settings is None:
        settings = _DEFAULTS
    if _is_plain_url(text, settings):
        return text
    text = without_fragment(text)
    if len(text) > settings.max_bytes * _SHRINKING:
        return None
    try:
        return finish(normalize_url(text), settings)
    except ValueError:
        return _without_surrogates(text, settings)


def parse_start_url(text: str, settings: UrlSettings | None = None) -> str:
    """Return the canonical URL of what a person typed, `http://` added if there is no scheme."""
    typed = _SURROGATE.sub("\ufffd", text).strip(_STRIPPED)
    shown = _shown(typed)
    if not typed:
        raise InputError("cannot use an empty start URL; give one such as https://example.org/")
    if _BROKEN_SCHEME.match(typed):
        raise InputError(
            f"cannot use start URL {shown}: what stands before :// is no scheme; "
            "give an http:// or https:// URL"
        )
    if _HOST_AND_PORT.match(typed) or not _SCHEME.match(typed):
        typed = "http://" + typed.lstrip("/\\")
    elif not typed.lower().startswith(("http:", "https:")):
        scheme = typed.partition(":")[0]
        raise InputError(
            f"cannot use start URL {shown}: the scheme {scheme!r} is not crawled; "
            "give an http:// or https:// URL"
        )
    url = canonicalize(typed, settings)
    if url is None:
        raise InputError(f"cannot use start URL {shown}: {_what_is_wrong(typed, settings)}")
    if _has_user(typed):
        raise InputError(
            f"cannot use start URL {authority_of(url)}/…: user names and passwords in URLs are "
            "never sent; remove them, or set an Authorization header under [spider] headers"
        )
    return url


class Joiner:
    """Makes references absolute and canonical.

    Theory of operation. Plain references are joined by the compiled part, if it is there. What it
    leaves is remembered, for most pages of a site repeat the references of their neighbours. A
    relative reference depends on the directory of its base only; one with a leading slash on the
    authority only; one that is empty or starts with `?` or `#` on the whole base, and is never
    remembered. Memory is bounded by `cache_bytes`, whatever the pages contain.
    """

    def __init__(self, settings: UrlSettings | None = None, cache_bytes: int = 24 << 20) -> None:
        self._settings = settings if settings is not None else _DEFAULTS
        self._max_bytes = self._settings.max_bytes
        self._tidies = self._settings.sort_query or bool(self._settings.drop_parameters)
        share = cache_bytes // 3
        self._urls = url_table(share, self._max_bytes, tidies=self._tidies)
        self._memories = Generations(_Memory, _weigh_memory, share)
        self._keys = Generations(_key_of, _weigh_key, share)
        """The keys of URLs, where there is no table of them."""
        self._known: set[str] = set()
        """Authorities that are written as they should be."""
        self._given: str | None = None
        self._base: str | None = None
        self._authority = self._directory = ""
        self._local = self._shared = _Memory("")
        self._opened: tuple[str, int] | None = None
        self._grown = 0
        """Bytes remembered since the memories were last told."""

    def join(self, base: str, href: str) -> str | None:
        """Return the canonical URL that `href` means on a page at `base`, or None."""
        return self.join_all(base, (href,))[0]

    def join_all(self, base: str, hrefs: Iterable[str]) -> list[str | None]:
        """Return what `join` returns for each of the references of one page."""
        hrefs = list(hrefs)
        if not hrefs:
            return []
        if base != self._given:
            self._go_to(base)
        if self._urls is None or self._base is None:
            return self._answers(hrefs)
        found, others = self._urls.join(self._directory, len(self._authority), hrefs)
        if others:
            answers = self._answers([hrefs[number] for number in others])
            for number, url in zip(others, answers, strict=True):
                found[number] = url
        return found

    def join_plain(self, directory: str, hrefs: list[str]) -> list[str | None] | None:
        """Return what plain references mean on all pages of a canonical directory.

        None if one is not plain, or nothing was joined on its server lately.
        """
        end = directory.find("/", 8)
        if self._urls is None or directory[:end] not in self._known:
            return None
        found, others = self._urls.join(directory, end, hrefs)
        return None if others else found

    def keys(self, urls: list[str]) -> bytes:
        """Return how link graphs name canonical URLs: their keys, one after the other."""
        if self._urls is not None:
            return self._urls.keys(urls)
        return b"".join(map(self._keys.__getitem__, urls))

    def survey(
        self,
        base: str,
        references: dict[str, bool],
        reported: tuple[Keys, Keys],
        suspects: tuple[Keys, Keys],
    ) -> Survey | None:
        """Look over all references of a page at once; None if they need more care.

        Return the keys of the URLs that they mean, each once; the URLs that are not reported; and
        those that are suspects. Of several with the same key the place of the first one counts,
        and what the last one says.
        """
        end = base.find("/", 8)
        if self._urls is None or base[:end] not in self._known:
            return None
        return self._urls.survey(base, end, references, reported, suspects, self.join)

    def _answers(self, hrefs: list[str]) -> list[str | None]:
        """Return what is remembered of references, or what they are found to mean."""
        if self._opened != (self._directory, self._memories.turn):
            self._open_memories()
        found: list[str | None] = list(map(self._local.get, hrefs, repeat(_UNKNOWN)))
        if _UNKNOWN in found:
            shared, resolve = self._shared.get, self._resolve
            for place, url in enumerate(found):
                if url is _UNKNOWN:
                    url = shared(hrefs[place], _UNKNOWN)  # noqa: PLW2901 - the same one, looked for again
                    found[place] = resolve(hrefs[place]) if url is _UNKNOWN else url
            self._memories.grow(self._grown)
            self._grown = 0
        return found

    def _go_to(self, base: str) -> None:
        """Take another page as the base."""
        self._given = base
        authority = authority_of(base)
        if authority in self._known and self._stays_plain(base, len(authority)):
            self._base = base
        else:
            self._base = canonicalize(base, self._settings)
            base = self._base or ""
            authority = authority_of(base)
            self._note(authority)
        self._authority, self._directory = authority, directory_of(base)

    def _stays_plain(self, base: str, start: int) -> bool:
        """Whether a URL is canonical as it is written if its authority, up to `start`, is so."""
        return (
            _PLAIN_PATH.fullmatch(base, start) is not None
            and _DOT_SEGMENT not in base
            and len(base) <= self._max_bytes
            and not (self._tidies and "?" in base)
        )

    def _note(self, authority: str) -> None:
        """Know an authority again, unless there is none, or it is longer than most are."""
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        if 0 < len(authority) <= _LONGEST_KNOWN:
            self._known.add(authority)

    def _open_memories(self) -> None:
        """Open the memories that belong to the base."""
        # A directory ends in a slash and an authority does not, so the two never meet.
        self._local = self._memories[self._directory]
        self._shared = self._memories[self._authority]
        self._opened = self._directory, self._memories.turn

    def _resolve(self, href: str) -> str | None:
        """Answer for a reference that is not remembered as it is written."""
        plain = _PLAIN.fullmatch(href) if self._base is not None else None
        if plain is None:
            return self._resolve_url(href)
        climb, rest = plain.groups()
        if _DOT_SEGMENT in rest or (self._tidies and "?" in rest):
            return self._resolve_by_parser(href)
        if rest[0] != "/":
            memory = self._local
            levels = len(climb) // 3
            climbs = memory.climbs
            url = (climbs[levels] if levels < len(climbs) else self._climbed(levels)) + rest
        elif not climb:
            memory, url = self._shared, self._authority + rest
        else:
            return self._resolve_by_parser(href)
        return self._keep(memory, href, url if len(url) <= self._max_bytes else None)

    def _resolve_url(self, href: str) -> str | None:
        if _is_plain_url(href, self._settings):
            return self._keep(self._shared, href, href)
        return self._resolve_by_parser(href)

    def _resolve_by_parser(self, href: str) -> str | None:
        if href.startswith(_OTHER_SCHEMES):
            return None
        bare = without_fragment(href)
        if bare != href:
            for memory in (self._local, self._shared):
                if bare in memory:
                    return memory[bare]
        if len(bare) > self._max_bytes * _SHRINKING:
            return None
        base = self._base
        if not bare:
            return base
        if base is None:
            return self._keep(self._local, bare, canonicalize(bare, self._settings))
        url = _join(base, bare, self._settings)
        if bare.startswith(("/", *WEB)):
            return self._keep(self._shared, bare, url)
        return url if _needs_whole_base(bare) else self._keep(self._local, bare, url)

    def _climbed(self, levels: int) -> str:
        """Return the directory so many levels up from the base, at most the root."""
        memory = self._local
        climbs = memory.climbs
        while len(climbs) <= levels:
            below = climbs[-1]
            if below.count("/") == 3:
                return below
            climbs.append(below[: below.rindex("/", 0, -1) + 1])
            self._grown += 100 + len(below)
        return climbs[levels]

    def _keep(self, memory: "_Memory", href: str, url: str | None) -> str | None:
        memory[href] = url
        self._grown += 240 + len(href) + (len(url) if url is not None else 0)
        return url


class _Memory(dict[str, str | None]):
    """What references mean, all seen from one directory or one authority."""

    __slots__ = ("climbs",)

    def __init__(self, place: str) -> None:
        super().__init__()
        self.climbs = [place]
        """The directory, the one above it, and so on as far as it was asked for."""


def _weigh_memory(place: str, memory: _Memory) -> int:
    """Return about how many bytes a memory takes: asked when it is made, or found again."""
    urls = sum(len(url) for url in memory.values() if url is not None)
    climbs = sum(100 + len(above) for above in memory.climbs[1:])
    return 500 + len(place) + 240 * len(memory) + sum(map(len, memory)) + urls + climbs


def _key_of(url: str) -> bytes:
    return md5_of(url)[:KEY_BYTES]


def _weigh_key(url: str, _: bytes) -> int:
    return 250 + len(url)


def _is_plain_url(text: str, settings: UrlSettings) -> bool:
    """Whether a text is a canonical URL as it is written, as most are."""
    return (
        text.startswith(WEB)
        and _PUNYCODE not in text
        and _PLAIN_URL.fullmatch(text) is not None
        and _stays(text, settings)
    )


def _stays(url: str, settings: UrlSettings) -> bool:
    """Whether nothing in a URL of plain characters is to be changed."""
    return (
        _DOT_SEGMENT not in url
        and len(url) <= settings.max_bytes
        and not ("?" in url and (settings.sort_query or settings.drop_parameters))
    )


def _join(base: str, href: str, settings: UrlSettings) -> str | None:
    try:
        return finish(join_url(base, href), settings)
    except ValueError:
        cleaned = _SURROGATE.sub("\ufffd", href)
        return None if cleaned == href else _join(base, cleaned, settings)


def _needs_whole_base(href: str) -> bool:
    """Whether more than the directory of the base matters: no path, or a scheme without slashes."""
    lean = href.strip(_STRIPPED).translate(_REMOVED)
    return lean[:1] in "?#" or lean[:6].lower().startswith(("http:", "https:"))


def _without_surrogates(text: str, settings: UrlSettings) -> str | None:
    """Try again with half characters replaced as browsers do (USVString)."""
    cleaned = _SURROGATE.sub("\ufffd", text)
    return None if cleaned == text else canonicalize(cleaned, settings)


def _has_user(typed: str) -> bool:
    """Whether there is a user name or password in a URL that is known to be sound."""
    return "@" in authority_of(normalize_url(typed))


def _what_is_wrong(typed: str, settings: UrlSettings | None) -> str:
    limit = (settings or _DEFAULTS).max_bytes
    if canonicalize(typed, UrlSettings(max_bytes=65_535)) is not None or len(typed) > limit:
        return (
            f"it is longer than {limit} bytes; raise [url] max_bytes (at most 65535) or shorten it"
        )
    return "it has no valid host name or port; give one such as https://example.org/"


def _shown(typed: str) -> str:
    """Quote what was typed on one line, without what might be a password."""
    start, at, rest = typed.partition("@")
    hidden = "…@" + rest if at and ":" in start else typed
    return repr(hidden if len(hidden) <= 200 else hidden[:200] + "…")
