"""Puts feeds that somebody wants into the catalog, each under a source."""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from gossamer.catalog.news_catalog import NewsCatalog
from gossamer.catalog.subscriptions import delay_content
from gossamer.news.finding import Candidate
from gossamer.url.parts import host_of, registrable_domain, site_of

_MAX_NAME: Final = 200
_MAX_TITLE: Final = 1_000


class Wish(Struct, frozen=True, gc=False):
    """A feed that somebody wants; what is empty is not known."""

    url: str
    """Canonical, once it has been checked."""
    source: str = ""
    title: str = ""
    home: str = ""
    tags: str = ""
    form: str = ""
    line: int = 0
    """Where it stands in a file."""


class Subscribed(Struct, frozen=True, gc=False):
    """A feed that is in the catalog now."""

    feed_id: int
    url: str
    source: str
    title: str
    form: str
    new: bool


def subscribe(
    catalog: NewsCatalog,
    wishes: Iterable[Wish],
    now: float,
    *,
    content_delay_seconds: float | None = None,
) -> Iterator[Subscribed]:
    """Enter feeds; a source that is known gets them, and the delay if one is named."""
    numbers: dict[str, int] = {}
    for wish in wishes:
        name = tidy_name(wish.source) or name_of_source(wish.home or wish.url)
        if name not in numbers:
            numbers[name] = catalog.add_source(name, wish.home, now, tags=wish.tags)
            if content_delay_seconds is not None:
                delay_content(catalog.database, numbers[name], content_delay_seconds)
        title = wish.title[:_MAX_TITLE]
        number, new = catalog.add_feed(numbers[name], wish.url, now, title=title, form=wish.form)
        yield Subscribed(number, wish.url, name, title, wish.form, new)


def wish_of(candidate: Candidate, source: str = "") -> Wish:
    """Return a feed that was found as one that is wanted.

    A feed that somebody named belongs to the site it says; one that a site named, to that site,
    whatever it says of itself.
    """
    is_itself = candidate.how == "itself"
    return Wish(
        candidate.url,
        source=source,
        title=candidate.title,
        home=candidate.home if is_itself else candidate.start,
        form=candidate.form,
    )


def name_of_source(url: str) -> str:
    """Return what a source is called that nobody has named: the domain somebody registered.

    All feeds of one medium should have one source, because stories are compared inside it; a port
    of its own makes another one.
    """
    host = host_of(url)
    return site_of(url).replace(host, registrable_domain(host), 1)


def tidy_name(text: str) -> str:
    """Return the name of a source on one line and of a length that can be read."""
    return " ".join(text.split())[:_MAX_NAME].strip()
