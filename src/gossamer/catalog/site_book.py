"""What one transaction of the service knows of sites, each looked up once."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gossamer.catalog.batch_facts import Item, MemberFacts, SiteFacts
from gossamer.catalog.queries import load_queries
from gossamer.catalog.service_counters import counted as moving_counters
from gossamer.catalog.service_rows import KnownSite
from gossamer.objects.enumerations import FilterMode, FilterOperation, FilterStage
from gossamer.objects.site import Filter

BATCHES: Final = load_queries("batches.sql")


class SiteBook:
    """Sites, their properties, filters and members, as they are in this transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._sites: dict[int, SiteFacts | None] = {}
        self._properties: dict[int, dict[str, str]] = {}
        self._filters: dict[int, list[Filter]] = {}

    def site(self, set_id: int) -> SiteFacts | None:
        """Return the site that has a set now; None if none has."""
        if set_id not in self._sites:
            row = self._connection.execute(BATCHES["site_facts"], (set_id,)).fetchone()
            self._sites[set_id] = None if row is None else SiteFacts(*row)
        return self._sites[set_id]

    def member(self, item: Item) -> MemberFacts | None:
        """Return what the URL of an item is to its site; None if it is gone."""
        row = self._connection.execute(BATCHES["member_of"], (item.set_id, item.doc_id)).fetchone()
        return None if row is None else MemberFacts(*row)

    def properties_of(self, site_id: int) -> Mapping[str, str]:
        """Return the properties of a site, by name."""
        if site_id not in self._properties:
            rows = self._connection.execute(BATCHES["properties"], (site_id,))
            self._properties[site_id] = dict(rows.fetchall())
        return self._properties[site_id]

    def filters_of(self, site_id: int) -> Sequence[Filter]:
        """Return the filters of a site that are on."""
        if site_id not in self._filters:
            rows = self._connection.execute(BATCHES["filters"], (site_id,))
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

    def forget(self, set_id: int) -> None:
        """Look a site up again when it is needed."""
        self._sites.pop(set_id, None)

    @contextlib.contextmanager
    def counted(self, set_id: int, doc_ids: Sequence[int]) -> Iterator[None]:
        """Move the counters of a site by what the block changes in these members of it."""
        site = self.site(set_id)
        if site is None:
            yield
            return
        with moving_counters(self._connection, KnownSite(site.site_id, set_id), doc_ids):
            yield
        # Its counters are read again when they are needed.
        self.forget(set_id)
