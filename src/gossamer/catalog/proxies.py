"""Which proxy a request of a site goes through, and what a failure means for it."""

import sqlite3
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.catalog.queries import load_queries
from gossamer.catalog.request_memo import Asked, ItemKey, PatternTime, RequestMemo, trim
from gossamer.objects.enumerations import CrawlStatus
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.frequency import limit_for
from gossamer.objects.problems import ObjectError
from gossamer.objects.proxying import (
    Candidate,
    UserProxy,
    candidates_of,
    parse_proxy_file,
    parse_user_proxy,
    proxy_url,
    read_limits,
    serves,
    single_proxy,
)

REQUESTS: Final = load_queries("requests.sql")
_NO_PROXY: Final = 1 << ErrorBit.NO_VALID_PROXY


class Held(Struct, frozen=True):
    """A request that is not made: the status of its URL, and the bits that say why."""

    status: int
    mask: int


class _Fields(Struct, frozen=True):
    """What is kept of a proxy beside its columns."""

    domains: tuple[str, ...] = ("*",)
    limits: str | None = None


class ProxyDesk:
    """Chooses proxies, the least used of the highest priority first."""

    def __init__(
        self, connection: sqlite3.Connection, memo: RequestMemo, now: float, time: PatternTime
    ) -> None:
        self._time = time
        self._connection = connection
        self._memo = memo
        self._now = now

    def choose(
        self, site_id: int, properties: Mapping[str, str], host: str, key: ItemKey
    ) -> Asked | Held:
        """Return how a host is asked: directly, through a proxy, or not at all.

        A site that wants a proxy is never crawled without one.
        """
        try:
            wished, candidates, is_empty = self._wished(site_id, properties)
        except ObjectError:
            return Held(int(CrawlStatus.CRAWLED), _NO_PROXY)
        if wished is None:
            return Asked()
        if is_empty:
            return Held(wished.status_update_empty_proxy_list, _NO_PROXY)
        tried = self._memo.tried.get(key, ())
        untried = [each for each in candidates if each.url not in tried]
        untried.sort(key=lambda each: (-each.priority, self._memo.proxy_uses.get(each.url, 0)))
        for each in untried:
            if self._time.is_over():
                break
            with self._time.counted():
                is_usable = serves(each.domains, host) and self._has_room(each, host)
            if is_usable:
                return _asked(wished, each)
        if tried:
            return Held(wished.status_update_tries_limit, _NO_PROXY)
        return Held(wished.status_update_no_available_proxy, _NO_PROXY)

    def failed(self, asked: Asked, key: ItemKey, *, counts: bool) -> bool:
        """Note that a proxy was of no use for an item; return whether another one is tried."""
        if counts and asked.proxy_id:
            self._connection.execute(REQUESTS["blame_proxy"], (self._now, asked.proxy_id))
        trim(self._memo.tried)
        tried = self._memo.tried.setdefault(key, [])
        tried.append(asked.proxy)
        return len(tried) < asked.tries_count

    def _wished(
        self, site_id: int, properties: Mapping[str, str]
    ) -> tuple[UserProxy | None, list[Candidate], bool]:
        """Return what a site asks for, the proxies that may be used, and if it has none at all."""
        text = properties.get("USER_PROXY", "").strip()
        if not text:
            single = single_proxy(properties)
            return (UserProxy(), [Candidate(single)], False) if single else (None, [], False)
        wished = parse_user_proxy(text)
        if wished.source:
            rows = self._connection.execute(REQUESTS["proxies_of_site"], (site_id,)).fetchall()
            return wished, [_candidate(*row[:4]) for row in rows if row[4]], not rows
        proxies = dict(wished.proxies)
        if wished.file_path:
            content = self._memo.read_file(wished.file_path.removeprefix("file:"))
            proxies |= parse_proxy_file(content) if content.strip() else {}
        return wished, candidates_of(proxies), not proxies

    def _has_room(self, candidate: Candidate, host: str) -> bool:
        limit = limit_for(candidate.limits, host, self._time.is_over)
        if limit is None:
            return True
        key = f"{candidate.url} {limit.pattern}"
        if not self._memo.is_free(key, limit.max_delay_seconds, self._now):
            return False
        self._memo.reserve(key, limit.gap_seconds, self._now)
        return True


def _asked(wished: UserProxy, candidate: Candidate) -> Asked:
    return Asked(
        proxy=candidate.url,
        proxy_id=candidate.proxy_id,
        tries_count=wished.tries_count,
        status_after_tries=wished.status_update_tries_limit,
        rotates=bool(wished.raw_content_check.rotate),
        counts_faults=bool(wished.raw_content_check.faults),
    )


def _candidate(proxy_id: int, host: str, fields: str, priority: int) -> Candidate:
    """Return a proxy of the catalog; one that cannot be read serves nobody."""
    try:
        kept = msgspec.json.decode(fields, type=_Fields)
        limits = read_limits(kept.limits)
        return Candidate(proxy_url(host), kept.domains, priority, limits, proxy_id)
    except (ObjectError, msgspec.DecodeError, UnicodeError):
        return Candidate("", (), priority, (), proxy_id)
