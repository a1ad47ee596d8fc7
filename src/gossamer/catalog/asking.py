"""Requests of the service: how each is made, whether it is made now, and if it is made again."""

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.batch_facts import Item, MemberFacts, Memo, SiteFacts
from gossamer.catalog.leases import json_list
from gossamer.catalog.manners import manner_of
from gossamer.catalog.proxies import REQUESTS, Held, ProxyDesk
from gossamer.catalog.request_memo import Asked, AskedMember, ItemKey, PatternTime, trim
from gossamer.catalog.site_book import SiteBook
from gossamer.catalog.tally import Tally
from gossamer.clock import header_moment
from gossamer.messages import Due, Findings, Kind
from gossamer.objects.enumerations import CrawlStatus, URLState
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.frequency import FrequencyLimit, limit_for, parse_freq_limits
from gossamer.objects.methods import is_head
from gossamer.objects.modified import (
    Algorithm,
    Detection,
    Known,
    Seen,
    is_unchanged,
    parse_detection,
)
from gossamer.objects.problems import ObjectError
from gossamer.objects.wishes import Occasion
from gossamer.outcomes import PROXY_FAULTS, State
from gossamer.reports import PageReport

_PATTERN_SECONDS: Final = 2.0
_MEMBER: Final = 9
"""Where in a row of facts for requests the member begins."""
_NO_WINDOW: Final = Held(int(CrawlStatus.NEW), 1 << ErrorBit.NO_TIME_WINDOW)
_NO_PROXY: Final = 1 << ErrorBit.NO_VALID_PROXY
# Properties on which the answer of a server may depend.
_SHAPING: Final = (
    "HTTP_AUTH_NAME",
    "HTTP_AUTH_PWD",
    "HTTP_COOKIE",
    "HTTP_HEADERS",
    "HTTP_PROXY_HOST",
    "HTTP_PROXY_PORT",
    "REFERER_SELF_URL",
    "USER_PROXY",
)


class RequestFacts(Struct, frozen=True, gc=False):
    """What decides how a member is asked for."""

    is_root: int
    method: str
    has_content: int
    etag: str
    last_modified: float | None
    raw_md5: str
    size: int
    cdate: float
    udate: float | None


class Sequel(Struct, frozen=True):
    """What follows from a visit, beside what it brought."""

    again: bool = False
    """The URL is asked for once more, in another way."""
    mask: int = 0
    status: int | None = None
    """In place of what the site says for the HTTP code."""


NOTHING_MORE: Final = Sequel()


class _Looked(Struct, frozen=True):
    """A member that is about to be asked for."""

    md5: bytes
    facts: RequestFacts
    member: MemberFacts


