"""What the outcome of one request means for its host: 429, 503, time-outs, refusals, success."""

from typing import Final

from gossamer.outcomes import RULES, Outcome, State
from gossamer.urlserver.host import Host, Order
from gossamer.urlserver.pace import Pace

# Failures in a row after which what is queued for the same authority ends without being tried.
DEAD_AFTER: Final = 5
_RETRY_AFTER_AT_LEAST: Final = 1.0
_RETRY_AFTER_AT_MOST: Final = 3_600.0
_HEALTHY: Final = frozenset(outcome for outcome, rule in RULES.items() if rule.final is State.DONE)
_OTHER_ADDRESS_MAY_HELP: Final = frozenset(
    {Outcome.NET_REFUSED, Outcome.NET_UNREACHABLE, Outcome.NET_TIMEOUT_CONNECT}
)


def other_address_may_help(host: Host, order: Order, outcome: Outcome) -> bool:
    """Return whether the host has an address that has not failed since the last success."""
    return (
        outcome in _OTHER_ADDRESS_MAY_HELP
        and order.address is host.address
        and host.failed_addresses + 1 < len(host.addresses)
    )


def fail(order: Order, outcome: Outcome, retry_after: float | None, pace: Pace, now: float) -> None:
    """Slow or park a host after an outcome that blames it."""
    host, rule = order.host, RULES[outcome]
    # Requests that were out together fail together: that is one failure, not one for each.
    if order.dispatched_at > host.struck_at:
        host.strikes += 1
        host.struck_at = now
        host.set_pace(pace)
    host.hold_until(now + host.gap)
    if retry_after is not None:
        wait = min(max(retry_after, _RETRY_AFTER_AT_LEAST), _RETRY_AFTER_AT_MOST)
        host.hold_until(now + min(wait, pace.max_back_off))
    host.parked = outcome if rule.parks_host else None
    # Its place in the ready heap was for an earlier moment.
    host.ticket = 0


def is_dead(host: Host, outcome: Outcome) -> bool:
    """Return whether every further URL of the same authority would end the same way."""
    rule = RULES[outcome]
    return rule.parks_host and (rule.tries == 1 or host.strikes >= DEAD_AFTER)


def blames_host(outcome: Outcome) -> bool:
    """Return whether an outcome slows or parks the whole host."""
    rule = RULES[outcome]
    return rule.slows_host or rule.parks_host


def is_healthy(outcome: Outcome) -> bool:
    """Return whether an outcome shows that the host does its work."""
    return outcome in _HEALTHY


def recover(host: Host, order: Order, sent_at: float, pace: Pace) -> None:
    """Forget a host's failures once a request that went out after the last of them succeeds."""
    host.failed_addresses = 0
    if not host.strikes or order.dispatched_at <= host.struck_at:
        return
    host.strikes = 0
    host.parked = None
    host.dead.clear()
    host.set_pace(pace)
    host.next_at = max(sent_at, order.dispatched_at) + host.gap
