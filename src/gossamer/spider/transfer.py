"""One libcurl handle and the visit it carries: configured once, used again and again."""

from collections.abc import Callable  # noqa: TC003 - types of this file are read at run time
from errno import EMFILE
from functools import partial
from typing import Any, Final

import pycurl

from gossamer.messages import Fetch, Kind, Visit
from gossamer.outcomes import Outcome
from gossamer.spider.classify import Facts, Verdict, judge, retry_after_seconds
from gossamer.spider.deadlines import Look, Overdue, Progress, Sample, check, first_look, limits_for
from gossamer.spider.decode import Decoded
from gossamer.spider.gate import EDGES, OUTSIDE, Gate
from gossamer.spider.head import Head
from gossamer.spider.lane import Carried
from gossamer.spider.loop import Tap  # noqa: TC001 - types of this file are read at run time, too
from gossamer.spider.mend import Mended
from gossamer.spider.proxies import without_login
from gossamer.spider.reception import Reception
from gossamer.spider.redirect import is_redirect, redirect
from gossamer.spider.relay import Relay
from gossamer.spider.sockets import Handover, bytes_read, bytes_received, is_established, spoil
from gossamer.spider.surroundings import Surroundings, configure
from gossamer.url.canonical import host_of

_MAX_CHUNK_EXTENSION_BYTES: Final = 4_096
_CHUNK_FRAME_BYTES: Final = 32
_URL: Final = pycurl.URL
_ADDRESS: Final = pycurl.PRIMARY_IP
_OK: Final = Outcome.OK
_UNCONNECTED: Final = int(pycurl.SOCKOPT_OK)
_CONNECTED: Final = int(pycurl.SOCKOPT_ALREADY_CONNECTED)
# Codes of libcurl with which a connection ends that was closed meanwhile.
_DEAD: Final = (pycurl.E_GOT_NOTHING, pycurl.E_SEND_ERROR, pycurl.E_RECV_ERROR)
_CHECK: Final = int(Kind.CHECK)
_SITEMAP: Final = int(Kind.SITEMAP)
_UNUSUAL: Final = (_CHECK, _SITEMAP)
_NO_VISIT: Final = Visit(trans_id=0, doc_id=0, address="", url="")


