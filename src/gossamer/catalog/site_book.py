"""What one transaction of the service knows of sites, each looked up once."""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from gossamer.catalog.batch_facts import Item, MemberFacts, Memo, SiteFacts
from gossamer.catalog.queries import load_queries
from gossamer.catalog.service_counters import Counting
from gossamer.catalog.service_members import note_status
from gossamer.catalog.service_rows import KnownSite
from gossamer.objects.enumerations import FilterMode, FilterOperation, FilterStage, FilterState
from gossamer.objects.item_wishes import NOTHING, Wishes, properties_with, read
from gossamer.objects.site import Filter
from gossamer.objects.wishes import is_set

BATCHES: Final = load_queries("batches.sql")
_SHARED: Final = frozenset(("request_delay", "http_timeout", "max_urls_from_page"))
"""What a URL has from its site when it enters: an item that asks for another means its URL."""
_HISTORY: Final = ("STATS_FREQ_ENABLED", "STATS_LOG_ENABLED")
_NOBODY: Final = contextlib.nullcontext()
_MOST_SITES: Final = 4_096
_FACTS: Final = frozenset(SiteFacts.__struct_fields__) - {"site_id", "id", "set_id"}


class SiteBook:
    """Sites, their properties, filters and members, as they are in this transaction.

    Counters of a site are as they were when its members were last settled.
    While an item is attended to, what it asks for itself counts in place of what its site says.
    """

    def __init__(self, connection: sqlite3.Connection, memo: Memo) -> None:
        self._connection = connection
        self.counting = Counting(connection)
        self._sites: dict[int, SiteFacts | None] = {}
        self._properties = memo.properties
        self._filters = memo.filters
        self._wishes: Wishes = NOTHING
        self._attended = -1
        """The set of the item that is attended to."""

    def attending(self, set_id: int, wishes: str) -> contextlib.AbstractContextManager[None]:
        """Let the wishes of an item of this set count within the block."""
        return self._attending(set_id, wishes) if wishes else _NOBODY

    @contextlib.contextmanager
    def _attending(self, set_id: int, wishes: str) -> Iterator[None]:
        self._wishes, self._attended = read(wishes), set_id
        try:
            yield
        finally:
            self._wishes, self._attended = NOTHING, -1

    def site(self, set_id: int) -> SiteFacts | None:
        """Return the site that has a set now; None if none has."""
        if set_id not in self._sites:
            row = self._connection.execute(BATCHES["site_facts"], (set_id,)).fetchone()
            self._sites[set_id] = None if row is None else SiteFacts(*row)
        facts = self._sites[set_id]
        if facts is None or set_id != self._attended or self._wishes is NOTHING:
            return facts
        given = {name: value for name, value in self._wishes.fields.items() if name in _FACTS}
        return replace(facts, **given)

    def member(self, item: Item) -> MemberFacts | None:
        """Return what the URL of an item is to its site; None if it is gone."""
        row = self._connection.execute(BATCHES["member_of"], (item.set_id, item.doc_id)).fetchone()
        return None if row is None else self.wished(item, MemberFacts(*row))

    def wished(self, item: Item, facts: MemberFacts) -> MemberFacts:
        """Return what the URL of an item is to its site, with what the item asks for itself."""
        if item.set_id != self._attended or self._wishes is NOTHING:
            return facts
        given = {name: value for name, value in self._wishes.fields.items() if name in _SHARED}
        return replace(facts, **given)

    def properties_of(self, site_id: int) -> Mapping[str, str]:
        """Return the properties of a site, by name."""
        if site_id not in self._properties:
            rows = self._connection.execute(BATCHES["properties"], (site_id,))
            _make_room(self._properties)
            self._properties[site_id] = dict(rows.fetchall())
        if self._wishes is NOTHING:
            return self._properties[site_id]
        return properties_with(self._properties[site_id], self._wishes_for(site_id))

    def filters_of(self, site_id: int) -> Sequence[Filter]:
        """Return the filters of a site that are on."""
        given = self._wishes_for(site_id).site_obj
        if given is not None and given.filters is not None:
            return [each for each in given.filters if each.state == FilterState.ENABLED]
        if site_id not in self._filters:
            rows = self._connection.execute(BATCHES["filters"], (site_id,))
            _make_room(self._filters)
            self._filters[site_id] = [
                Filter(
                    pattern=pattern,
                    subject=subject,
                    op_code=FilterOperation(code),
                    stage=FilterStage(stage),
                    action=action,
                    mode=FilterMode(mode),
                )
                for pattern, subject, code, stage, action, _, mode in rows
            ]
        return self._filters[site_id]

    def _wishes_for(self, site_id: int) -> Wishes:
        if self._wishes is NOTHING:
            return NOTHING
        site = self.site(self._attended)
        return self._wishes if site is not None and site.site_id == site_id else NOTHING

    def forget(self, set_id: int) -> None:
        """Look a site up again when it is needed."""
        self._sites.pop(set_id, None)

    def watch(self, set_id: int, doc_ids: Iterable[int]) -> None:
        """Expect a change in members of a site, so that `settle` moves its counters by it."""
        site = self.site(set_id)
        if site is not None:
            self.counting.watch(KnownSite(site.site_id, set_id), doc_ids)

    def note(self, set_id: int, status: int, doc_ids: Iterable[int], now: float) -> None:
        """Note that members of a site have got a status, if the site keeps a history of them."""
        site = self.site(set_id)
        if site is None:
            return
        properties = self.properties_of(site.site_id)
        counts, logs = (is_set(properties, name) for name in _HISTORY)
        if counts or logs:
            known = KnownSite(site.site_id, set_id, counts, logs)
            note_status(self._connection, known, status, doc_ids, now)

    def settle(self) -> None:
        """Move the counters of sites by what has changed in their members."""
        for set_id in self.counting.settle():
            # They are read again when they are needed.
            self.forget(set_id)


def _make_room(sites: dict[int, Any]) -> None:
    """Remember of a few thousand sites at most what they want."""
    if len(sites) >= _MOST_SITES:
        sites.clear()


def type_of(connection: sqlite3.Connection, set_id: int, doc_id: int) -> int | None:
    """Return the type that a URL has in a site; None if it is no member."""
    row = connection.execute(BATCHES["member_of"], (set_id, doc_id)).fetchone()
    return None if row is None else MemberFacts(*row).type
