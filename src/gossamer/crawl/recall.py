"""What earlier runs knew of hosts, given to the URL server when URLs of theirs come up again.

Politeness survives a restart: the stored moment before which a host may not be asked counts, and
where the last run did not end by itself, a request may have gone out after that was stored, so
each host is owed its whole interval from the start of this run: the stored one, or the one that its
URLs ask for, since that request may have been the first. It is owed as well where the clocks do not
agree on how long ago the last run ended. robots.txt files are used as long as they are fresh.
What findings tell of hosts in trouble, and no clock that was stored, counts as well (`struck`).
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gossamer.catalog.catalog import Catalog, HostClock, Recovery, RobotsRecord
from gossamer.clock import Clock
from gossamer.config.urlserver import UrlServerSettings
from gossamer.crawl.robots import RobotsDesk
from gossamer.messages import Due, Findings
from gossamer.outcomes import Outcome, name_of, outcome_named
from gossamer.url.parts import authority_of
from gossamer.urlserver.host import Host
from gossamer.urlserver.pace import pace_of
from gossamer.urlserver.trouble import Ending, blames_host, fail
from gossamer.urlserver.urlserver import HostClock as Pace
from gossamer.urlserver.urlserver import UrlServer

_MAX_REMEMBERED: Final = 10_000
_CLOCKS: Final = "clocks"
_AGREEMENT_SECONDS: Final = 0.01


class Recalled(Struct, frozen=True):
    """What the catalog knows of hosts that have come up."""

    clocks: list[HostClock]
    robots: list[RobotsRecord]


class Recall:
    """Looks hosts and authorities up once, in the writer's thread; applies in the coordinator's."""

    def __init__(
        self,
        settings: UrlServerSettings,
        began: float,
        began_wall: float,
        *,
        owed: bool,
    ) -> None:
        """`owed`: see `is_owed`."""
        self._gap = 1.0 / settings.host_per_second if settings.host_per_second else 0.0
        self._owed = owed
        self._began = began
        self._began_wall = began_wall
        self._seen: OrderedDict[str, None] = OrderedDict()

    def read(self, catalog: Catalog, batch: Sequence[Due]) -> Recalled:
        """Return what is stored about the hosts of a batch that have not come up before."""
        recalled = Recalled([], [])
        wanted = _wanted_delays(batch)
        for host in dict.fromkeys([due.host for due in batch]):
            if self._is_new(host):
                clock = catalog.host_clock(host)
                if clock is not None:
                    delay = max(clock.delay_seconds, wanted.get(host, 0.0))
                    recalled.clocks.append(replace(clock, delay_seconds=delay))
        for authority in dict.fromkeys([authority_of(due.url) for due in batch]):
            if self._is_new(authority):
                record = catalog.robots(authority)
                if record is not None:
                    recalled.robots.append(record)
        return recalled

    def apply(self, recalled: Recalled, urlserver: UrlServer, desk: RobotsDesk, now: float) -> None:
        """Tell the URL server."""
        for record in recalled.robots:
            desk.recall(record, now)
        wall = self._began_wall + (now - self._began)
        for clock in recalled.clocks:
            wait = max(clock.next_allowed_at, clock.parked_until) - wall
            if self._owed:
                interval = max(self._gap, clock.delay_seconds)
                wait = max(wait, self._began + interval - now)
            if wait > 0 or clock.failures_in_a_row:
                urlserver.restore(
                    clock.host,
                    now,
                    next_allowed_seconds=max(wait, 0.0),
                    strikes=clock.failures_in_a_row,
                    parked=outcome_named(clock.parked_reason) if clock.parked_reason else None,
                    address=clock.address,
                )

    def _is_new(self, name: str) -> bool:
        if name in self._seen:
            self._seen.move_to_end(name)
            return False
        self._seen[name] = None
        if len(self._seen) > _MAX_REMEMBERED:
            self._seen.popitem(last=False)
        return True


def end_run(catalog: Catalog, clock: Clock) -> None:
    """Mark the stop as clean, and note what the clocks show."""
    wall = clock.time()
    catalog.put_note(_CLOCKS, f"{wall} {clock.monotonic()}")
    catalog.end_run(wall)


def is_owed(catalog: Catalog, recovery: Recovery, clock: Clock) -> bool:
    """Whether hosts may have been asked later than their stored times say.

    A wall clock that was set forward since shows that more time has passed than did; the other
    clock cannot be set, but it begins anew with the machine, and rests while that sleeps.
    """
    if not recovery.clean or recovery.run_id == 1:
        return not recovery.clean
    wall, _, monotonic = (catalog.note(_CLOCKS) or "").partition(" ")
    if not monotonic:
        return True
    by_wall, by_monotonic = clock.time() - float(wall), clock.monotonic() - float(monotonic)
    return by_monotonic < 0 or by_wall > by_monotonic + _AGREEMENT_SECONDS


def struck(
    catalog: Catalog, left: Sequence[Findings], settings: UrlServerSettings
) -> list[HostClock]:
    """Return the clocks of hosts that were in trouble when a run was killed.

    `left`: what it had found and not committed, in order; clocks are stored with that. By the wall,
    whose times are those of findings.
    """
    # What the servers themselves have said: time-outs and the like may be a proxy's.
    blaming = [each for each in left if each.status and blames_host(Outcome(each.outcome))]
    dues = catalog.dues(each.doc_id for each in blaming) if blaming else {}
    pace = pace_of(settings)
    hosts: dict[str, Host] = {}
    for each in blaming:
        due = dues.get(each.doc_id)
        if due is None:
            continue  # It was committed after all, and its host's clock with it.
        host = hosts.get(due.host)
        if host is None:
            host = hosts[due.host] = Host(due.host, pace)
            known = catalog.host_clock(due.host)
            host.strikes = 0 if known is None else known.failures_in_a_row
        ending = Ending(
            host,
            None,
            dispatched_at=each.fetched_at,
            sent_at=each.fetched_at,
            outcome=Outcome(each.outcome),
            retry_after_seconds=each.retry_after_seconds,
        )
        fail(ending, pace, each.fetched_at + each.milliseconds / 1_000)
    return [_held(catalog.host_clock(name), host) for name, host in hosts.items()]


def _held(known: HostClock | None, host: Host) -> HostClock:
    """Return the clock of a host that has failed since it was stored."""
    before = known or HostClock(host=host.name)
    return replace(
        before,
        next_allowed_at=max(before.next_allowed_at, host.next_at),
        delay_seconds=max(before.delay_seconds, host.gap),
        failures_in_a_row=host.strikes,
        parked_reason=_reason(host.parked),
    )


def _wanted_delays(batch: Iterable[Due]) -> dict[str, float]:
    """Return the longest interval that URLs of each host ask for."""
    delays: dict[str, float] = {}
    for due in batch:
        if due.manner is not None:
            delays[due.host] = max(delays.get(due.host, 0.0), due.manner.delay_ms / 1_000)
    return delays


def stored_clocks(paces: Iterable[Pace], wall: float) -> list[HostClock]:
    """Return the URL server's clocks as the catalog keeps them."""
    return [
        HostClock(
            host=pace.host,
            next_allowed_at=wall + pace.next_allowed_seconds,
            delay_seconds=pace.gap_seconds,
            address=pace.address,
            failures_in_a_row=pace.strikes,
            parked_reason=_reason(pace.parked),
        )
        for pace in paces
    ]


def _reason(parked: Outcome | None) -> str:
    return "" if parked is None else name_of(parked)