class Transfer:
    """Carries one visit at a time from `begin` to `finish`."""

    __slots__ = (
        "_address",
        "_connecting",
        "_error_number",
        "_had_more",
        "_heads_only",
        "_is_plainly_set",
        "_is_reported",
        "_limits",
        "_mended",
        "_more",
        "_proxy",
        "_reception",
        "_relay",
        "_setopt",
        "_shared",
        "_wire_start",
        "carried",
        "check_at",
        "gate_descriptor",
        "gate_peeked",
        "getinfo",
        "grace",
        "handle",
        "has_lines",
        "is_held",
        "know",
        "pause",
        "report_at",
        "sample",
        "secure",
        "sent_at",
        "started",
        "tap",
        "visit",
        "wall",
    )

    def __init__(self, shared: Surroundings) -> None:
        self._shared = shared
        self._limits = shared.settings
        self._reception = Reception(shared.settings)
        self._address = ""
        self._proxy = ""
        # Header lines of this request beside those that all have; conditions come first.
        self._more: list[str] = []
        self._had_more = False
        self._heads_only = False
        self.has_lines = False
        # Whether the handle asks as for nearly all visits: over plain HTTP, with the usual lines.
        self._is_plainly_set = False
        self._is_reported = False
        self.tap: Tap = (EDGES, shared.gate.look, self)
        self.know: Callable[[Head], None] = self._reception.know
        self.report_at = 0.0
        self.gate_descriptor = OUTSIDE
        self.gate_peeked = 0
        self.carried: Carried | None = None
        self._relay: Relay | None = None
        self._mended: Mended | None = None
        self.sample: Sample | None = None
        self.grace = 0.0
        self.handle = pycurl.Curl()
        # Looking them up anew takes as long as some of them do.
        self._setopt = self.handle.setopt
        self.getinfo: Callable[[int], Any] = self.handle.getinfo
        self.pause: Callable[[int], None] = self.handle.pause
        self._configure(self.handle)
        self.clear()

    def begin(self, visit: Visit, now: float, wall: float) -> None:
        """Prepare the handle for a visit to an http or https URL; the loop starts it."""
        shared = self._shared
        self.visit = visit
        self.started = now
        self.wall = wall
        self.check_at = now + shared.first_look_seconds
        self.report_at = now + shared.report_seconds
        url = visit.url
        self._setopt(_URL, url)
        # Nearly always nothing but the URL makes a visit differ from the last one.
        if not (
            self._is_plainly_set
            and visit.address == self._address
            and visit.manner is None
            and visit.etag is None
            and visit.last_modified is None
            and not visit.tries
            and visit.kind not in _UNUSUAL
            and url[4] == ":"
        ):
            self._set(visit)

    def _set(self, visit: Visit) -> None:
        """Set all of the handle but the URL for a visit."""
        shared, now = self._shared, self.started
        is_sitemap = visit.kind == _SITEMAP
        self._reception.use(shared.sitemap_settings if is_sitemap else shared.settings)
        self._limits = shared.settings
        if visit.manner is not None:
            self._limits = limits_for(visit.manner, shared.settings)
            self.check_at = first_look(now, self._limits)
        self.secure = visit.url.startswith("https")
        self.is_held = not (self.secure or shared.gate.is_open)
        if self.has_lines is self.is_held:
            self._hear_lines(not self.has_lines)
        handle = self.handle
        proxy = "" if visit.manner is None else visit.manner.proxy
        if proxy or self._proxy:
            self._use_proxy(proxy)
        if visit.address != self._address and not shared.settings.proxy:
            self._address = visit.address
            target = f"[{visit.address}]" if ":" in visit.address else visit.address
            # Any host, any port: all go to this address, at the port of the URL.
            handle.setopt(pycurl.CONNECT_TO, [f"::{target}:"])
        if visit.etag is not None or visit.last_modified is not None:
            self._more = shared.form.conditions(visit)
        if visit.tries and shared.cookies:
            cookie = shared.cookies.take(visit.url)
            if cookie:
                self._more.append(f"Cookie: {cookie}")
        if (visit.kind == _CHECK) is not self._heads_only:
            self._heads_only = not self._heads_only
            handle.setopt(pycurl.NOBODY, int(self._heads_only))
            if not self._heads_only:
                handle.setopt(pycurl.HTTPGET, 1)
        own = None
        if visit.manner is not None or not shared.form.is_uniform:
            own = shared.form.lines_for(visit)
        if self._more or self._had_more or own is not None:
            self._had_more = bool(self._more) or own is not None
            handle.setopt(pycurl.HTTPHEADER, (own or shared.form.lines) + self._more)
        self._is_plainly_set = (
            self.is_held
            and shared.form.is_uniform
            and not (self._had_more or self._heads_only or is_sitemap)
            and self._limits is shared.settings
            and not (proxy or shared.settings.proxy)
        )

    def carry_on(self, carried: Carried) -> None:
        """Use this connection and no other; to be called before the loop starts the handle."""
        self.carried = carried
        self._setopt(pycurl.FRESH_CONNECT, 1)

    def is_to_begin_anew(self, code: int) -> bool:
        """Whether the connection that it was given proved dead before a line came back.

        Of those that it chose libcurl finds that out itself, and takes another.
        """
        return (
            self.carried is not None
            and code in _DEAD
            and self._reception.stopped is None
            and not self.getinfo(pycurl.HEADER_SIZE)
            and not self._reception.received
        )

    def begin_anew(self) -> None:
        """Forget all but the visit and its times; the loop starts it once more."""
        visit, started, wall = self.visit, self.started, self.wall
        kept = self.grace, self.sample, self.check_at, self.report_at, self._is_reported
        self.clear()
        self.begin(visit, started, wall)
        self.grace, self.sample, self.check_at, self.report_at, self._is_reported = kept

    def is_ordinary(self) -> bool:
        """Whether it was asked for as all others, and its head is usual."""
        head = self._reception.whole_head
        return self._is_plainly_set and head is not None and head.is_usual

    def is_movable(self, now: float) -> bool:
        """Whether nobody has to know how it went so far, but for its times; it moves only once."""
        return (
            self._is_plainly_set
            and self.carried is None
            and not self.visit.report_start
            and now < self.check_at
            and now < self.report_at
        )

    def _use_proxy(self, proxy: str) -> None:
        """Ask through a proxy of the order's own, or as all others again.

        A tunnel leads to the address of the visit, and to no other.
        """
        settings = self._shared.settings
        by_name = bool(proxy) and not self.secure and settings.proxy_by_name
        used = proxy or settings.proxy
        self._proxy = proxy
        self.handle.setopt(pycurl.PROXY, used)
        self.handle.setopt(pycurl.NOPROXY, "" if used else "*")
        self.handle.setopt(pycurl.HTTPPROXYTUNNEL, int(bool(proxy) and not by_name))
        # Else libcurl would open a tunnel all the same.
        self.handle.unsetopt(pycurl.CONNECT_TO)
        self._address = self.visit.address if by_name else ""

    def check(self, now: float) -> Overdue | Look:
        """Look whether a deadline has passed."""
        reception = self._reception
        if reception.is_unjudged() and not reception.open_body():
            return Overdue(reception.stopped or Outcome.INTERNAL, reception.stopped_detail)
        started = self.started + self.grace
        progress = Progress(
            started=started,
            connected=is_established(self._connecting),
            requested_at=self.sent_at + self.grace if self.sent_at else 0.0,
            has_head=reception.head().complete,
            received=self._bytes_so_far(),
            secure=self.secure,
        )
        return check(progress, self.sample, now, self._limits)

    def stop(self, outcome: Outcome, detail: str) -> None:
        """Note why we end the transfer ourselves."""
        self._reception.stop(outcome, detail)

    def finish(self, code: int, message: str, now: float) -> Fetch:
        """Return what became of the visit."""
        reception = self._reception
        head = reception.whole_head or reception.head()
        if not code and head.is_usual and reception.stopped is None and not reception.is_cut:
            return self._fetch(head, reception.raw(), _OK, now)
        if code and not self.has_lines:
            read = self.handle.getinfo(pycurl.HEADER_SIZE)
            if read < len(head.raw):
                reception.know_part(read)
                head = reception.head()
        return self._finish_unusual(code, message, head, now)

    def _finish_unusual(self, code: int, message: str, head: Head, now: float) -> Fetch:
        shared, visit = self._shared, self.visit
        raw = self._reception.raw()
        decoded = self._reception.decoded(raw)
        # After a failure to connect libcurl fills in the other times, but not this size.
        is_sent = bool(self.handle.getinfo(pycurl.REQUEST_SIZE))
        verdict = self._judge(code, message, head, decoded, is_sent)
        outcome, detail, target = verdict.outcome, verdict.detail, None
        if outcome is Outcome.OK and is_redirect(head.status, head.locations):
            outcome, target, detail = redirect(
                head.status, head.headers, visit.url, visit.via, shared.settings
            )
            if outcome is Outcome.REDIR_LOOP and not shared.form.has_cookie:
                shared.cookies.keep(visit, head.headers, self.wall)
        if self._is_doubtful(head):
            spoil(self.handle.getinfo(pycurl.ACTIVESOCKET))
        fetch = self._fetch(head, raw, outcome, now, is_sent=is_sent)
        fetch.detail = detail
        fetch.flags = verdict.flags
        fetch.redirect_to = target
        if self._mended is not None:
            fetch.head = self._mended.head
        if decoded is not None:
            fetch.body = decoded.body
        if head.retry_after is not None:
            fetch.retry_after_seconds = retry_after_seconds(head.retry_after, shared.clock.time())
        return fetch

    def _fetch(
        self, head: Head, raw: bytes, outcome: Outcome, now: float, *, is_sent: bool = True
    ) -> Fetch:
        """Return what was asked and what came of it, as far as all fetches have that."""
        visit = self.visit
        request_head = b""
        if is_sent:
            if visit.report_start and not self._is_reported:
                self.sent_at = now
                self.report_sent()
            form = self._shared.form
            if self._is_plainly_set:
                request_head = form.plain_head(visit.url)
            else:
                method = "HEAD" if self._heads_only else "GET"
                own = () if visit.manner is None else visit.manner.headers
                request_head = form.head(visit.url, self._more, head.version, method, own)
        return Fetch(
            visit=visit,
            outcome=outcome,
            status=head.status,
            http_version=head.version,
            request_head=request_head,
            head=head.raw,
            headers=head.headers,
            raw=raw,
            body=raw,
            address=self.getinfo(_ADDRESS),
            fetched_at=self.wall,
            sent_at=self.sent_at if is_sent else 0.0,
            milliseconds=int((now - self.started) * 1000.0),
        )

    def clear(self) -> None:
        """Forget the visit; only once the loop has let go of the handle, which may still speak."""
        if self.gate_descriptor != OUTSIDE:
            self._shared.gate.leave(self)
        self._reception.clear()
        self._more = []
        self._connecting = -1
        self._error_number = 0
        self.sent_at = 0.0
        self._is_reported = False
        self._wire_start = -1
        self._mended = None
        self.gate_peeked = 0
        if self.carried is not None:
            self.carried.close()
            self.carried = None
            self._setopt(pycurl.FRESH_CONNECT, 0)
        if self._relay is not None:
            self._relay.close()
            self._relay = None
        self.grace = 0.0
        self.sample = None
        self.visit = _NO_VISIT

    def report_sent(self) -> None:
        """Tell whoever asked for it that the request has left.

        It leaves twice when a kept connection proved dead and libcurl tries a fresh one.
        """
        if not self._is_reported:
            self._is_reported = True
            self._shared.on_sent(self.visit.trans_id, self.sent_at)

    def start_over(self) -> None:
        """Forget what a kept connection said that proved dead: it is not the response."""
        self.sent_at = 0.0
        self.gate_peeked = 0
        self._reception.know_part(0)

    def want_lines(self) -> None:
        """Have libcurl hand over the lines of the head."""
        if not self.has_lines:
            self._hear_lines(True)

    def note_relay(self, relay: Relay) -> None:
        """Remember that a relay reads the connection."""
        self._relay = relay

    def note_mended(self, mended: Mended) -> None:
        """Remember that libcurl sees another head than the server sent."""
        self._mended = mended

    def note_wire_start(self, taken: int) -> None:
        """Remember how many bytes of the connection came before this response."""
        self._wire_start = taken

    def note_error(self, number: int) -> None:
        """Remember an error that libcurl will not see, because looking consumed it."""
        self._error_number = number

    def _judge(
        self, code: int, message: str, head: Head, decoded: Decoded | None, is_sent: bool
    ) -> Verdict:
        facts = Facts(
            code=code,
            message=message,
            head=head,
            stopped=self._reception.stopped,
            stopped_detail=self._reception.stopped_detail,
            conditional=bool(self._more) and self._more[0].startswith("If-"),
            secure=self.secure,
            verified=self._shared.settings.verify_tls,
            is_cut=self._reception.is_cut,
            decoded=decoded,
        )
        if self._wire_start >= 0 and not code and self._is_padded(head):
            facts.stopped = Outcome.PROTO_CHUNK
            facts.stopped_detail = f"more than {_MAX_CHUNK_EXTENSION_BYTES} bytes beside the chunks"
        if self._mended is not None:
            facts.flags = self._mended.flags
        if code:
            seen = self._error_number or (self._relay.error_number if self._relay else 0)
            facts.error_number = seen or self.handle.getinfo(pycurl.OS_ERRNO)
            facts.connected = bool(self.handle.getinfo(pycurl.CONNECT_TIME))
            facts.requested = is_sent
            facts.is_whole = head.complete and head.content_length == self._reception.received
        return judge(facts)

    def _is_doubtful(self, head: Head) -> bool:
        """Whether another response on the same connection could be taken for what it is not."""
        return (
            head.ambiguous
            or self._relay is not None
            or (head.status == 204 and bool(head.content_length))
            # The next try shall be on another one (RFC 9110, 15.5.20); HTTP/2 has others on it.
            or (head.status == 421 and head.version.startswith("1"))
        )

    def _is_padded(self, head: Head) -> bool:
        """Whether far more came over the wire than the chunks and what marks them."""
        reception = self._reception
        read = bytes_read(self.handle.getinfo(pycurl.ACTIVESOCKET)) - self._wire_start
        lines = max(sum(map(len, reception.lines)), len(head.raw))
        expected = lines + reception.received + reception.count * _CHUNK_FRAME_BYTES
        return read > expected + _MAX_CHUNK_EXTENSION_BYTES

    def _bytes_so_far(self) -> int:
        """Return how much has arrived; the socket also knows of half a header line."""
        reception = self._reception
        if self._relay is not None:
            return self._relay.received
        counted = reception.received + sum(map(len, reception.lines))
        if self.secure and reception.head().complete:
            # The socket counts records, and with HTTP/2 those of other responses, too.
            return counted
        return max(counted, bytes_received(self.handle.getinfo(pycurl.ACTIVESOCKET)))

    def _configure(self, handle: pycurl.Curl) -> None:
        configure(handle, self._shared)
        handle.setopt(pycurl.WRITEFUNCTION, self._reception.take)
        handle.setopt(pycurl.OPENSOCKETFUNCTION, self._on_open_socket)
        handle.setopt(pycurl.SOCKOPTFUNCTION, self._on_new_socket)
        handle.setopt(pycurl.PREREQFUNCTION, partial(Gate.enter, self._shared.gate, self))

    def _hear_lines(self, wanted: bool) -> None:
        self.has_lines = wanted
        self._is_plainly_set = False
        if wanted:
            self.handle.setopt(pycurl.HEADERFUNCTION, self._reception.lines.append)
        else:
            self.handle.unsetopt(pycurl.HEADERFUNCTION)

    def _on_open_socket(self, _purpose: int, address: Any) -> Any:
        """Open the socket, if the address that libcurl is about to connect to may be used."""
        if self.carried is None and self._refuses(address.addr[0]):
            return pycurl.SOCKET_BAD
        try:
            if self.carried is not None:
                opened = self.carried.hand_over()
            else:
                opened = Handover(address.family, address.socktype, address.protocol)
        except OSError as error:
            self._error_number = error.errno or 0
            return pycurl.SOCKET_BAD
        if opened.fileno() > self._shared.max_descriptor:
            self._error_number = EMFILE
            return pycurl.SOCKET_BAD
        return opened

    def _refuses(self, actual: str) -> bool:
        host = host_of(self.visit.url)
        if self._proxy:
            if not self._shared.proxies.allows(self._proxy, actual, self._shared.policy):
                shown = without_login(self._proxy)
                detail = f"{actual} may not be connected to for the proxy {shown}"
                self.stop(Outcome.NET_UNREACHABLE, detail)
                return True
        # The user named the proxy; where that connects to we cannot see.
        elif not self._shared.settings.proxy and not self._shared.policy.allows(host, actual):
            self.stop(
                Outcome.POLICY_PRIVATE_ADDRESS, f"{actual} may not be connected to for {host}"
            )
            return True
        return False

    def _on_new_socket(self, descriptor: int, _purpose: int) -> int:
        self._connecting = descriptor
        self._shared.on_new_socket(descriptor)
        return _CONNECTED if self.carried is not None else _UNCONNECTED
