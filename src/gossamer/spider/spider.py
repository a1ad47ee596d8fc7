"""The front of the spider: visits in, fetches out.

Theory of operation. `start` hands a visit to libcurl at once; `poll` moves all transfers forward
and returns those that ended. Nothing waits in between: whoever calls decides how many are open.
Deadlines are looked at in sweeps, a few each second, which cost one comparison for each open
transfer. Time during which nobody called `poll` is ours, not the servers': every deadline moves
back by it.
"""

import resource
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

import pycurl

from gossamer.clock import Clock
from gossamer.config.spider import SpiderSettings, for_sitemaps
from gossamer.messages import Fetch, Visit
from gossamer.outcomes import Outcome
from gossamer.spider.deadlines import Overdue, first_look
from gossamer.spider.gate import Gate
from gossamer.spider.head import Head
from gossamer.spider.lane import MOST_PLACES, Carried, Left, make_lane
from gossamer.spider.loop import Loop
from gossamer.spider.plain_head import PlainHeads
from gossamer.spider.proxies import Proxies
from gossamer.spider.request import RequestForm
from gossamer.spider.surroundings import Surroundings
from gossamer.spider.transfer import Transfer
from gossamer.spider.trust import Trust
from gossamer.url.address import AddressPolicy, port_refusal
from gossamer.url.parts import authority_of, host_of, port_of

MAX_IDLE_CONNECTIONS: Final = 4_096
BEHIND_PROXY: Final = "0.0.0.0"
"""The address of a host whose name the proxy resolves; it is never connected to."""
_SPARE_DESCRIPTORS: Final = 64
_MAX_SPARE_HANDLES: Final = 1_024
_MAX_ALLOWED: Final = 4_096
_LONGEST_TICK_SECONDS: Final = 0.1
_SHORTEST_TICK_SECONDS: Final = 0.005
_OWN_LAG_SECONDS: Final = 0.25
# No URL begins like this.
_NO_BASE: Final = "/"


