"""What the outcome of one request means for its host: 429, 503, time-outs, refusals, success."""

from collections.abc import Callable
from typing import Final, NamedTuple

from gossamer.messages import Done
from gossamer.outcomes import HOST_TO_BLAME, RULES, Outcome, State
from gossamer.urlserver.exits import Exits, untried
from gossamer.urlserver.host import Address, Host, Order, Slot
from gossamer.urlserver.hosts import HostTable
from gossamer.urlserver.pace import Pace

# Failures in a row after which what is queued for the same authority ends without being tried.
DEAD_AFTER: Final = 5
_RETRY_AFTER_AT_LEAST: Final = 1.0
_RETRY_AFTER_AT_MOST: Final = 3_600.0
_HEALTHY: Final = frozenset(outcome for outcome, rule in RULES.items() if rule.final is State.DONE)
_OTHER_ADDRESS_MAY_HELP: Final = frozenset(
    {Outcome.NET_REFUSED, Outcome.NET_UNREACHABLE, Outcome.NET_TIMEOUT_CONNECT}
)


class Ending(NamedTuple):
    """How a request ended, as far as it concerns its host."""

    host: Host
    address: Address | None
    """Where it went; None when that is not known any more."""
    dispatched_at: float
    sent_at: float
    outcome: Outcome
    retry_after_seconds: float | None = None
    authority: str = ""
    """Whose URLs end too when the host turns out to be dead; empty for a robots.txt."""


class Troubles:
    """Lets outcomes count for hosts."""

    def __init__(
        self,
        pace: Pace,
        hosts: HostTable,
        exits: Exits,
        shrunk: Callable[[Slot | None, float], None],
        look_again: Callable[[Host], None],
    ) -> None:
        self._pace = pace
        self._hosts = hosts
        self._exits = exits
        self._shrunk = shrunk
        self._look_again = look_again

    def judge_order(self, order: Order, authority: str, done: Done, now: float) -> bool:
        """Let the outcome of an order count for its host, unless only a proxy is to blame."""
        if not done.status and _goes_through_proxy(order):
            # Only what the server itself has said tells how it is.
            return False
        ending = Ending(
            order.host,
            order.address,
            order.dispatched_at,
            min(done.sent_at, now),
            Outcome(done.outcome),
            done.retry_after_seconds,
            authority,
        )
        return self.judge(ending, now)

    def judge_errand(self, order: Order, done: Done, now: float) -> bool:
        """Let the outcome of a robots.txt count for its host."""
        return self.judge_order(order, "", done, now)

    def judge(self, ending: Ending, now: float) -> bool:
        """Let an outcome count for its host; return whether another address is tried instead."""
        host, outcome = ending.host, ending.outcome
        if blames_host(outcome):
            if _other_address_may_help(ending):
                self._turn_to_next_address(host)
                return True
            fail(ending, self._pace, now)
            if outcome in _OTHER_ADDRESS_MAY_HELP:
                self._look_again(host)
            if ending.authority and _is_dead(host, outcome):
                self._bury(ending, now)
            self._hosts.changed(host)
        elif outcome in _HEALTHY and (host.strikes or host.failed_addresses):
            _recover(ending, self._pace)
            self._hosts.changed(host)
        return False

    def _bury(self, ending: Ending, now: float) -> None:
        """Let what is queued for the same authority end the same way without being tried."""
        host, authority, outcome = ending.host, ending.authority, ending.outcome
        host.dead[authority] = (outcome, now + self._pace.max_back_off)
        self._exits.end_queued(host, outcome, untried(authority), authority=authority)
        self._shrunk(host.slot, now)

    def _turn_to_next_address(self, host: Host) -> None:
        assert host.address is not None
        host.failed_addresses += 1
        name = host.address.name
        position = host.addresses.index(name) if name in host.addresses else -1
        self._hosts.locate(host, host.addresses[(position + 1) % len(host.addresses)])


def blames_host(outcome: Outcome) -> bool:
    """Return whether an outcome slows or parks the whole host."""
    return outcome in HOST_TO_BLAME


def _goes_through_proxy(order: Order) -> bool:
    if order.authority is not None:
        return bool(order.authority.proxy)
    return order.due is not None and order.due.manner is not None and bool(order.due.manner.proxy)


def _other_address_may_help(ending: Ending) -> bool:
    """Return whether the host has an address that has not failed since the last success."""
    host = ending.host
    return (
        ending.outcome in _OTHER_ADDRESS_MAY_HELP
        and host.address is not None
        and ending.address is host.address
        and host.failed_addresses + 1 < len(host.addresses)
    )


def fail(ending: Ending, pace: Pace, now: float) -> None:
    """Slow or park a host after an outcome that blames it."""
    host, rule = ending.host, RULES[ending.outcome]
    # Requests that were out together fail together: that is one failure, not one for each.
    if ending.dispatched_at > host.struck_at:
        host.strikes += 1
        host.struck_at = now
        host.set_pace(pace)
    host.hold_until(now + host.gap)
    retry_after = ending.retry_after_seconds
    if retry_after is not None:
        wait = min(max(retry_after, _RETRY_AFTER_AT_LEAST), _RETRY_AFTER_AT_MOST)
        host.hold_until(now + min(wait, pace.max_back_off))
    host.parked = ending.outcome if rule.parks_host else None
    # Its place in the ready heap was for an earlier moment.
    host.ticket = 0


def _is_dead(host: Host, outcome: Outcome) -> bool:
    """Return whether every further URL of the same authority would end the same way."""
    rule = RULES[outcome]
    return rule.parks_host and (rule.tries == 1 or host.strikes >= DEAD_AFTER)


def _recover(ending: Ending, pace: Pace) -> None:
    """Forget a host's failures once a request that went out after the last of them succeeds."""
    host = ending.host
    host.failed_addresses = 0
    host.looks_again = False
    if not host.strikes or ending.dispatched_at <= host.struck_at:
        return
    host.strikes = 0
    host.parked = None
    host.dead.clear()
    host.set_pace(pace)
    host.next_at = max(ending.sent_at, ending.dispatched_at) + host.gap
