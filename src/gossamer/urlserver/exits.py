"""How URLs leave without a fetch: they end here, or go back to the catalog untried."""

from typing import Final

from gossamer.messages import Due
from gossamer.outcomes import Outcome
from gossamer.urlserver.host import Host
from gossamer.urlserver.requests import Ended, Returned
from gossamer.urlserver.robots import RobotsRules, RobotsState
from gossamer.urlserver.slots import SlotTable

NOT_TRIED: Final = "not tried: "
"""So begins what is said of a URL that ended because others of its authority had failed."""


def untried(authority: str) -> str:
    """Say why a URL of this authority was not asked for."""
    return f"{NOT_TRIED}{authority} failed before"


class Exits:
    """Collects what the caller is to fetch with `verdicts` and `returned`."""

    def __init__(self, table: SlotTable) -> None:
        self._table = table
        self.ended: list[Ended] = []
        self.returned: list[Returned] = []

    def __bool__(self) -> bool:
        return bool(self.ended or self.returned)

    def take_ended(self) -> list[Ended]:
        """Return and forget what ended."""
        ended, self.ended = self.ended, []
        return ended

    def take_returned(self) -> list[Returned]:
        """Return and forget what goes back."""
        returned, self.returned = self.returned, []
        return returned

    def forbid(self, due: Due, rules: RobotsRules, now: float) -> None:
        """End a URL that robots.txt does not let pass."""
        if rules.state is RobotsState.UNREACHABLE:
            wait = max(rules.expires_at - now, 0.0)
            outcome = Outcome.POLICY_ROBOTS_UNREACHABLE
            self.ended.append(Ended(due, outcome, rules.detail, wait))
        else:
            self.ended.append(Ended(due, Outcome.POLICY_ROBOTS, "disallowed by robots.txt"))

    def end_if_dead(self, due: Due, authority: str, host: Host, now: float) -> bool:
        """End a URL whose authority has failed for good, as long as that is remembered."""
        death = host.dead.get(authority)
        if death is None:
            return False
        outcome, until = death
        if now >= until:
            del host.dead[authority]
            return False
        self.ended.append(Ended(due, outcome, untried(authority)))
        return True

    def end_queued(
        self,
        host: Host,
        outcome: Outcome,
        detail: str,
        *,
        authority: str = "",
        retry_after: float | None = None,
        proxy: str = "",
    ) -> None:
        """End what is queued for an authority, as far as it is asked through the same proxy.

        Without an authority all ends that is queued for the host.
        """
        prefix = f"{authority}/" if authority else ""
        kept: list[Due] = []
        for due in self._table.take_all(host):
            if not prefix or (due.url.startswith(prefix) and _proxy_of(due) == proxy):
                self.ended.append(Ended(due, outcome, detail, retry_after))
            else:
                kept.append(due)
        for due in kept:
            self._table.add(host, due)

    def hand_back(self, host: Host, seconds: float) -> None:
        """Give back what is queued for a host that is held for long."""
        self.returned += [Returned(due, seconds) for due in self._table.take_all(host)]


def _proxy_of(due: Due) -> str:
    return "" if due.manner is None else due.manner.proxy