class Asking:
    """Plans requests inside one transaction."""

    def __init__(
        self, connection: sqlite3.Connection, book: SiteBook, memo: Memo, now: float
    ) -> None:
        self._connection = connection
        self._book = book
        self._memo = memo
        self._now = now
        # Sites wait for each other here: expressions of one must not take the time of all.
        self._time = PatternTime(_PATTERN_SECONDS, time.monotonic)
        self._proxies = ProxyDesk(connection, memo.requests, now, self._time)
        self._looked: dict[tuple[int, int], _Looked] = {}

    def look_at(self, items: Iterable[Item]) -> None:
        """Read what decides how members are asked for; nothing of it changes in between."""
        by_set: dict[int, list[int]] = {}
        for item in items:
            by_set.setdefault(item.set_id, []).append(item.doc_id)
        for set_id, doc_ids in by_set.items():
            values = (set_id, json_list(doc_ids))
            for doc_id, md5, *row in self._connection.execute(
                REQUESTS["facts_for_requests"], values
            ):
                facts, member = RequestFacts(*row[:_MEMBER]), MemberFacts(*row[_MEMBER:])
                self._looked[set_id, doc_id] = _Looked(md5, facts, member)

    def together(self, items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
        """Return the items that one request can be made for, and those that need their own.

        Sites with other headers, log-ins or proxies may get other answers, which are not for all.
        """
        live = [item for item in items if not self._is_gone(item)]
        if len(live) < 2:
            return live, []
        shape = self._shape(live[0])
        mine = [item for item in live if self._shape(item) == shape]
        return mine, [item for item in live if item not in mine]

    def asked_for(self, items: Sequence[Item], doc_id: int) -> tuple[list[Item], list[Item]]:
        """Return the items that a request was made for, and those that have come since.

        A batch may have ended before its turn came, and the next one want the same: the request was
        made for that one, too. A slow host would be asked in vain for ever if each came too late.
        But what was asked for before a URL started again may have been removed by that.
        """
        asked = self._memo.requests.asked.get(doc_id)
        if asked is None:
            return list(items), []
        mine = [
            item
            for item in items
            if self._asked_member(item) in asked.members or self._is_gone(item)
        ]
        return mine, [item for item in items if item not in mine]

    def plan(self, due: Due, items: Sequence[Item]) -> Due | Held:
        """Return how a URL is asked for, or that it is not; items of one kind (`together`)."""
        item = items[0]
        with self._book.attending(item.set_id, item.wishes):
            site, looked = self._book.site(item.set_id), self._look(item)
            if site is None or looked is None:
                return due
            member, facts = self._book.wished(item, looked.member), looked.facts
            properties = self._book.properties_of(site.site_id)
            limit = frequency_limit(properties, due.host, self._time)
            if limit is not None and not self._has_window(site, limit):
                return _NO_WINDOW
            asked = self._proxies.choose(site.site_id, properties, due.host, key_of(item))
            if isinstance(asked, Held):
                return asked
            if limit is not None:
                self._memo.requests.reserve(_window(site, limit), limit.gap_seconds, self._now)
            occasion = self._occasion(due, item)
            gap = 0.0 if limit is None else limit.gap_seconds
            names = [self._name_of(each) for each in items]
            with self._time.counted() if "HTTP_COOKIE" in properties else contextlib.nullcontext():
                manner = manner_of(
                    site, member, properties, self._memo, names, occasion, asked, gap
                )
            detection = detection_of(properties)
            due = self._conditional(due, items, facts, detection)
            is_look = self._is_look(due, item, facts, detection)
            if is_look or is_head(facts.method):
                due = replace(due, kind=Kind.CHECK)
            members = frozenset(map(self._asked_member, items))
            self._memo.requests.ask(due.doc_id, replace(asked, is_look=is_look, members=members))
            return replace(due, manner=manner)

    def hold(self, due: Due, items: Sequence[Item], held: Held, tally: Tally) -> None:
        """Let a URL that was leased go: it is not asked for."""
        is_new = held.status == CrawlStatus.NEW
        for item in items:
            values = {
                "status": held.status,
                # One that is in error is not selected again.
                "state": int(URLState.ENABLED if is_new else URLState.ERROR),
                "mask": held.mask,
                "now": self._now,
                "set_id": item.set_id,
                "doc_id": item.doc_id,
            }
            self._book.watch(item.set_id, [item.doc_id])
            self._connection.execute(REQUESTS["hold_member"], values)
            self._forget(key_of(item))
        self.let_go(due, tally)

    def let_go(self, due: Due, tally: Tally) -> None:
        """Have nobody ask for a URL that was leased."""
        row = self._connection.execute(REQUESTS["unlease_url"], (due.doc_id,)).fetchone()
        if row is not None:
            tally.move(row[0], State.LEASED, State.EXCLUDED)

    def after(self, items: Sequence[Item], findings: Findings, report: PageReport) -> Sequel:
        """Return what follows from a visit: the first item decides, as it did before."""
        asked = self._memo.requests.asked.pop(findings.doc_id, None)
        if asked is None or not items:
            return NOTHING_MORE
        key = key_of(items[0])
        if asked.proxy and (report.spoiled or findings.outcome in PROXY_FAULTS):
            return self._after_fault(asked, key, report)
        self._memo.requests.tried.pop(key, None)
        if asked.is_look and not self._shows_no_change(items[0], findings, report):
            trim(self._memo.requests.looked)
            self._memo.requests.looked[key] = None
            return Sequel(again=True)
        self._memo.requests.looked.pop(key, None)
        return NOTHING_MORE

    def _after_fault(self, asked: Asked, key: ItemKey, report: PageReport) -> Sequel:
        counts = asked.counts_faults or not report.spoiled
        if report.spoiled and not asked.rotates:
            self._proxies.failed(asked, key, counts=counts)
            self._forget(key)
            return NOTHING_MORE
        if self._proxies.failed(asked, key, counts=counts):
            return Sequel(again=True)
        self._forget(key)
        return Sequel(mask=_NO_PROXY, status=asked.status_after_tries)

    def _shows_no_change(self, item: Item, findings: Findings, report: PageReport) -> bool:
        facts, site = self._facts(item), self._book.site(item.set_id)
        if facts is None or site is None:
            return True
        detection = detection_of(self._book.properties_of(site.site_id))
        known = Known(facts.raw_md5, facts.size, facts.last_modified)
        seen = Seen(findings.status, "", report.length, report.last_modified)
        return is_unchanged(detection, known, seen)

    def _has_window(self, site: SiteFacts, limit: FrequencyLimit) -> bool:
        key = _window(site, limit)
        return self._memo.requests.is_free(key, limit.max_delay_seconds, self._now)

    def _occasion(self, due: Due, item: Item) -> Occasion:
        is_hurried = self._time.is_over()
        if due.doc_id == item.doc_id:
            return Occasion(due.url, is_hurried=is_hurried)
        row = self._connection.execute(REQUESTS["host_of_document"], (item.doc_id,)).fetchone()
        elsewhere = row is None or row[0] != due.host
        return Occasion(due.url, redirected=True, elsewhere=elsewhere, is_hurried=is_hurried)

    def _conditional(
        self, due: Due, items: Sequence[Item], facts: RequestFacts, detection: Detection
    ) -> Due:
        """Ask only for what is new to every site that wants it, if the first one wishes so."""
        if due.etag is None and due.last_modified is None:
            return due
        # Where a redirect leads may be new to a site even if it is as it was.
        is_known = due.doc_id == items[0].doc_id and detection.is_on(is_root=bool(facts.is_root))
        if not is_known or not all(self._has_this(due, item) for item in items):
            return replace(due, etag=None, last_modified=None)
        if detection.algorithm == Algorithm.ETAG:
            return replace(due, last_modified=None)
        if detection.algorithm == Algorithm.DATE:
            return replace(due, etag=None)
        return due

    def _has_this(self, due: Due, item: Item) -> bool:
        """Whether a site has the very version that the conditions are about."""
        facts = self._facts(item)
        if facts is None or not facts.has_content or is_head(facts.method):
            return False
        if due.etag:
            return facts.etag == due.etag
        return facts.last_modified is not None and facts.last_modified == header_moment(
            due.last_modified
        )

    def _is_look(self, due: Due, item: Item, facts: RequestFacts, detection: Detection) -> bool:
        """Whether the head is asked for first."""
        return (
            detection.algorithm == Algorithm.HEAD
            and detection.is_on(is_root=bool(facts.is_root))
            and bool(facts.has_content)
            and due.doc_id == item.doc_id
            and not is_head(facts.method)
            and key_of(item) not in self._memo.requests.looked
        )

    def _shape(self, item: Item) -> tuple[str, ...]:
        """Return what the answer to a request for an item may depend on."""
        with self._book.attending(item.set_id, item.wishes):
            site, facts = self._book.site(item.set_id), self._facts(item)
            if site is None or facts is None:
                return ()
            properties = self._book.properties_of(site.site_id)
            # Proxies of the catalog are those of one site.
            own = str(site.site_id) if properties.get("USER_PROXY") else ""
            return (facts.method, own, *(properties.get(name, "") for name in _SHAPING))

    def _is_gone(self, item: Item) -> bool:
        return self._book.site(item.set_id) is None or self._facts(item) is None

    def _name_of(self, item: Item) -> tuple[str, str]:
        """Return the site of an item, and under what name the site keeps its content."""
        site, looked = self._book.site(item.set_id), self._look(item)
        return "" if site is None else site.id, "" if looked is None else looked.md5.hex()

    def _facts(self, item: Item) -> RequestFacts | None:
        looked = self._look(item)
        return None if looked is None else looked.facts

    def _look(self, item: Item) -> _Looked | None:
        key = (item.set_id, item.doc_id)
        if key not in self._looked:
            self.look_at([item])
        return self._looked.get(key)

    def _asked_member(self, item: Item) -> AskedMember:
        facts = self._facts(item)
        moments = (0.0, None) if facts is None else (facts.cdate, facts.udate)
        return item.set_id, item.doc_id, item.wishes, *moments

    def _forget(self, key: ItemKey) -> None:
        self._memo.requests.tried.pop(key, None)
        self._memo.requests.looked.pop(key, None)


def detection_of(properties: Mapping[str, str]) -> Detection:
    """Return what DETECT_MODIFIED says; what cannot be read was refused when it was set."""
    try:
        return parse_detection(properties.get("DETECT_MODIFIED", ""))
    except ObjectError:
        return Detection()


def frequency_limit(
    properties: Mapping[str, str], host: str, time: PatternTime
) -> FrequencyLimit | None:
    """Return the limit that HTTP_FREQ_LIMITS sets for a host."""
    text = properties.get("HTTP_FREQ_LIMITS", "")
    if not text:
        return None
    with contextlib.suppress(ObjectError), time.counted():
        return limit_for(parse_freq_limits(text), host, time.is_over)
    return None


def key_of(item: Item) -> ItemKey:
    """Return what an item is known by."""
    return item.batch_id, item.set_id, item.doc_id


def _window(site: SiteFacts, limit: FrequencyLimit) -> str:
    return f"{site.site_id} {limit.pattern}"
