"""What changed on a site since an earlier map of it.

A URL is in at most one of `added`, `removed` and `moved`. A page counts as moved when its old URL
now redirects; and when the URL is gone and a new one has the very same content, for after a move
with all links corrected nothing leads to the old URL any more.
"""

from collections import deque
from collections.abc import Iterable

from msgspec import Struct

from gossamer.site.earlier import EarlierMap, EarlierPage, read_earlier
from gossamer.site.model import ASSET_KINDS, Page, SiteMap

_AnyPage = EarlierPage | Page


class Entry(Struct):
    """A page that is only in one of the maps."""

    url: str
    status: int
    title: str
    error: str | None


class Move(Struct):
    """A page that is elsewhere now."""

    url: str
    to: str
    by: str
    """How that is known: `redirect` or `content`."""


class StatusChange(Struct):
    """A page that answers otherwise than before; a status is 0 when there was no answer."""

    url: str
    before: int
    after: int
    error: str | None
    """What is wrong now."""


class TextChange(Struct):
    """A page with another title than before."""

    url: str
    before: str
    after: str


class Comparison(Struct):
    """Everything that changed; lists are in the order of the newer map, `removed` of the older."""

    before: str
    """The start URL of the earlier map."""
    after: str
    added: list[Entry]
    removed: list[Entry]
    moved: list[Move]
    changed_status: list[StatusChange]
    changed_content: list[str]
    changed_title: list[TextChange]
    assets_added: dict[str, list[str]]
    assets_removed: dict[str, list[str]]
    notes: list[str]
    """What makes the comparison less certain."""


def compare(old: bytes, new: SiteMap, name: str = "the earlier map") -> Comparison:
    """Return what changed since `old`, the content of a JSON file; `name` is for messages."""
    earlier = read_earlier(old, name)
    before = {page.url: page for page in earlier.pages}
    after = {page.url: page for page in new.pages}
    added = [page for url, page in after.items() if url not in before]
    removed = [page for url, page in before.items() if url not in after]
    both = [(before[url], page) for url, page in after.items() if url in before]
    redirected = _now_redirecting(both)
    followed = _followed(removed, added)
    gone = {move.url for move in followed}
    come = {move.to for move in followed}
    pairs = [pair for pair in both if pair[0].url not in redirected]
    return Comparison(
        before=earlier.summary.start_url,
        after=new.start_url,
        added=[_entry(page) for page in added if page.url not in come],
        removed=[_entry(page) for page in removed if page.url not in gone],
        moved=[*redirected.values(), *followed],
        changed_status=_changed_status(pairs),
        changed_content=_changed_content(pairs),
        changed_title=_changed_title(pairs),
        assets_added=_missing_from(earlier.pages, new.pages),
        assets_removed=_missing_from(new.pages, earlier.pages),
        notes=_notes(earlier, new),
    )


def _now_redirecting(both: Iterable[tuple[EarlierPage, Page]]) -> dict[str, Move]:
    """Return the pages that lead elsewhere, and did not, or not there."""
    moves = {}
    for old, new in both:
        target = new.facts.redirect_to
        if target is None or new.error is not None:
            continue
        if old.alias_of is None:
            # A redirect that is no alias left the site, and the map does not say where to.
            is_new = not 300 <= old.status < 400
        else:
            is_new = old.alias_of not in (target, new.alias_of)
        if is_new:
            moves[new.url] = Move(new.url, target, "redirect")
    return moves


def _followed(removed: Iterable[EarlierPage], added: Iterable[Page]) -> list[Move]:
    """Pair URLs that are gone with new ones that have the same content, each once, in order."""
    waiting: dict[str, deque[str]] = {}
    for page in added:
        if _has_content(page):
            waiting.setdefault(page.checksum, deque()).append(page.url)
    return [
        Move(old.url, candidates.popleft(), "content")
        for old in removed
        if _has_content(old) and (candidates := waiting.get(old.checksum))
    ]


def _changed_status(pairs: Iterable[tuple[EarlierPage, Page]]) -> list[StatusChange]:
    return [
        StatusChange(new.url, old.status, new.status, new.error)
        for old, new in pairs
        if old.status != new.status or (old.error is None) != (new.error is None)
    ]


def _changed_content(pairs: Iterable[tuple[EarlierPage, Page]]) -> list[str]:
    return [
        new.url
        for old, new in pairs
        if _is_shown(old)
        and _is_shown(new)
        and old.checksum != new.checksum
        # The content of an alias is that of another page, which is listed itself.
        and (old.alias_of is None or new.alias_of is None)
    ]


def _changed_title(pairs: Iterable[tuple[EarlierPage, Page]]) -> list[TextChange]:
    return [
        TextChange(new.url, old.title, new.title)
        for old, new in pairs
        if _is_shown(old)
        and _is_shown(new)
        and old.title != new.title
        # An alias is not parsed, so it may have no title in the map.
        and old.alias_of is None
        and new.alias_of is None
    ]


def _missing_from(some: Iterable[_AnyPage], others: Iterable[_AnyPage]) -> dict[str, list[str]]:
    """Return the assets of the others that are not among those of some, by kind."""
    known = {(kind, url) for page in some for kind, urls in page.assets.items() for url in urls}
    missing: dict[str, dict[str, None]] = {kind: {} for kind in ASSET_KINDS}
    for page in others:
        for kind, urls in page.assets.items():
            for url in urls:
                if (kind, url) not in known:
                    missing.setdefault(kind, {})[url] = None
    return {kind: list(urls) for kind, urls in missing.items()}


def _notes(earlier: EarlierMap, new: SiteMap) -> list[str]:
    notes = []
    if earlier.summary.site != new.site:
        notes.append(f"The earlier map is of another site: {earlier.summary.site}.")
    if not earlier.summary.complete:
        notes.append("The earlier map is not complete: what is added may have been there before.")
    if not new.complete:
        notes.append("The new map is not complete: what is removed may still be there.")
    return notes


def _entry(page: _AnyPage) -> Entry:
    return Entry(page.url, page.status, page.title, page.error)


def _is_shown(page: _AnyPage) -> bool:
    return page.error is None and 200 <= page.status < 300


def _has_content(page: _AnyPage) -> bool:
    return _is_shown(page) and page.bytes > 0 and bool(page.checksum)
