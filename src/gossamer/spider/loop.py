"""libcurl's multi interface on an epoll of our own: cost follows activity, not connections."""

import select
from collections.abc import Callable
from typing import Any, Final, Protocol

import pycurl

from gossamer.clock import Clock

Ended = tuple[pycurl.Curl, int, str]
"""A handle whose transfer is over, libcurl's error code (0 is success) and its words."""

_READ: Final = select.POLLIN
_MASKS: Final = {
    pycurl.POLL_IN: select.POLLIN,
    pycurl.POLL_OUT: select.POLLOUT,
    pycurl.POLL_INOUT: select.POLLIN | select.POLLOUT,
}
_BATCH: Final = 512
_MAX_ROUNDS: Final = 4


class _Poller(Protocol):
    """What select.epoll has."""

    def register(self, fd: int, eventmask: int, /) -> None: ...

    def modify(self, fd: int, eventmask: int, /) -> None: ...

    def unregister(self, fd: int, /) -> None: ...

    def poll(self, timeout: float, maxevents: int, /) -> list[tuple[int, int]]: ...

    def close(self) -> None: ...


class Loop:
    """Runs many transfers and watches a few descriptors of others."""

    def __init__(self, clock: Clock, max_connections: int) -> None:
        self._clock = clock
        self._poller = _make_poller()
        self._wanted: dict[int, int] = {}
        self._watched: dict[int, Callable[[], None]] = {}
        self._taps: dict[int, Callable[[int], None]] = {}
        self.on_settled: Callable[[], None] | None = None
        """Called when libcurl has done all that it could do at once."""
        self._timer_at: float | None = None
        self._running = 0
        self._added = 0
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, max_connections)
        self._multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)

    def add(self, handle: pycurl.Curl) -> None:
        """Start a transfer now."""
        self._multi.add_handle(handle)
        self._added += 1
        self._settle()

    def remove(self, handle: pycurl.Curl) -> None:
        """Take out a transfer, finished or not; what it had open is closed if it was not."""
        self._multi.remove_handle(handle)
        self._added -= 1

    def watch(self, fd: int, callback: Callable[[], None]) -> None:
        """Call back when the descriptor can be read."""
        self._watched[fd] = callback
        self._poller.register(fd, _READ)

    def unwatch(self, fd: int) -> None:
        """Watch a descriptor no more; call it before the descriptor is closed."""
        if self._watched.pop(fd, None) is not None:
            self._forget(fd)

    def tap(self, fd: int, mask: int, callback: Callable[[int], None]) -> None:
        """Watch a connection in place of libcurl."""
        self._taps[fd] = callback
        try:
            self._poller.modify(fd, mask)
        except FileNotFoundError:
            self._poller.register(fd, mask)

    def untap(self, fd: int) -> None:
        """Watch it no longer; libcurl registers it anew if it wants to."""
        if self._taps.pop(fd, None) is not None:
            self._forget(fd)

    def is_wanted(self, fd: int) -> bool:
        """Whether libcurl waits for something on it."""
        return fd in self._wanted

    def run(self, timeout: float) -> tuple[list[Ended], bool]:
        """Wait for one round of events; returns what ended, and whether a watch fired."""
        timer_at = self._timer_at
        if self._running < self._added:
            timeout = 0.0
        elif timer_at is not None:
            timeout = min(timeout, max(timer_at - self._clock.monotonic(), 0.0))
        watched = False
        action = self._multi.socket_action
        for fd, events in self._poller.poll(timeout, _BATCH):
            tap = self._taps.get(fd)
            if tap is not None:
                tap(events)
            elif fd in self._wanted:
                # Errors and hang-ups are found out by libcurl when it reads or writes.
                bits = (events & select.POLLIN and pycurl.CSELECT_IN) | (
                    events & select.POLLOUT and pycurl.CSELECT_OUT
                )
                self._running = action(fd, bits or pycurl.CSELECT_ERR)[1]
            elif fd in self._watched:
                self._watched[fd]()
                watched = True
            else:
                self._forget(fd)
        self._settle()
        return self._collect() if self._running < self._added else [], watched

    def close(self) -> None:
        """Close every connection."""
        self._multi.close()
        self._poller.close()
        self._wanted.clear()
        self._watched.clear()
        self._taps.clear()

    def _settle(self) -> None:
        """Let libcurl do what it wants to do at once: two rounds as a rule."""
        for _ in range(_MAX_ROUNDS):
            if self._timer_at is None or self._timer_at > self._clock.monotonic():
                break
            self._timer_at = None
            self._running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]
        if self.on_settled is not None:
            self.on_settled()

    def _collect(self) -> list[Ended]:
        ended: list[Ended] = []
        while True:
            waiting, good, bad = self._multi.info_read()
            ended.extend((handle, 0, "") for handle in good)
            ended.extend(bad)
            if not waiting:
                return ended

    def _on_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if what == pycurl.POLL_REMOVE:
            # The registration stays: most connections are used again at once. If it fires before
            # (the server closed an idle one) it is forgotten then; a closed one leaves by itself.
            self._wanted.pop(fd, None)
            return
        mask = _MASKS.get(what, _READ)
        self._wanted[fd] = mask
        try:
            self._poller.modify(fd, mask)
        except FileNotFoundError:
            self._poller.register(fd, mask)

    def _on_timer(self, milliseconds: int) -> None:
        self._timer_at = (
            None if milliseconds < 0 else self._clock.monotonic() + milliseconds / 1000.0
        )

    def _forget(self, fd: int) -> None:
        try:
            self._poller.unregister(fd)
        except OSError:
            pass


def _make_poller() -> _Poller:
    if hasattr(select, "epoll"):
        return select.epoll()
    return _Poll()


class _Poll:
    """select.poll in the form of select.epoll, for systems without the latter."""

    def __init__(self) -> None:
        self._poll: Any = select.poll()
        self.register = self._poll.register
        self.modify = self._poll.modify

    def unregister(self, fd: int, /) -> None:
        try:
            self._poll.unregister(fd)
        except KeyError:
            pass

    def poll(self, timeout: float, maxevents: int, /) -> list[tuple[int, int]]:
        events: list[tuple[int, int]] = self._poll.poll(timeout * 1000.0)
        return events[:maxevents]

    def close(self) -> None:
        self._poll = None
