"""Titles and descriptions: missing, too long, or the same on several pages."""

from collections.abc import Callable, Iterator
from typing import Final

from gossamer.site.audit.case import Case
from gossamer.site.audit.view import View
from gossamer.site.model import Page

MAX_TITLE: Final = 60
"""Characters of a title that search engines show on most screens."""
MAX_DESCRIPTION: Final = 160


def missing_titles(view: View) -> Iterator[Case]:
    """Pages without a title, or with an empty one."""
    return (Case(page.url) for page in view.documents if not title_of(page))


def duplicate_titles(view: View) -> Iterator[Case]:
    """Titles that several pages have."""
    return _shared(view, title_of)


def long_titles(view: View) -> Iterator[Case]:
    """Titles of which the end is not shown."""
    return _longer(view, title_of, MAX_TITLE)


def missing_descriptions(view: View) -> Iterator[Case]:
    """Pages without a description, or with an empty one; only those that may be listed."""
    return (Case(page.url) for page in view.indexable if not description_of(page))


def duplicate_descriptions(view: View) -> Iterator[Case]:
    """Descriptions that several pages have."""
    return _shared(view, description_of)


def long_descriptions(view: View) -> Iterator[Case]:
    """Descriptions of which the end is not shown."""
    return _longer(view, description_of, MAX_DESCRIPTION)


def title_of(page: Page) -> str:
    """Return the title with its white space as a browser shows it."""
    return " ".join(page.title.split())


def description_of(page: Page) -> str:
    """Return the description likewise; empty if there is none."""
    return " ".join((page.facts.description or "").split())


def _shared(view: View, text_of: Callable[[Page], str]) -> Iterator[Case]:
    groups: dict[str, list[str]] = {}
    for page in view.indexable:
        if text := text_of(page):
            groups.setdefault(text, []).append(page.url)
    for text, (first, *others) in groups.items():
        if others:
            yield Case(first, others, text)


def _longer(view: View, text_of: Callable[[Page], str], most: int) -> Iterator[Case]:
    for page in view.indexable:
        if len(text := text_of(page)) > most:
            yield Case(page.url, detail=f"{len(text):,} characters: {text}")
