"""libcurl's multi interface on an epoll of our own: cost follows activity, not connections."""

import select
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import pycurl

Failed = tuple[pycurl.Curl, int, str]
"""A handle whose transfer failed, libcurl's error code and its words."""
Tap = tuple[int, Callable[[Any], None], Any]
"""What is waited for on a connection, what is called then, and with what."""

_READ: Final = select.POLLIN
_GONE: Final = getattr(select, "POLLRDHUP", 0)
_WRITE: Final = select.POLLOUT
_MASKS: Final = {
    pycurl.POLL_IN: _READ,
    pycurl.POLL_OUT: _WRITE,
    pycurl.POLL_INOUT: _READ | _WRITE,
}
_NOTHING: Final = pycurl.POLL_REMOVE
_WRITES: Final = frozenset((pycurl.POLL_OUT, pycurl.POLL_INOUT))
_AT_ONCE: Final = pycurl.SOCKET_TIMEOUT
# No more events than fit into a piece of memory that the C library keeps at hand.
_BATCH: Final = 80
_MAX_ROUNDS: Final = 4


class _Poller(Protocol):
    """What select.epoll has."""

    def register(self, fd: int, eventmask: int, /) -> None: ...

    def modify(self, fd: int, eventmask: int, /) -> None: ...

    def unregister(self, fd: int, /) -> None: ...

    def poll(self, timeout: float, maxevents: int, /) -> list[tuple[int, int]]: ...

    def close(self) -> None: ...


def prepare() -> None:
    """Have libcurl make now what it makes once: a process that forks makes it for its children."""
    pycurl.CurlMulti().close()


