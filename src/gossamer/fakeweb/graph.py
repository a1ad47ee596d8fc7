"""The shape of a fake web: places as numbers, their URLs, and which place links to which.

Theory of operation. Ordinary pages are numbered from 0; page n lives on host n mod hosts, as that
host's page n // hosts. The pages of a host form a tree of five children each under its home page
(index 0), and the home pages form a tree of eight, so that each host's pages can be reached from
its own home page and all of them from the first. Extras (redirects, copies, disallowed pages ...)
are leaves hung evenly on ordinary pages. Everything is worked out from (seed, number): a web of any
size costs no memory.
"""

import re
from collections.abc import Iterator
from enum import Enum
from random import Random
from typing import Final, NamedTuple

from gossamer.fakeweb.hosts import Hosts
from gossamer.fakeweb.options import Options

FAN: Final = 5
HOME_FAN: Final = 8
SECTION: Final = 100
_NUMBERED: Final = re.compile(
    r"/(private/open|private|hidden|moved|gone|closed|nofollow|only)/(\d{1,12})\.html"
)
_IN_SECTION: Final = re.compile(r"/s\d{1,12}/(p|copy-|near-|draft-)(\d{1,12})\.html")
_QUERY: Final = re.compile(r"/s\d{1,12}/view\?id=(\d{1,12})&lang=en")
_REDIRECT: Final = re.compile(r"/r/(\d{1,12})")


class Kind(Enum):
    """What a place is; the value is the folder or file prefix in its path."""

    PAGE = "p"
    COPY = "copy-"
    NEAR = "near-"
    DRAFT = "draft-"
    PRIVATE = "private"
    OPEN = "private/open"
    HIDDEN = "hidden"
    MOVED = "moved"
    GONE = "gone"
    CLOSED = "closed"
    NOFOLLOW = "nofollow"
    ONLY = "only"
    REDIRECT = "r"


# The option that counts each kind of extra; disallowed and nofollow alternate between two kinds.
COUNTED_BY: Final = {
    Kind.COPY: "duplicates",
    Kind.NEAR: "near_duplicates",
    Kind.DRAFT: "disallowed",
    Kind.PRIVATE: "disallowed",
    Kind.OPEN: "disallowed",
    Kind.HIDDEN: "disallowed",
    Kind.MOVED: "redirects",
    Kind.REDIRECT: "redirects",
    Kind.GONE: "gone",
    Kind.CLOSED: "nofollow",
    Kind.NOFOLLOW: "nofollow",
    Kind.ONLY: "sitemap_pages",
}


class Place(NamedTuple):
    """One URL of the web: an ordinary page by its number, an extra by its own."""

    kind: Kind
    number: int


