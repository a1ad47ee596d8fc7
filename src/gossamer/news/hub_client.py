"""The one request that is no visit: a form, posted to a hub.

The spider fetches documents and knows no POST. This is as much of a client as a hub needs, under
the rules of every fetch: each address must pass the policy, which is asked again when the socket is
opened; ports, time and bytes are limited; nothing of the environment counts.
"""

import select
from collections.abc import Mapping
from typing import Any, Final, Self
from urllib.parse import urlencode

import pycurl
from msgspec import Struct

from gossamer.clock import Clock
from gossamer.config.settings import Settings
from gossamer.crawl.names import Names, own_addresses
from gossamer.outcomes import Outcome
from gossamer.spider.classify import retry_after_seconds
from gossamer.spider.sockets import Handover
from gossamer.spider.trust import Trust
from gossamer.url.address import AddressPolicy, port_refusal
from gossamer.url.canonical import Joiner, canonicalize, host_of, port_of
from gossamer.urlserver.dns import Resolver
from gossamer.urlserver.resolution import Resolution

_MAX_HOPS: Final = 3
_MAX_ANSWER_BYTES: Final = 4_096
_GLANCE_MS: Final = 200
# With these a form is posted again, as it was, where they lead.
_KEEP_METHOD: Final = (307, 308)


class HubAnswer(Struct, frozen=True):
    """What a hub said."""

    status: int
    """0: nothing."""
    detail: str = ""
    retry_after_seconds: float | None = None

    @property
    def accepted(self) -> bool:
        """Whether the hub took the form; whether it does what it says is another matter."""
        return 200 <= self.status < 300


class _Reply(Struct):
    """An answer as it comes in."""

    status: int = 0
    location: str = ""
    retry_after: str | None = None
    text: bytes = b""
    head_bytes: int = 0
    error: str = ""


