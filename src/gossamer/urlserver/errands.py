"""Errands: the requests for robots.txt that a host's URLs wait for.

An errand is sent like an order: it takes its turn, and counts in the limits of its host and of its
address. It is run for an authority, by the host that is to be asked: another one after a redirect.
What answers mean is decided elsewhere (`robots.py`); here is what follows from it.
"""

from collections.abc import Callable, MutableMapping

from msgspec import Struct

from gossamer.config.urlserver import UrlServerSettings
from gossamer.messages import Done
from gossamer.outcomes import PROXY_FAULTS, Outcome
from gossamer.url.parts import host_of
from gossamer.urlserver.authority import Authority
from gossamer.urlserver.exits import Exits
from gossamer.urlserver.host import Address, Host, Order, Slot
from gossamer.urlserver.hosts import HostTable
from gossamer.urlserver.requests import FetchRobots
from gossamer.urlserver.robots import RobotsAnswer, RobotsRules, RobotsState, redirect_target
from gossamer.urlserver.rulebook import Rulebook


class Engine(Struct, frozen=True):
    """What errands need of the engine they are a part of."""

    consider: Callable[[Host, float], None]
    """Let a host that could send something wait for its turn."""
    shrunk: Callable[[Slot | None, float], None]
    """Let leftovers move up after URLs left a queue."""
    judge: Callable[[Order, Done, float], bool]
    """Let an outcome count for the host; True when another address is to be tried instead."""
    renew: Callable[[Address], None]
    """Put an address where it belongs after its state changed."""


class Errands:
    """Sends for robots.txt files, once for each authority, and lets what waited go on."""

    def __init__(
        self,
        settings: UrlServerSettings,
        rulebook: Rulebook,
        hosts: HostTable,
        exits: Exits,
        live: MutableMapping[int, Order],
        address_gap: float,
        engine: Engine,
    ) -> None:
        self._settings = settings
        self._rulebook = rulebook
        self._hosts = hosts
        self._exits = exits
        self._live = live
        self._address_gap = address_gap
        self._engine = engine
        self._number = 0
        self.to_fetch: list[FetchRobots] = []
        """Let through and not handed out yet."""

    def take(self) -> list[FetchRobots]:
        """Return and forget what is to be fetched now."""
        taken, self.to_fetch = self.to_fetch, []
        return taken

    def ask(self, name: str, host: Host) -> bool:
        """Make fetching a robots.txt the next request; return whether it has been set aside."""
        authority = self._rulebook.open(name, host)
        if self._rulebook.set_aside(authority):
            return True
        authority.restart()
        host.awaiting = authority
        host.errands.append(authority)
        return False

    def send(self, authority: Authority, host: Host, address: Address, now: float) -> None:
        """Let the next errand of a host through."""
        self._number -= 1
        order = Order(self._number, host, address, now, now, authority=authority)
        authority.order = order
        order.starts(self._address_gap)
        self._live[order.trans_id] = order
        if order.host_waits:
            self._hosts.changed(host)
        self.to_fetch.append(
            FetchRobots(
                authority.key,
                authority.url,
                host.name,
                address.name,
                order.trans_id,
                order.report_start,
                authority.proxy,
                bool(authority.agent),
            )
        )

    def answered(
        self, authority: Authority, order: Order, answer: RobotsAnswer, now: float
    ) -> RobotsRules | None:
        """Take an answer; return the rules that count now, None when another request is made."""
        del self._live[order.trans_id]
        order.ends(min(answer.sent_at, now), self._address_gap)
        authority.order = None
        done = Done(0, answer.outcome, answer.status, answer.sent_at, answer.retry_after_seconds)
        rules: RobotsRules | None = None
        if self._engine.judge(order, done, now):
            self._run(authority, order.host, now)
        elif (target := redirect_target(authority.url, answer, authority.hops)) is not None:
            authority.url = target
            authority.hops += 1
            self._run(authority, self._hosts.get(host_of(target)), now)
        else:
            rules = self._rule(authority, answer, order, now)
        self._engine.consider(order.host, now)
        self._engine.renew(order.address)
        self._hosts.rest(order.host, now)
        return rules

    def repeat(self, order: Order, now: float) -> None:
        """Send an errand again whose answer got lost; too often is as good as no answer."""
        authority = order.authority
        assert authority is not None
        authority.order = None
        authority.repeats += 1
        if authority.repeats <= self._settings.max_retries:
            self._run(authority, order.host, now)
        else:
            answer = RobotsAnswer(Outcome.NET_TIMEOUT_TOTAL, detail="the fetch got lost")
            self._rule(authority, answer, order, now)
        self._engine.consider(order.host, now)
        self._engine.renew(order.address)

    def fail(self, host: Host, outcome: Outcome, detail: str, now: float) -> None:
        """Answer for a host that cannot be asked for the robots.txt files it is wanted for."""
        errands = list(host.errands)
        host.errands.clear()
        for authority in errands:
            self._rule(authority, RobotsAnswer(outcome, detail=detail), None, now)

    def _run(self, authority: Authority, host: Host, now: float) -> None:
        host.errands.append(authority)
        self._engine.consider(host, now)

    def _rule(
        self, authority: Authority, answer: RobotsAnswer, order: Order | None, now: float
    ) -> RobotsRules:
        """Let rules count from now on, and let what waited for them go on."""
        rules = self._rulebook.learn(authority, answer, now)
        host = authority.host
        if host.awaiting is authority:
            host.awaiting = None
        if order is not None and host.gap:
            # The rules may have brought a Crawl-delay, which counts from this very request.
            host.hold_until(max(min(answer.sent_at, now), order.dispatched_at) + host.gap)
        if rules.state is RobotsState.UNREACHABLE:
            # It is the proxy that was not reached, which may be well the next time.
            is_proxys = bool(authority.proxy and order) and answer.outcome in PROXY_FAULTS
            self._exits.end_queued(
                host,
                answer.outcome if is_proxys else Outcome.POLICY_ROBOTS_UNREACHABLE,
                rules.detail,
                authority=authority.name,
                retry_after=rules.expires_at - now,
                proxy=authority.proxy,
            )
            if is_proxys:
                authority.rules = None
            self._engine.shrunk(host.slot, now)
        self._hosts.changed(host)
        self._engine.consider(host, now)
        return rules
