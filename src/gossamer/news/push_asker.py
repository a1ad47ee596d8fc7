"""Asks hubs: to begin telling us, to go on before the lease ends, to end."""

import secrets
from typing import Final

from gossamer.catalog.pushes import Push
from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.news.hub_client import HubAnswer, HubClient
from gossamer.news.push_desk import PushDesk
from gossamer.news.push_rules import subscription
from gossamer.url.canonical import canonicalize
from gossamer.url.parts import host_of

_AT_ONCE: Final = 20
_TOKEN_BYTES: Final = 32
_LOOK_SECONDS: Final = 60.0
_TROUBLED_SECONDS: Final = 60.0
_MAX_GAP_SECONDS: Final = 60.0


class PushAsker:
    """Asks one hub after the other, each host of hubs no faster than any host is visited."""

    def __init__(self, desk: PushDesk, client: HubClient, settings: Settings, clock: Clock) -> None:
        self._desk = desk
        self._client = client
        self._callback = settings.news.callback_url.rstrip("/")
        self._lease_seconds = settings.news.lease_seconds
        rate = settings.urlserver.host_per_second
        self._gap_seconds = min(1.0 / rate, _MAX_GAP_SECONDS) if rate else 0.0
        self._clock = clock
        self._rests_until: dict[str, float] = {}
        self._hosts: dict[str, str] = {}
        self._look_at = clock.monotonic()

    def round(self) -> int:
        """Ask some of the hubs that are to be asked now; return how many."""
        resting = self._resting()
        asked = 0
        for push in self._desk.due(_AT_ONCE, resting):
            if not self._rests(push.hub):
                self._subscribe(push)
                asked += 1
        if self._clock.monotonic() >= self._look_at:
            left = self._desk.unwanted(_AT_ONCE, resting)
            for push in left:
                if not self._rests(push.hub):
                    self._leave(push)
                    asked += 1
            if not left:
                self._look_at = self._clock.monotonic() + _LOOK_SECONDS
        return asked

    def _subscribe(self, push: Push) -> None:
        # The same callback is a renewal to the hub, another one a second subscription.
        token = push.token or secrets.token_urlsafe(_TOKEN_BYTES)
        secret = push.secret or secrets.token_urlsafe(_TOKEN_BYTES)
        if not self._desk.begin(push, token, secret):
            return
        answer = self._post("subscribe", push, token, secret)
        if not answer.accepted:
            wait = answer.retry_after_seconds
            self._desk.fail(push, token, answer.status, answer.detail, wait)

    def _leave(self, push: Push) -> None:
        """Say good-bye once: a hub that does not hear it finds out when it calls."""
        self._desk.leave(push)
        if push.token:
            self._post("unsubscribe", push, push.token, push.secret)

    def _post(self, mode: str, push: Push, token: str, secret: str) -> HubAnswer:
        callback = f"{self._callback}/{token}"
        form = subscription(mode, push, callback, secret, self._lease_seconds)
        answer = self._client.post(push.hub, form)
        troubled = answer.status in (0, 429) or answer.status >= 500
        rest = self._gap_seconds
        if troubled:
            # What is wrong with the hub is so for all that it is asked.
            rest = max(_TROUBLED_SECONDS, answer.retry_after_seconds or 0.0)
        host = self._host_of(push.hub)
        self._rests_until[host] = self._clock.monotonic() + rest
        self._hosts[push.hub] = host
        return answer

    def _rests(self, hub: str) -> bool:
        return self._rests_until.get(self._host_of(hub), 0.0) > self._clock.monotonic()

    def _resting(self) -> frozenset[str]:
        """Return the hubs that rest, and forget those that do not."""
        now = self._clock.monotonic()
        self._rests_until = {
            host: until for host, until in self._rests_until.items() if until > now
        }
        self._hosts = {hub: host for hub, host in self._hosts.items() if host in self._rests_until}
        return frozenset(self._hosts)

    def _host_of(self, hub: str) -> str:
        known = self._hosts.get(hub)
        if known is not None:
            return known
        url = canonicalize(hub)
        return host_of(url) if url is not None else hub