class Spider:
    """Fetches many URLs at once; each visit comes back exactly once, classified."""

    def __init__(
        self,
        settings: SpiderSettings,
        policy: AddressPolicy,
        clock: Clock,
        *,
        max_sitemap_bytes: int = 0,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._trust = Trust(settings)
        limit = _raise_descriptor_limit()
        idle = (limit - 2 * _SPARE_DESCRIPTORS) // 2
        places = max(1, min(MOST_PLACES, idle // 4))
        self._loop = Loop(min(MAX_IDLE_CONNECTIONS, max(1, idle - places)))
        form = RequestForm(settings)
        self._gate = Gate(self._loop, clock, PlainHeads(settings))
        self._shared = Surroundings(
            settings=settings,
            sitemap_settings=for_sitemaps(settings, max_sitemap_bytes),
            policy=policy,
            clock=clock,
            form=form,
            trust_path=self._trust.path,
            max_descriptor=limit - _SPARE_DESCRIPTORS,
            on_sent=self._on_sent,
            on_new_socket=self._loop.note_new,
            gate=self._gate,
            first_look_seconds=first_look(0.0, settings),
            report_seconds=settings.timeout_update_ms / 1000.0,
            proxies=Proxies(settings.proxies),
        )
        self._lane = None
        if not self._gate.is_open:
            self._lane = make_lane(settings, form, self._loop, places, limit - _SPARE_DESCRIPTORS)
        if self._lane is not None:
            self._lane.watch(self._collect)
            self._gate.on_usual = self._move
        self._left: list[Left] = []
        # Whatever is open for longer is looked at, or reported, which takes a transfer.
        self._patience = min(self._shared.first_look_seconds, self._shared.report_seconds)
        # Authorities with an address at which they may be asked: found out once for many visits.
        self._allowed: set[tuple[str, str]] = set()
        # The last of them, up to the path: most visits are to the same.
        self._base, self._address = _NO_BASE, ""
        self._open: dict[pycurl.Curl, Transfer] = {}
        self._spare: list[Transfer] = []
        self._finished: list[Fetch] = []
        self._sent: list[tuple[int, float]] = []
        self._due_reports: list[int] = []
        self._watched: dict[int, Callable[[], None]] = {}
        self._fired: list[int] = []
        self._tick = _tick(settings)
        self._sweep_at = 0.0
        self._left_at = clock.monotonic()

    def start(self, *visits: Visit) -> None:
        """Begin fetches now (S0.20); one that may not be made is finished at once."""
        now, wall = self._clock.monotonic(), self._clock.time()
        spare, opened, lane = self._spare, self._open, self._lane
        handles = []
        is_sent = False
        for visit in visits:
            if (
                visit.manner is not None
                or visit.address != self._address
                or not visit.url.startswith(self._base)
            ):
                refusal = self._refusal(visit)
                if refusal is not None:
                    self._finished.append(self._refuse(visit, *refusal))
                    continue
            if lane is not None and lane.send(visit, now, wall):
                is_sent = True
                continue
            transfer = spare.pop() if spare else Transfer(self._shared)
            transfer.begin(visit, now, wall)
            carried = None if lane is None else lane.lend(visit)
            if carried is not None:
                transfer.carry_on(carried)
            handle = transfer.handle
            opened[handle] = transfer
            handles.append(handle)
        if is_sent and lane is not None:
            lane.stamp(self._clock.monotonic())
        if handles:
            self._loop.start(handles)

    def poll(self, timeout: float) -> list[Fetch]:
        """Move everything forward until something ended or is to be told, or time is up."""
        now = self._clock.monotonic()
        if now - self._left_at > _OWN_LAG_SECONDS:
            self._forgive_own_lag(now)
        until = now + timeout
        watched = False
        while True:
            wait = until - now
            if self._sweep_at < until and (self._open or self._is_lane_used()):
                wait = self._sweep_at - now
            if self._finished or self._sent or wait < 0.0:
                wait = 0.0
            ended, failed, watched = self._loop.run(wait)
            now = self._clock.monotonic()
            for handle in ended:
                self._end(self._open.pop(handle), now)
            for handle, code, message in failed:
                self._fail(handle, code, message, now)
            if self._left:
                self._go_on()
            if self._fired:
                self._call_back()
            if now >= self._sweep_at:
                self._sweep(now)
            if self._finished or watched or self._sent or self._due_reports or now >= until:
                break
        self._left_at = now
        finished, self._finished = self._finished, []
        return finished

    def watch(
        self,
        fd: int,
        callback: Callable[[], None],
        *,
        reading: bool = True,
        writing: bool = False,
    ) -> None:
        """Call back when a descriptor of the caller's can be read or written, or its peer is gone.

        `poll` returns after it. Calling it again changes what is watched for.
        """
        self._watched[fd] = callback
        self._loop.watch(fd, partial(self._fired.append, fd), reading=reading, writing=writing)

    def unwatch(self, fd: int) -> None:
        """Watch a descriptor no more; call it before the descriptor is closed."""
        self._watched.pop(fd, None)
        self._loop.unwatch(fd)

    def _call_back(self) -> None:
        """Tell of descriptors that fired, unless they are no longer watched.

        Not before what ended is finished: a callback may start visits, and until then libcurl would
        have them use connections whose last response was of doubtful framing.
        """
        while self._fired:
            callback = self._watched.get(self._fired.pop(0))
            if callback is not None:
                callback()

    def started(self) -> list[tuple[int, float]]:
        """Return (trans_id, monotonic time) of each request gone out since, for visits that ask."""
        sent, self._sent = self._sent, []
        return sent

    def working(self) -> list[int]:
        """Return the transactions that have to be reported as still open (S0.13, S0.19, S0.22)."""
        due, self._due_reports = self._due_reports, []
        return due

    def open_count(self) -> int:
        """Return how many visits have not come back yet."""
        in_lane = self._lane.open_count() if self._lane is not None else 0
        return len(self._open) + in_lane + len(self._finished)

    def use_policy(self, policy: AddressPolicy) -> None:
        """Replace the address policy, for connections made from now on."""
        self._shared.policy = policy
        self._allowed.clear()
        self._base, self._address = _NO_BASE, ""
        if self._lane is not None:
            self._lane.leave_route()

    def cancel(self, trans_ids: AbstractSet[int] | None = None) -> list[Visit]:
        """Stop these now, or everything; returns the visits that were open."""
        if trans_ids is not None:
            return self._cancel_some(trans_ids)
        visits = []
        for transfer in self._open.values():
            visits.append(transfer.visit)
            self._put_back(transfer)
        self._open.clear()
        if self._lane is not None:
            visits.extend(self._lane.cancel(None))
        self._sent.clear()
        self._due_reports.clear()
        visits.extend(fetch.visit for fetch in self._finished)
        self._finished.clear()
        return visits

    def close(self) -> None:
        """Stop everything and close every connection."""
        self.cancel()
        if self._lane is not None:
            self._lane.close()
            self._lane = None
        self._gate.close()
        self._loop.close()
        for transfer in self._spare:
            transfer.handle.close()
        self._spare.clear()
        self._trust.close()

    def _cancel_some(self, trans_ids: AbstractSet[int]) -> list[Visit]:
        chosen = [each for each in self._open.values() if each.visit.trans_id in trans_ids]
        visits = [transfer.visit for transfer in chosen]
        for transfer in chosen:
            del self._open[transfer.handle]
            self._put_back(transfer)
        if self._lane is not None:
            visits.extend(self._lane.cancel(trans_ids))
        self._sent = [each for each in self._sent if each[0] not in trans_ids]
        self._due_reports = [each for each in self._due_reports if each not in trans_ids]
        visits.extend(each.visit for each in self._finished if each.visit.trans_id in trans_ids)
        self._finished = [each for each in self._finished if each.visit.trans_id not in trans_ids]
        return visits

    def _refusal(self, visit: Visit) -> tuple[Outcome, str] | None:
        """Return why a visit may not be made; what is allowed needs not be judged again."""
        if visit.manner is not None:
            return self._judge(visit)
        authority = authority_of(visit.url)
        key = authority, visit.address
        if key not in self._allowed:
            refusal = self._judge(visit)
            if refusal is not None:
                return refusal
            if len(self._allowed) >= _MAX_ALLOWED:
                self._allowed.clear()
            self._allowed.add(key)
        self._base, self._address = f"{authority}/", visit.address
        if self._lane is not None:
            self._lane.follow(self._base, self._address)
        return None

    def _judge(self, visit: Visit) -> tuple[Outcome, str] | None:
        url = visit.url
        if not url.startswith(("http://", "https://")):
            return Outcome.REDIR_SCHEME, f"not an http or https URL: {url[:100]}"
        why = port_refusal(port_of(url), self._settings.allowed_ports)
        if why is not None:
            return Outcome.POLICY_PORT, why
        if visit.manner is not None and visit.manner.proxy:
            why = self._shared.proxies.refusal(visit.manner.proxy)
            if why is not None:
                return Outcome.NET_UNREACHABLE, why
        elif self._settings.proxy and visit.address == BEHIND_PROXY:
            return None
        host = host_of(url)
        # A zone names an interface of ours: no address of the web has one.
        if "%" in visit.address or not self._shared.policy.allows(host, visit.address):
            return (
                Outcome.POLICY_PRIVATE_ADDRESS,
                f"{visit.address} may not be connected to for {host}",
            )
        return None

    def _refuse(self, visit: Visit, outcome: Outcome, detail: str) -> Fetch:
        return Fetch(
            visit=visit,
            outcome=outcome,
            detail=detail,
            fetched_at=self._clock.time(),
        )

    def _collect(self, _nothing: object) -> None:
        """Take what has arrived in the lane."""
        if self._lane is not None:
            self._lane.collect(self._clock.monotonic(), self._finished, self._left)

    def _move(self, transfer: Transfer, head: Head) -> bool:
        """Have the lane go on with what libcurl began, if it may."""
        lane = self._lane
        if (
            lane is None
            or not transfer.is_movable(self._clock.monotonic())
            or not lane.take_over(transfer, head)
        ):
            return False
        del self._open[transfer.handle]
        self._put_back(transfer)
        return True

    def _is_lane_used(self) -> bool:
        return self._lane is not None and self._lane.open_count() > 0

    def _go_on(self) -> None:
        """Have libcurl go on with what began in the lane."""
        left, self._left = self._left, []
        handles = []
        for descriptor, visit, started, wall, sent_at, grace, pages, taken in left:
            transfer = self._spare.pop() if self._spare else Transfer(self._shared)
            transfer.begin(visit, started, wall)
            transfer.grace = grace
            transfer.check_at += grace
            if descriptor >= 0:
                transfer.carry_on(Carried(descriptor, sent_at, taken))
                if self._lane is not None:
                    self._lane.doubt(visit, pages)
            self._open[transfer.handle] = transfer
            handles.append(transfer.handle)
        self._loop.start(handles)

    def _end(self, transfer: Transfer, now: float) -> None:
        """Take what libcurl has taken in without an error."""
        fetch = transfer.finish(0, "", now)
        self._finished.append(fetch)
        if self._lane is not None:
            self._lane.note(fetch, is_ordinary=transfer.is_ordinary())
        self._put_back(transfer)

    def _fail(self, handle: pycurl.Curl, code: int, message: str, now: float) -> None:
        """Take what libcurl could not take in, or not at all."""
        transfer = self._open[handle]
        if transfer.is_to_begin_anew(code):
            self._loop.remove(handle)
            transfer.begin_anew()
            self._loop.start([handle])
            return
        del self._open[handle]
        self._finish(transfer, code, message, now)

    def _finish(self, transfer: Transfer, code: int, message: str, now: float) -> None:
        self._finished.append(transfer.finish(code, message, now))
        self._put_back(transfer)

    def _put_back(self, transfer: Transfer) -> None:
        """Make a transfer ready for the next visit."""
        spare = self._spare
        self._loop.remove(transfer.handle)
        transfer.clear()
        if len(spare) < _MAX_SPARE_HANDLES:
            spare.append(transfer)
        else:
            transfer.handle.close()

    def _on_sent(self, trans_id: int, now: float) -> None:
        self._sent.append((trans_id, now))

    def _sweep(self, now: float) -> None:
        """Look at the transfers whose time to be looked at has come."""
        self._sweep_at = now + self._tick
        for transfer in [each for each in self._open.values() if each.check_at <= now]:
            found = transfer.check(now)
            if isinstance(found, Overdue):
                transfer.stop(found.outcome, found.detail)
                del self._open[transfer.handle]
                self._finish(transfer, 0, "", now)
            else:
                transfer.check_at = found.at
                transfer.sample = found.sample
        for transfer in [each for each in self._open.values() if each.report_at <= now]:
            self._due_reports.append(transfer.visit.trans_id)
            transfer.report_at = now + self._shared.report_seconds
        if self._lane is not None:
            self._left += self._lane.sweep(now, self._patience)
            if self._left:
                self._go_on()

    def _forgive_own_lag(self, now: float) -> None:
        """Time in which we did not look at the sockets is no fault of the servers."""
        lag = now - self._left_at
        for transfer in self._open.values():
            forgiven = min(lag, now - transfer.started)
            transfer.grace += forgiven
            transfer.check_at += forgiven
        if self._lane is not None:
            self._lane.forgive(now, lag)


def _tick(settings: SpiderSettings) -> float:
    shortest = min(
        settings.timeout_request_ms / 1000.0,
        settings.timeout_connect_ms / 1000.0,
        settings.timeout_first_byte_ms / 1000.0,
        settings.timeout_update_ms / 1000.0,
        settings.min_rate_seconds / 2.0,
    )
    return min(max(shortest / 20.0, _SHORTEST_TICK_SECONDS), _LONGEST_TICK_SECONDS)


def _raise_descriptor_limit() -> int:
    """Allow as many open sockets as the system lets us without asking; returns how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError):
            pass
    return soft if soft != resource.RLIM_INFINITY else 1 << 20