class HubClient:
    """Posts forms, one at a time."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._trust = Trust(settings.spider)
        self._policy = AddressPolicy(settings.url, own_addresses=own_addresses())
        self._resolver = Resolver(settings.urlserver)
        self._joiner = Joiner(settings.url)
        # No hub was named by the user: a feed has named it. So all must be at public addresses.
        self._names = Names(
            self._resolver,
            self._policy,
            (),
            lambda _: None,
            proxied=bool(settings.spider.proxy),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what was opened."""
        self._resolver.close()
        self._trust.close()

    def post(self, hub: str, form: Mapping[str, str]) -> HubAnswer:
        """Post a form, also where the hub redirects it; never raises for what a hub does."""
        url = canonicalize(hub, self._settings.url)
        if url is None:
            return HubAnswer(400, "the hub has no URL that can be asked")
        for _ in range(_MAX_HOPS + 1):
            reply = self._ask(url, form)
            if isinstance(reply, HubAnswer):
                return reply
            target = self._joiner.join(url, reply.location) if reply.location else None
            if reply.status not in _KEEP_METHOD or target is None:
                return self._answer(reply)
            if url.startswith("https://") and not target.startswith("https://"):
                return HubAnswer(400, "the hub leads from https to http, where all could listen")
            url = target
        return HubAnswer(400, f"the hub redirects more than {_MAX_HOPS} times")

    def _ask(self, url: str, form: Mapping[str, str]) -> _Reply | HubAnswer:
        refusal = port_refusal(port_of(url), self._settings.spider.allowed_ports)
        if refusal is not None:
            return HubAnswer(400, refusal)
        found = self._resolved(host_of(url))
        if not found.addresses:
            forbidden = found.outcome is Outcome.POLICY_PRIVATE_ADDRESS
            return HubAnswer(400 if forbidden else 0, found.detail)
        return self._transfer(url, found.addresses[0], form)

    def _resolved(self, host: str) -> Resolution:
        """Return addresses that may be connected to, or the reason why there are none."""
        self._names.ask(host)
        poller = select.poll()
        poller.register(self._resolver.fileno(), select.POLLIN)
        # The resolver answers every question in its time, if only that it got no answer.
        while self._names.busy:
            poller.poll(_GLANCE_MS)
            self._names.listen()
        return dict(self._names.answers())[host]

    def _transfer(self, url: str, address: str, form: Mapping[str, str]) -> _Reply:
        reply = _Reply()
        handle = pycurl.Curl()
        try:
            self._configure(handle, url, address, reply)
            handle.setopt(pycurl.POSTFIELDS, urlencode(form))
            handle.perform()
        except pycurl.error as error:
            # An answer that we stopped reading is an answer.
            if not reply.status or error.args[0] != pycurl.E_WRITE_ERROR:
                reply.status = 0
                reply.error = reply.error or str(error.args[-1])
        finally:
            handle.close()
        return reply

    def _configure(self, handle: pycurl.Curl, url: str, address: str, reply: _Reply) -> None:
        spider = self._settings.spider
        target = f"[{address}]" if ":" in address else address
        options: dict[int, Any] = {
            pycurl.URL: url,
            pycurl.USERAGENT: spider.user_agent,
            # A form is small: no hub need be asked whether it wants it.
            pycurl.HTTPHEADER: ["Expect:"],
            pycurl.HEADERFUNCTION: lambda line: self._take_line(reply, line),
            pycurl.WRITEFUNCTION: lambda piece: _take_text(reply, piece),
            pycurl.OPENSOCKETFUNCTION: lambda _, end: self._open_socket(url, reply, end),
            pycurl.PROXY: spider.proxy,
            pycurl.NOPROXY: "" if spider.proxy else "*",
            pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
            pycurl.FOLLOWLOCATION: 0,
            pycurl.HTTP09_ALLOWED: 0,
            pycurl.PATH_AS_IS: 1,
            pycurl.NOSIGNAL: 1,
            pycurl.CONNECTTIMEOUT_MS: spider.timeout_connect_ms,
            pycurl.TIMEOUT_MS: spider.timeout_request_ms,
            pycurl.SSL_VERIFYPEER: int(spider.verify_tls),
            pycurl.SSL_VERIFYHOST: 2 if spider.verify_tls else 0,
        }
        for option, value in options.items():
            handle.setopt(option, value)
        if not spider.proxy:
            handle.setopt(pycurl.CONNECT_TO, [f"::{target}:"])
        handle.unsetopt(pycurl.CAPATH)
        if self._trust.path:
            handle.setopt(pycurl.CAINFO, self._trust.path)

    def _open_socket(self, url: str, reply: _Reply, end: Any) -> Any:
        """Open the socket, if the address that libcurl is about to connect to may be used."""
        host, actual = host_of(url), end.addr[0]
        if not self._settings.spider.proxy and not self._policy.allows(host, actual):
            reply.error = f"{actual} may not be connected to for {host}"
            return pycurl.SOCKET_BAD
        try:
            return Handover(end.family, end.socktype, end.protocol)
        except OSError as error:
            reply.error = str(error)
            return pycurl.SOCKET_BAD

    def _take_line(self, reply: _Reply, line: bytes) -> int | None:
        reply.head_bytes += len(line)
        if reply.head_bytes > self._settings.spider.max_header_bytes:
            reply.error = "the hub's header is too long"
            return -1
        text = line.decode("latin-1").strip()
        if text.startswith("HTTP/"):
            word = text.split(" ", 2)[1:2]
            digits = word[0] if word else ""
            reply.status = int(digits) if len(digits) == 3 and digits.isdecimal() else 0
            return None
        name, _, value = text.partition(":")
        if name.lower() == "location":
            reply.location = value.strip()
        elif name.lower() == "retry-after":
            reply.retry_after = value.strip()
        return None

    def _answer(self, reply: _Reply) -> HubAnswer:
        if not reply.status:
            return HubAnswer(0, reply.error or "no answer")
        text = reply.text.decode("utf-8", "replace")
        words = " ".join("".join(each if each.isprintable() else " " for each in text).split())
        wait = reply.retry_after
        return HubAnswer(
            reply.status,
            f"answered {reply.status}" + (f": {words[:200]}" if words else ""),
            None if wait is None else retry_after_seconds(wait, self._clock.time()),
        )


def _take_text(reply: _Reply, piece: bytes) -> int:
    """Keep the beginning, for people, and end a transfer that goes on and on."""
    reply.text += piece[: _MAX_ANSWER_BYTES - len(reply.text)]
    return len(piece) if len(reply.text) < _MAX_ANSWER_BYTES else 0
