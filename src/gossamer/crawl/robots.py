"""robots.txt: fetched for the URL server by the coordinator's own small spider (A12), and kept.

The bodies never pass through a worker or the store: rules belong to the URL server. Each fetch
was let through by the URL server, so it counts in the limits of its host and address like a page.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from gossamer.catalog.catalog import RobotsRecord
from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.config.spider import SpiderSettings
from gossamer.messages import Fetch, Kind, Manner, Visit
from gossamer.outcomes import Outcome
from gossamer.spider.spider import Spider
from gossamer.url.canonical import Joiner
from gossamer.urlserver.urlserver import (
    FetchRobots,
    RobotsAnswer,
    RobotsRules,
    RobotsState,
    UrlServer,
)


class RobotsDesk:
    """Sends for robots.txt files and takes in the answers."""

    def __init__(
        self, spider: Spider, urlserver: UrlServer, settings: Settings, clock: Clock
    ) -> None:
        self._spider = spider
        self._urlserver = urlserver
        self._max_bytes = settings.urlserver.robots_max_bytes
        self._max_age = settings.urlserver.robots_max_age_seconds
        self._joiner = Joiner(settings.url)
        self._clock = clock
        self._out: dict[int, FetchRobots] = {}
        self._records: list[RobotsRecord] = []
        self._sitemaps: list[str] = []
        self._naming: list[RobotsRecord] = []
        """Those that name these sitemaps."""

    @property
    def out(self) -> int:
        """How many requests are out."""
        return len(self._out)

    @property
    def has_news(self) -> bool:
        """Whether something is to be stored."""
        return bool(self._records)

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._out)

    def ask(self, need: FetchRobots) -> None:
        """Fetch a robots.txt now."""
        self._out[need.trans_id] = need
        self._spider.start(
            Visit(
                need.trans_id,
                0,
                need.address,
                need.url,
                kind=int(Kind.ROBOTS),
                report_start=need.report_start,
                manner=Manner(proxy=need.proxy) if need.proxy else None,
            )
        )

    def fetched(self, fetch: Fetch, now: float) -> None:
        """Hand an answer to the URL server and note what is to be remembered of it."""
        need = self._out.pop(fetch.visit.trans_id, None)
        if need is None:
            return
        answer = answer_of(fetch, self._max_bytes)
        rules = self._urlserver.robots_answer(need.authority, answer, now)
        # What was heard through a proxy, or for another name, is not kept: it would count for all.
        if rules is not None and not need.proxy and not need.for_agent:
            self._note(need.authority, answer, rules, now)

    def forget(self) -> None:
        """Expect no more answers."""
        self._out.clear()

    def records(self) -> list[RobotsRecord]:
        """Return what is to be stored since the last call."""
        records, self._records = self._records, []
        return records

    def sitemaps(self) -> tuple[list[str], list[RobotsRecord]]:
        """Return the sitemaps named since the last call, and what to `keep` when they are known.

        Were it kept before, a run that ends in between would leave them unknown: the next one has
        no reason to ask for that robots.txt.
        """
        named = self._sitemaps, self._naming
        self._sitemaps, self._naming = [], []
        return named

    def keep(self, records: Iterable[RobotsRecord]) -> None:
        """Have these stored, too."""
        self._records += records

    def recall(self, record: RobotsRecord, now: float) -> None:
        """Give the URL server a robots.txt of an earlier run."""
        wall = self._clock.time()
        age = wall - record.fetched_at
        if age < 0:
            # The clock was set back since: nobody knows how old it is.
            age = float(self._max_age)
        since = record.unreachable_since
        self._urlserver.restore_robots(
            record.authority,
            RobotsAnswer(Outcome(record.outcome), record.status, record.body, detail=record.detail),
            age_seconds=age,
            now=now,
            unreachable_seconds=None if since is None else max(0.0, wall - since),
        )

    def _note(self, authority: str, answer: RobotsAnswer, rules: RobotsRules, now: float) -> None:
        # The protocol wants whole URLs; many sites write a path.
        joined = self._joiner.join_all(f"{authority}/", rules.sitemaps)
        named = [url for url in joined if url is not None]
        self._sitemaps += named
        if rules.failures and rules.state is not RobotsState.UNREACHABLE:
            # The last good copy is in use, and it is what the catalog has.
            return
        wall = self._clock.time()
        since = rules.unreachable_since
        (self._naming if named else self._records).append(
            RobotsRecord(
                authority=authority,
                fetched_at=wall,
                expires_at=wall + min(rules.expires_at - now, 86_400.0),
                status=answer.status,
                outcome=int(answer.outcome),
                body=answer.body,
                crawl_delay=rules.crawl_delay or None,
                unreachable_since=None if since is None else wall - (now - since),
                failures=rules.failures,
                detail=rules.detail,
            )
        )


def answer_of(fetch: Fetch, max_bytes: int) -> RobotsAnswer:
    """Return what a fetch of a robots.txt tells, of which so many bytes are used."""
    return RobotsAnswer(
        fetch.outcome,
        fetch.status,
        # One byte more than is used shows that there was more.
        fetch.body[: max_bytes + 1],
        fetch.header("location"),
        fetch.sent_at,
        fetch.retry_after_seconds,
        fetch.detail,
    )


def robots_spider_settings(settings: Settings) -> SpiderSettings:
    """Return the spider's settings with the size limit of robots.txt."""
    limit = settings.urlserver.robots_max_bytes + 1
    return replace(settings.spider, max_doc_bytes=limit, max_wire_bytes=limit)
