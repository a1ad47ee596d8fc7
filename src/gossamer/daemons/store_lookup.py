"""Which document a result belongs to, if any.

The usual one is about the URL that was ordered, and that URL is leased. A hop of a redirect carries
the doc_id of the order and a URL of its own (A16): it belongs to the document of that URL, which
may be unknown yet. Everything else is stale: the order was given up and made again, or the result
came twice.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct, field

from gossamer.catalog.catalog import UrlRow
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.settings import Settings
from gossamer.crawl.seeds import seeds_of
from gossamer.daemons.deposits import Arrival
from gossamer.messages import Due, Found, Visit
from gossamer.url.address import port_refusal
from gossamer.url.canonical import canonicalize
from gossamer.url.parts import host_of, md5_of, port_of
from gossamer.url.scope import Scope
from gossamer.url.traps import path_trap
from gossamer.wire.enumerations import status_of
from gossamer.wire.exchange import fetch_of
from gossamer.wire.results import FULL, Result

_MAX_TRAILS: Final = 10_000


class Hop(Struct, frozen=True):
    """A result of a URL that nobody ordered, which may become a document now."""

    arrival: Arrival
    found: Found
    ordered: int
    """The document that was ordered."""


class Sorted(Struct, frozen=True):
    """What some results are."""

    known: list[tuple[Arrival, Due]] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    stale: list[Arrival] = field(default_factory=list)


class Lookup:
    """Sorts results by what the catalog knows of them; only reads."""

    def __init__(self, catalog: SqliteCatalog, settings: Settings) -> None:
        self._catalog = catalog
        self._settings = settings
        self._version = -1
        self._starts: list[str] = []
        self._scope = Scope(settings.crawl, ())
        self._trails: OrderedDict[int, tuple[str, ...]] = OrderedDict()
        """The redirects that were followed for an order so far, but for the first."""

    def new_start_urls(self) -> Sequence[str] | None:
        """Return all start URLs if there are others than when last asked."""
        version = self._catalog.data_version()
        if version == self._version:
            return None
        self._version = version
        starts = seeds_of(self._catalog)
        if starts == self._starts:
            return None
        self._starts = starts
        self._scope = Scope(self._settings.crawl, starts)
        return starts

    def sort(self, arrivals: Iterable[Arrival]) -> Sorted:
        """Tell of each result which document it is about."""
        arrivals = list(arrivals)
        dues = self._catalog.dues({arrival.result.doc_id for arrival in arrivals})
        sorted_ = Sorted()
        for arrival in arrivals:
            self._place(arrival, dues.get(arrival.result.doc_id), sorted_)
        return sorted_

    def _place(self, arrival: Arrival, due: Due | None, into: Sorted) -> None:
        result = arrival.result
        text = result.url.decode("ascii", "replace")
        if due is not None and (text in (due.url, "") or self._canonical(text) == due.url):
            if due.tries and self._is_repetition(result, self._catalog.row(due.doc_id)):
                into.stale.append(arrival)
                return
            self._lengthen_trail(result, "")
            into.known.append((arrival, due))
            return
        hop = self._hop(arrival, due, self._canonical(text))
        if hop is None:
            into.stale.append(arrival)
        else:
            into.hops.append(hop)

    def _canonical(self, text: str) -> str | None:
        return canonicalize(text, self._settings.url) if text else None

    def _hop(self, arrival: Arrival, due: Due | None, url: str | None) -> Hop | None:
        """Return the hop that a result is of; None if it is of none, or of one we do not want."""
        doc_id = arrival.result.doc_id
        ordered = due or self._catalog.row(doc_id)
        if ordered is None or url is None or url == ordered.url:
            return None
        host = host_of(url)
        if self._is_unwanted(url, host, ordered.depth):
            return None
        if self._is_repetition(arrival.result, self._catalog.find(url)):
            return None
        via = (*ordered.via, ordered.url, *self._trails.get(doc_id, ()))
        self._lengthen_trail(arrival.result, url)
        found = Found(url, md5_of(url), host, ordered.depth, int(ordered.kind), via=via)
        return Hop(arrival, found, doc_id)

    def _is_unwanted(self, url: str, host: str, depth: int) -> bool:
        """Whether a link to it would not be followed, either."""
        return (
            self._scope.verdict(url, host, depth) is not None
            or path_trap(url, self._settings.url) is not None
            or port_refusal(port_of(url), self._settings.spider.allowed_ports) is not None
        )

    def _lengthen_trail(self, result: Result, url: str) -> None:
        """Remember a redirect until the hops after it have come."""
        if 300 <= status_of(result.http) < 400:
            earlier = self._trails.pop(result.doc_id, ()) if url else ()
            self._trails[result.doc_id] = (*earlier, url) if url else ()
            if len(self._trails) > _MAX_TRAILS:
                self._trails.popitem(last=False)
        else:
            self._trails.pop(result.doc_id, None)

    def _is_repetition(self, result: Result, row: UrlRow | None) -> bool:
        """Whether this very try is in the catalog, and its URL waits for the next one.

        A Spider that did not hear that a result was saved sends it again; in between, the URL may
        have become due again. Only the FULL form says when the fetch was made.
        """
        if row is None or row.fetch is None or result.form != FULL:
            return False
        fetch = fetch_of(result, Visit(0, result.doc_id, "", row.url))
        return fetch.fetched_at == row.fetch.fetched_at
