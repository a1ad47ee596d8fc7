"""The references of one document: joined, de-duplicated, limited."""

from collections.abc import Iterable, Iterator
from itertools import islice, repeat
from typing import Final, Protocol

from gossamer.messages import Link
from gossamer.parse.charset import encoder_of, with_coded_query

# No canonical URL may be longer (`[url] max_bytes`), so a longer reference is not even joined.
MAX_REFERENCE: Final = 65_535
# Of one page; there are fewer than 200 languages that have a code of two letters.
MAX_LANGUAGES: Final = 1_000
# A reference that is only a fragment names this page; the other schemes never name a page.
_NOT_ELSEWHERE: Final = ("#", "data:", "javascript:", "mailto:", "tel:", "about:", "blob:")


class Joiner(Protocol):
    """Resolves references against a base URL; gossamer.url.canonical has the real one."""

    def join(self, base: str, href: str, /) -> str | None:
        """Return the canonical absolute URL, or None if there is no http(s) URL in it."""
        ...

    def join_all(self, base: str, hrefs: Iterable[str], /) -> list[str | None]:
        """Return what `join` returns for each reference."""
        ...


class References:
    """Collects links and assets as written, and joins each distinct one once."""

    __slots__ = (
        "_assets",
        "_base",
        "_encoder",
        "_joiner",
        "_joins_left",
        "_languages",
        "_limit",
        "_links",
        "_obeys",
        "_refuses",
        "_resolved",
        "dropped",
    )

    def __init__(
        self,
        base: str,
        joiner: Joiner,
        limit: int,
        *,
        charset: str = "utf-8",
        obey_nofollow: bool = True,
    ) -> None:
        self._base = base
        self._encoder = encoder_of(charset)
        self._obeys = obey_nofollow
        self._joiner = joiner
        self._limit = self._joins_left = limit
        # kind -> reference without fragment -> whether it asks not to be followed
        self._links: dict[str, dict[str, bool]] = {}
        self._assets: dict[str, dict[str, bool]] = {}
        self._resolved: dict[tuple[str, str], str | None] = {}
        self._languages: dict[str, str] = {}
        self._refuses = False
        """Whether a reference may have asked not to be followed."""
        self.dropped = 0
        """How many distinct references were over the limit."""

    def add_link(self, href: str, kind: str, *, nofollow: bool = False) -> None:
        """Add a reference to a page."""
        if href and not href.startswith(_NOT_ELSEWHERE):
            table = self._links.setdefault(kind, {})
            bare = href.partition("#")[0]
            table[bare] = nofollow and self._obeys and table.get(bare, True)
            self._refuses |= nofollow

    def add_links(self, hrefs: Iterable[str], kind: str, *, nofollow: bool = False) -> None:
        """Add many references of one kind: the hot path."""
        nofollow = nofollow and self._obeys
        self._refuses |= nofollow
        fresh = {href.partition("#")[0]: nofollow for href in hrefs}
        known = self._links.setdefault(kind, fresh)
        if known is not fresh:
            for bare in fresh:
                known[bare] = nofollow and known.get(bare, True)

    def add_distinct_links(self, references: dict[str, bool], kind: str) -> None:
        """Add the first references of a kind, without fragments; the dictionary is used up."""
        self._links[kind] = references

    def add_told_links(self, links: Iterable[tuple[str, str, bool]]) -> None:
        """Add references that are known to lead elsewhere: kind, without fragment, nofollow."""
        for kind, bare, nofollow in links:
            table = self._links.setdefault(kind, {})
            table[bare] = nofollow and self._obeys and table.get(bare, True)
            self._refuses |= nofollow

    def add_told_assets(self, assets: Iterable[tuple[str, str]]) -> None:
        """Add assets that are known to be elsewhere: kind, without fragment."""
        for kind, bare in assets:
            self._assets.setdefault(kind, {})[bare] = False

    def told(self) -> tuple[list[tuple[str, str, bool]], list[tuple[str, str]]]:
        """Return links and assets in the forms that `add_told_links` and `add_told_assets` take."""
        return (
            [
                (kind, bare, nofollow)
                for kind, table in self._links.items()
                for bare, nofollow in table.items()
            ],
            [(kind, bare) for kind, table in self._assets.items() for bare in table],
        )

    def add_asset(self, href: str, kind: str, *, base: str | None = None) -> None:
        """Add a reference to something the page needs."""
        if href and not href.startswith(_NOT_ELSEWHERE):
            if base is not None:
                href = self._join(base, href) or ""
            self._assets.setdefault(kind, {})[href.partition("#")[0]] = False

    def add_language(self, language: str, href: str) -> None:
        """Note where the same page is in another language; of each language the first counts."""
        if len(self._languages) < MAX_LANGUAGES and language not in self._languages:
            url = self.resolve(href)
            if url is not None:
                self._languages[language] = url

    def languages(self) -> tuple[tuple[str, str], ...]:
        """Return language and URL of each page in another language."""
        return tuple(self._languages.items())

    def resolve(self, href: str) -> str | None:
        """Return the URL of a reference without adding it."""
        if not href or href.startswith(_NOT_ELSEWHERE):
            return None
        return self._join(self._base, href.partition("#")[0])

    def has_links(self, kind: str) -> bool:
        """Whether there is any reference of this kind to a page."""
        return kind in self._links

    def links_and_assets(self) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
        """Return the references to other pages, and what the page needs to be shown.

        Both kind by kind in the order of appearance; references that are over the limit are left
        out.
        """
        hrefs: list[str] = []
        links = [self._take(table, hrefs) for table in self._links.values()]
        assets = [self._take(table, hrefs) for table in self._assets.values()]
        if self._encoder and not all(map(str.isascii, hrefs)):
            hrefs = [with_coded_query(href, self._encoder) for href in hrefs]
        urls = iter(self._joiner.join_all(self._base, hrefs))
        return self._made(self._links, links, urls), self._made(self._assets, assets, urls)

    def _made(
        self, tables: dict[str, dict[str, bool]], counts: list[int], urls: Iterator[str | None]
    ) -> tuple[Link, ...]:
        """Make links of the next URLs, so many for each table."""
        found: list[Link] = []
        for (kind, table), count in zip(tables.items(), counts, strict=True):
            targets = islice(urls, count)
            if self._refuses and True in table.values():
                # Those that are over the limit are the last ones.
                found += _partly_refused(kind, zip(targets, table.values(), strict=False))
            else:
                found += map(Link, filter(None, dict.fromkeys(targets)), repeat(kind))
        return tuple(found)

    def note(self) -> str:
        """Return what is to be said about references that were left out."""
        return f"{self.dropped} references over the limit of {self._limit} were dropped"

    def _take(self, table: dict[str, bool], hrefs: list[str]) -> int:
        """Append the references of a table as far as the limit allows; return how many."""
        # What is left of a mere fragment is nothing; what is too long the joiner refuses by itself.
        table.pop("", None)
        before = len(hrefs)
        hrefs += table
        over = len(hrefs) - self._joins_left
        if over > 0:
            self.dropped += over
            del hrefs[self._joins_left :]
        return len(hrefs) - before

    def _join(self, base: str, href: str) -> str | None:
        key = (base, href)
        if key in self._resolved:
            return self._resolved[key]
        if self._joins_left <= 0 or len(href) > MAX_REFERENCE:
            self.dropped += 1
            return None
        self._joins_left -= 1
        if self._encoder:
            href = with_coded_query(href, self._encoder)
        self._resolved[key] = url = self._joiner.join(base, href)
        return url


def _partly_refused(kind: str, targets: Iterable[tuple[str | None, bool]]) -> list[Link]:
    """One place that may be followed is enough for a URL to be followed."""
    refused: dict[str, bool] = {}
    for url, nofollow in targets:
        if url is not None:
            refused[url] = nofollow and refused.get(url, True)
    return [Link(url, kind, nofollow) for url, nofollow in refused.items()]