class Graph:
    """Places, paths and links of one fake web."""

    def __init__(self, options: Options, hosts: Hosts) -> None:
        self.options = options
        self.hosts = hosts
        self._counts = {name: options.count(name) for name in set(COUNTED_BY.values())}

    def host(self, place: Place) -> int:
        """Return the number of the host a place lives on."""
        return self.page_of(place) % self.options.hosts

    def page_of(self, place: Place) -> int:
        """Return the ordinary page that a place is, or hangs on."""
        if place.kind is Kind.PAGE:
            return place.number
        return place.number * self.options.pages // self._counts[COUNTED_BY[place.kind]]

    def path(self, place: Place) -> str:
        """Return path and query of a place."""
        kind, number = place
        index = self.page_of(place) // self.options.hosts
        section = index // SECTION
        if kind is Kind.PAGE:
            return self._page_path(index)
        if kind in (Kind.COPY, Kind.NEAR, Kind.DRAFT):
            return f"/s{section}/{kind.value}{number}.html"
        return f"/r/{number}" if kind is Kind.REDIRECT else f"/{kind.value}/{number}.html"

    def url(self, place: Place) -> str:
        """Return the whole URL of a place."""
        return f"http://{self.hosts.authority(self.host(place))}{self.path(place)}"

    def home(self, host: int) -> str:
        """Return the URL of a host's home page."""
        return f"http://{self.hosts.authority(host)}/"

    def find(self, host: int, target: str) -> Place | None:
        """Return the place with this path and query on a host, or None."""
        place = self._parse(host, target)
        if place is None or not self.exists(place):
            return None
        return place if self.path(place) == target and self.host(place) == host else None

    def exists(self, place: Place) -> bool:
        """Say whether this web has the place: number in range, kind right for it."""
        kind, number = place
        if kind is Kind.PAGE:
            return number < self.options.pages
        if number >= self._counts[COUNTED_BY[kind]]:
            return False
        if kind in (Kind.PRIVATE, Kind.DRAFT):
            return kind is disallowed_kind(number)
        if kind is Kind.CLOSED:
            return number % 2 == 1
        return kind is not Kind.MOVED or not leads_away(number)

    def children(self, page: int) -> Iterator[Place]:
        """Yield the children of a page in its host's tree and in the tree of homes."""
        hosts, pages = self.options.hosts, self.options.pages
        index, host = divmod(page, hosts)
        if index == 0:
            first = host * HOME_FAN + 1
            for other in range(first, min(first + HOME_FAN, hosts)):
                yield Place(Kind.PAGE, other)
        for child in range(index * FAN + 1, index * FAN + FAN + 1):
            number = child * hosts + host
            if number < pages:
                yield Place(Kind.PAGE, number)

    def extras(self, page: int) -> Iterator[Place]:
        """Yield the extras that a page links to."""
        for number in self._hung(page, "redirects"):
            yield Place(Kind.REDIRECT, number)
        for number in self._hung(page, "duplicates"):
            yield Place(Kind.COPY, number)
        for number in self._hung(page, "near_duplicates"):
            yield Place(Kind.NEAR, number)
        for number in self._hung(page, "disallowed"):
            yield Place(disallowed_kind(number), number)
            yield Place(Kind.OPEN, number)
        for number in self._hung(page, "nofollow"):
            yield Place(Kind.CLOSED if number % 2 else Kind.NOFOLLOW, number)
        for number in self._hung(page, "gone"):
            yield Place(Kind.GONE, number)

    def sitemap(self, host: int, start: int, limit: int) -> Iterator[Place]:
        """Yield at most `limit` places of a host's sitemap among the numbers from `start`."""
        count = self._counts["sitemap_pages"]
        for number in range(start, count):
            place = Place(Kind.ONLY, number)
            if self.host(place) == host:
                yield place
                limit -= 1
                if limit == 0:
                    return

    def random_links(self, page: int, count: int, random: Random) -> list[Place]:
        """Return random links of a page: four in five to its own host."""
        hosts, pages = self.options.hosts, self.options.pages
        host = page % hosts
        on_host = (pages - host + hosts - 1) // hosts
        numbers = []
        for _ in range(count):
            draw = random.random()
            if draw < 0.8:
                numbers.append(int(draw / 0.8 * on_host) * hosts + host)
            else:
                numbers.append(int((draw - 0.8) / 0.2 * pages))
        return [Place(Kind.PAGE, min(number, pages - 1)) for number in numbers]

    def redirect_target(self, number: int) -> Place:
        """Return where a redirect leads: to a page found no other way, or each fifth to any."""
        if leads_away(number):
            return Place(Kind.PAGE, (number * 7_919 + self.options.seed) % self.options.pages)
        return Place(Kind.MOVED, number)

    def places(self) -> Iterator[Place]:
        """Yield every place of the web."""
        for number in range(self.options.pages):
            yield Place(Kind.PAGE, number)
        for kind, counter in COUNTED_BY.items():
            for number in range(self._counts[counter]):
                place = Place(kind, number)
                if self.exists(place):
                    yield place

    def _page_path(self, index: int) -> str:
        if index == 0:
            return "/"
        every = self.options.query_every
        if every and index % every == every - 1:
            return f"/s{index // SECTION}/view?id={index}&lang=en"
        return f"/s{index // SECTION}/p{index}.html"

    def _parse(self, host: int, target: str) -> Place | None:
        if target == "/":
            return Place(Kind.PAGE, host)
        if found := _IN_SECTION.fullmatch(target):
            kind, number = Kind(found[1]), int(found[2])
            if kind is Kind.PAGE:
                return Place(kind, number * self.options.hosts + host)
            return Place(kind, number)
        if found := _QUERY.fullmatch(target):
            return Place(Kind.PAGE, int(found[1]) * self.options.hosts + host)
        if found := _NUMBERED.fullmatch(target):
            return Place(Kind(found[1]), int(found[2]))
        if found := _REDIRECT.fullmatch(target):
            return Place(Kind.REDIRECT, int(found[1]))
        return None

    def _hung(self, page: int, counter: str) -> range:
        """Return the extras hung on a page: those k with k * pages // count == page."""
        count, pages = self._counts[counter], self.options.pages
        return range(-(-page * count // pages), -(-(page + 1) * count // pages))


def disallowed_kind(number: int) -> Kind:
    """Return how a disallowed page is disallowed: by its folder or by a pattern."""
    return Kind.DRAFT if number % 2 else Kind.PRIVATE


def leads_away(number: int) -> bool:
    """Say whether a redirect leads to an ordinary page, maybe on another host."""
    return number % 5 == 4
