"""Which host names to ask for, and what an answer or its absence means (A19, N07 to N09)."""

from heapq import heappop, heappush
from typing import Final

from gossamer.config.urlserver import UrlServerSettings
from gossamer.outcomes import Outcome
from gossamer.urlserver.host import Host
from gossamer.urlserver.requests import Resolve
from gossamer.urlserver.resolution import Resolution

_SOFT: Final = frozenset({Outcome.DNS_SERVFAIL, Outcome.DNS_TIMEOUT, Outcome.DNS_BAD})
_AT_LEAST_SECONDS: Final = 1.0


class NameDesk:
    """Asks once for each host; tells a name that fails from name servers that do not answer at all.

    When no name server answers anybody, hosts are not to blame: they wait, with growing pauses, and
    all of them ask again as soon as one gets an answer.
    """

    def __init__(self, settings: UrlServerSettings) -> None:
        self._settings = settings
        self._questions: list[Resolve] = []
        self._second_looks: list[Resolve] = []
        self._later: list[tuple[float, int, Host]] = []
        self._number = 0
        self._silent_hosts: set[Host] = set()
        self._silent_since: float | None = None
        self._last_silence = 0.0
        self._ever_answered = False

    @property
    def has_questions(self) -> bool:
        """Whether a name is to be asked for."""
        return bool(self._questions)

    @property
    def silent_seconds(self) -> float:
        """How long name servers have not answered anybody."""
        return 0.0 if self._silent_since is None else self._last_silence - self._silent_since

    def questions(self) -> list[Resolve]:
        """Return the names to ask for, each once."""
        questions = self._questions + self._second_looks
        self._questions, self._second_looks = [], []
        return questions

    def look_again(self, host: Host) -> None:
        """Ask once more for a host none of whose addresses answers: it may have moved (B10).

        Nothing waits for this, neither its host nor the loop: an answer without addresses, and
        none at all, leave everything as it is. Once only, until the host answers again.
        """
        if not host.looks_again:
            host.looks_again = True
            self._second_looks.append(Resolve(host.name, again=True))

    def ask(self, host: Host, now: float) -> Resolution | None:
        """Ask for a host unless that is under way; return the failure that is remembered of it."""
        if host.no_name is not None:
            if now < host.no_name.expires_at:
                return host.no_name
            host.no_name = None
        if host.asked_at is None:
            host.asked_at = now
            self._questions.append(Resolve(host.name))
        return None

    def answered(self, host: Host, resolution: Resolution, now: float) -> list[Host]:
        """Note an answer on its host; return hosts that may ask again because of it."""
        if host.asked_at is None and not resolution.addresses:
            return []
        asked_at = host.asked_at if host.asked_at is not None else now
        host.asked_at = None
        if resolution.outcome is Outcome.DNS_TIMEOUT:
            self._timed_out(host, resolution, asked_at, now)
            return []
        again = self._not_silent()
        if resolution.outcome is None and resolution.addresses:
            host.attempts = 0
            host.no_name = None
            host.addresses = resolution.addresses
            host.failed_addresses = 0
            host.answered_at = now
            host.fresh_until = max(resolution.expires_at, now + _AT_LEAST_SECONDS)
        else:
            self._failed(host, resolution, now)
        return again

    def _failed(self, host: Host, resolution: Resolution, now: float) -> None:
        outcome = resolution.outcome or Outcome.DNS_NODATA
        known_until = host.answered_at + self._settings.dns_max_ttl_seconds
        pause = max(self._settings.dns_negative_ttl_seconds, _AT_LEAST_SECONDS)
        if outcome in _SOFT and host.addresses and now < known_until:
            host.fresh_until = min(now + pause, known_until)
            return
        until = max(resolution.expires_at, now + _AT_LEAST_SECONDS)
        host.no_name = Resolution((), until, outcome, resolution.detail)

    def _timed_out(self, host: Host, resolution: Resolution, asked_at: float, now: float) -> None:
        if self._silent_since is None:
            self._silent_since = asked_at
        self._last_silence = now
        self._silent_hosts.add(host)
        known_until = host.answered_at + self._settings.dns_max_ttl_seconds
        is_known = bool(host.addresses) and now < known_until
        is_alone = self._ever_answered and len(self._silent_hosts) < 2
        if is_known or is_alone:
            self._failed(host, resolution, now)
        else:
            host.attempts += 1
            wait = self._settings.retry_soon_seconds * 2.0 ** min(host.attempts - 1, 30)
            wait = min(max(wait, _AT_LEAST_SECONDS), self._settings.max_back_off_seconds)
            # Not to be asked for before its turn comes.
            host.asked_at = now
            self._number += 1
            heappush(self._later, (now + wait, self._number, host))

    def _not_silent(self) -> list[Host]:
        self._ever_answered = True
        self._silent_since = None
        self._silent_hosts.clear()
        if not self._later:
            return []
        again = [host for _, _, host in self._later]
        self._later.clear()
        for host in again:
            host.asked_at = None
        return again

    def is_due(self, now: float) -> bool:
        """Whether a host has waited long enough to ask again."""
        return bool(self._later) and self._later[0][0] <= now

    def due(self, now: float) -> list[Host]:
        """Return the hosts that may ask again."""
        again = []
        while self._later and self._later[0][0] <= now:
            host = heappop(self._later)[2]
            host.asked_at = None
            again.append(host)
        return again

    def next_at(self) -> float | None:
        """Return when the next host may ask again."""
        return self._later[0][0] if self._later else None