class Loop:
    """Runs many transfers and watches a few descriptors of others.

    What libcurl wants changes several times for each request, most of it within one call. So it is
    only noted (`_news`), and told to the system when we are about to wait. A descriptor that nobody
    wants stays registered until it fires: most connections are used again soon.
    """

    def __init__(self, max_connections: int) -> None:
        self._poller = _make_poller()
        self._news: dict[int, int] = {}
        self._wanted: dict[int, int] = {}
        self._taps: dict[int, Tap] = {}
        self._changed: set[int] = set()
        self._registered: dict[int, int] = {}
        self._watched: dict[int, Callable[[], None]] = {}
        self._running = 0
        self._added = 0
        self.on_settled: Callable[[], None] | None = None
        """Called when libcurl has done all that it could do at once."""
        multi = self._multi = pycurl.CurlMulti()
        # Looking them up anew takes as long as some of them do.
        self._add, self._remove = multi.add_handle, multi.remove_handle
        self._timeout, self._act = multi.timeout, multi.socket_action
        multi.setopt(pycurl.M_SOCKETFUNCTION, _note_into(self._news))
        multi.setopt(pycurl.M_MAXCONNECTS, max_connections)
        multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)

    def start(self, handles: Sequence[pycurl.Curl]) -> None:
        """Take in transfers and let them begin."""
        add = self._add
        for handle in handles:
            add(handle)
            self._added += 1
        # All of them go out in one call: what surrounds it is not paid for each of them.
        self._running = self._act(_AT_ONCE, 0)[1]
        self._settle()

    def _settle(self) -> None:
        """Let libcurl do what it wants to do at once: one round as a rule."""
        for _ in range(_MAX_ROUNDS):
            # Asked for: as a callback, libcurl's timer would speak several times a request.
            if self._timeout():
                break
            self._running = self._act(_AT_ONCE, 0)[1]
        if self.on_settled is not None:
            self.on_settled()

    def remove(self, handle: pycurl.Curl) -> None:
        """Take out a transfer, finished or not; what it had open is closed if it was not."""
        self._remove(handle)
        self._added -= 1

    def watch(
        self,
        fd: int,
        callback: Callable[[], None],
        *,
        reading: bool = True,
        writing: bool = False,
    ) -> None:
        """Call back when the descriptor can be read, or written, or its peer is gone.

        Calling it again changes what is watched for. A peer that is gone is told also when
        neither is asked for.
        """
        mask = _GONE | (reading and select.POLLIN) | (writing and select.POLLOUT)
        known = fd in self._watched
        self._watched[fd] = callback
        if known:
            self._poller.modify(fd, mask)
        else:
            self._poller.register(fd, mask)

    def unwatch(self, fd: int) -> None:
        """Watch a descriptor no more; call it before the descriptor is closed."""
        if self._watched.pop(fd, None) is not None:
            self.forget(fd)

    def tap(self, fd: int, tap: Tap) -> None:
        """Watch a connection in place of libcurl."""
        self._taps[fd] = tap
        if self._registered.get(fd) != tap[0]:
            self._changed.add(fd)

    def tap_sent(self, fd: int, tap: Tap) -> bool:
        """Watch a connection, unless libcurl waits until it can write to it."""
        # Nearly always it has just said that it wants nothing of it.
        if self._news.get(fd) != _NOTHING and self.is_sending(fd):
            return False
        self._taps[fd] = tap
        if self._registered.get(fd) != tap[0]:
            self._changed.add(fd)
        return True

    def untap(self, fd: int) -> None:
        """Watch it no longer."""
        if self._taps.pop(fd, None) is not None and fd in self._wanted:
            self._changed.add(fd)

    def is_sending(self, fd: int) -> bool:
        """Whether libcurl waits until it can write to it."""
        what = self._news.get(fd)
        if what is None:
            return bool(self._wanted.get(fd, 0) & _WRITE)
        return what in _WRITES

    def note_new(self, fd: int) -> None:
        """Hear that a number stands for another connection than before."""
        self._registered.pop(fd, None)

    def forget(self, fd: int) -> None:
        """Take a descriptor off the list before another file takes its number."""
        self._registered.pop(fd, None)
        try:
            self._poller.unregister(fd)
        except OSError:
            pass

    def run(self, timeout: float) -> tuple[list[pycurl.Curl], list[Failed], bool]:
        """Wait for one round of events; returns what ended well or not, and if a watch fired."""
        if self._running < self._added:
            timeout = 0.0
        else:
            milliseconds = self._timeout()
            if 0 <= milliseconds < timeout * 1000.0:
                timeout = milliseconds / 1000.0
        watched = False
        if self._news or self._changed:
            self._tell_changes()
        taps = self._taps
        for fd, events in self._poller.poll(timeout, _BATCH):
            tap = taps.get(fd)
            if tap is not None:
                if events != _READ:
                    # Whoever has the connection next must hear again that its peer is gone.
                    self._registered[fd] = 0
                tap[1](tap[2])
            elif fd in self._wanted:
                # Errors and hang-ups are found out by libcurl when it reads or writes.
                bits = (events & _READ and pycurl.CSELECT_IN) | (
                    events & _WRITE and pycurl.CSELECT_OUT
                )
                action = self._act(fd, bits or pycurl.CSELECT_ERR)
                self._running = action[1]
            elif fd in self._watched:
                self._watched[fd]()
                watched = True
            else:
                self.forget(fd)
        self._settle()
        if self._running < self._added:
            return *self._collect(), watched
        return [], [], watched

    def close(self) -> None:
        """Close every connection."""
        self._multi.close()
        self._poller.close()
        self._news.clear()
        self._wanted.clear()
        self._watched.clear()
        self._taps.clear()
        self._registered.clear()
        self._changed.clear()

    def _tell_changes(self) -> None:
        news, wanted, changed = self._news, self._wanted, self._changed
        for fd, what in news.items():
            if what == _NOTHING:
                wanted.pop(fd, None)
            else:
                wanted[fd] = _MASKS.get(what, _READ)
                changed.add(fd)
        news.clear()
        if changed:
            for fd in changed:
                self._tell(fd)
            changed.clear()

    def _tell(self, fd: int) -> None:
        known = self._registered.get(fd)
        # Not told again though edges are asked for: those that lie behind us were data,
        # which somebody has read since.
        mask = self._taps[fd][0] if fd in self._taps else self._wanted.get(fd)
        if mask is None or mask == known:
            return
        if known is None:
            self._register(fd, mask)
        else:
            self._poller.modify(fd, mask)
        self._registered[fd] = mask

    def _register(self, fd: int, mask: int) -> None:
        try:
            self._poller.register(fd, mask)
        except FileExistsError:
            self._poller.modify(fd, mask)

    def _collect(self) -> tuple[list[pycurl.Curl], list[Failed]]:
        waiting, good, bad = self._multi.info_read()
        while waiting:
            waiting, more_good, more_bad = self._multi.info_read()
            good += more_good
            bad += more_bad
        return good, bad


def _note_into(news: dict[int, int]) -> Callable[[int, int, object, object], None]:
    """Return what libcurl calls, four times a request, to say what it wants of a connection."""

    def note(what: int, fd: int, _multi: object, _data: object) -> None:
        news[fd] = what

    return note


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
