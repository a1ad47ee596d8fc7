"""What robots.txt says of redirects that are followed in place.

Theory of operation. What a URL Server orders has passed its rules; where a redirect leads has not.
So before the first hop to a scheme, host and port its robots.txt is asked for: by the order that
came to need it first, while others that need it wait for the same answer. Whatever the answer
leaves open is left to the URL Server, which has more means: it follows redirects of a robots.txt
and keeps copies for when it cannot be read. A redirect that is not followed is only reported.
"""

from collections import OrderedDict
from collections.abc import Set as AbstractSet
from typing import Final

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.crawl.robots import answer_of
from gossamer.messages import Fetch
from gossamer.outcomes import Outcome
from gossamer.url.parts import authority_of, host_of
from gossamer.urlserver.robots import (
    RobotsAnswer,
    RobotsRules,
    RobotsState,
    decide,
    ignored,
    reason_to_ignore,
)

_MOST_AUTHORITIES: Final = 10_000
_MOST_CHARACTERS: Final = 64 << 20


def robots_url(url: str) -> str:
    """Return where the robots.txt is that counts for a URL."""
    return f"{authority_of(url)}/robots.txt"


class HopRobots:
    """The rules by authority, and who waits for them; the caller fetches and is told the time."""

    def __init__(self, settings: Settings) -> None:
        # Never read, never allowed: the URL Server may have a copy that says otherwise.
        self._settings = replace(settings.urlserver, robots_unreachable_means_allow=False)
        self._agent = settings.spider.robots_agent
        self._known: OrderedDict[str, RobotsRules] = OrderedDict()
        self._characters = 0
        self._waiting: dict[str, list[int]] = {}
        """Tickets by authority; the first is the one that asks."""

    def known(self, url: str, now: float) -> RobotsRules | None:
        """Return the rules that count for a URL; None if they have to be asked for."""
        reason = reason_to_ignore(self._settings.robots_ignore, host_of(url))
        if reason is not None:
            return ignored(reason)
        authority = authority_of(url)
        rules = self._known.get(authority)
        if rules is None or now >= rules.expires_at:
            return None
        self._known.move_to_end(authority)
        return rules

    def wait(self, ticket: int, url: str) -> bool:
        """Let a transaction wait for the rules of a URL; whether it has to ask for them itself."""
        tickets = self._waiting.setdefault(authority_of(url), [])
        tickets.append(ticket)
        return len(tickets) == 1

    def answered(self, fetch: Fetch, now: float) -> list[int]:
        """Take in a robots.txt; return who has waited for it."""
        authority = authority_of(fetch.visit.url)
        earlier = self._known.get(authority)
        if earlier is not None and earlier.state is not RobotsState.UNREACHABLE:
            # An old copy must not stand in; failures in a row are counted, though.
            earlier = None
        rules = decide(
            self._answer(fetch),
            agents=(self._agent,),
            settings=self._settings,
            earlier=earlier,
            now=now,
        )
        self._keep(authority, rules)
        return self.abandon(fetch.visit.url)

    def abandon(self, url: str) -> list[int]:
        """Let nobody wait any longer for the rules of a URL; return who did."""
        return self._waiting.pop(authority_of(url), [])

    def drop(self, tickets: AbstractSet[int]) -> list[int]:
        """Forget transactions; return those that waited for what one of them was to ask for."""
        orphans: list[int] = []
        for authority, waiting in list(self._waiting.items()):
            left = [ticket for ticket in waiting if ticket not in tickets]
            if waiting[0] in tickets:
                del self._waiting[authority]
                orphans += left
            else:
                self._waiting[authority] = left
        return orphans

    def _answer(self, fetch: Fetch) -> RobotsAnswer:
        limit = self._settings.robots_max_bytes
        answer = answer_of(fetch, limit)
        if answer.outcome is Outcome.BODY_TOO_LARGE and len(answer.body) < limit:
            # Cut by a limit for documents: the rest may hold the line that forbids.
            return replace(answer, outcome=Outcome.BODY_SHORT)
        return answer

    def _keep(self, authority: str, rules: RobotsRules) -> None:
        """Remember rules; those that were not needed for longest make room."""
        self._characters += _characters(rules) - _characters(self._known.pop(authority, None))
        self._known[authority] = rules
        while len(self._known) > 1 and (
            len(self._known) > _MOST_AUTHORITIES or self._characters > _MOST_CHARACTERS
        ):
            self._characters -= _characters(self._known.popitem(last=False)[1])


def _characters(rules: RobotsRules | None) -> int:
    if rules is None:
        return 0
    size = sum(map(len, rules.sitemaps))
    return size if rules.rules is None else size + rules.rules.characters
