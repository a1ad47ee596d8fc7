"""Why a crawl ends: one place, so that no end is called finished by mistake."""

from typing import Final

from msgspec import Struct

from gossamer.wording import count_in_words, seconds_in_words

INTERRUPTED_CODE: Final = 130
TERMINATED_CODE: Final = 143
STORAGE_CODE: Final = 4
WORK_REMAINS_CODE: Final = 5


class Stop(Struct, frozen=True):
    """The end of a run."""

    reason: str
    exit_code: int
    message: str
    at_once: bool = False
    """Do not wait for transfers that are still open."""


class Stops:
    """Collects requests to stop and says whether the crawl is at its end."""

    def __init__(self) -> None:
        self.requested: Stop | None = None
        self.at_once = False
        self.paused_at = 0.0
        self.pause_detail = ""
        self.error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Something of ours is broken: the crawl ends, and the error is raised."""
        self.error = error

    def interrupt(self) -> None:
        """Ctrl-C: stop in good order; the second time, at once."""
        self.at_once = self.requested is not None
        self.requested = Stop(
            "interrupted",
            INTERRUPTED_CODE,
            "interrupted; run the same command again to go on",
        )

    def terminate(self) -> None:
        """SIGTERM: stop in good order."""
        self.at_once = self.requested is not None
        self.requested = Stop(
            "terminated", TERMINATED_CODE, "terminated; run the same command again to go on"
        )

    def time_limit(self) -> None:
        """The time that was given is over: stop in good order."""
        self.requested = Stop("max_time", 0, "reached --max-time")

    def finished(self) -> Stop:
        """Nothing is left to do."""
        return Stop("finished", 0, "finished: nothing is left to do")

    def nothing_due(self) -> Stop:
        """What is left waits for its time, which has not come."""
        return Stop("finished", 0, "finished: nothing more is due")

    def page_limit(self, max_pages: int) -> Stop:
        """Exactly the number of pages asked for."""
        return Stop(
            "max_pages",
            0,
            f"reached --max-pages {max_pages}; run again with a larger number to go on",
        )

    def paused_too_long(self, now: float, patience: float) -> Stop | None:
        """The disk did not recover in time."""
        if now - self.paused_at < patience:
            return None
        return Stop(
            "disk_full",
            STORAGE_CODE,
            f"stopped: {self.pause_detail}; "
            "remove the cause and run the same command again to go on",
            at_once=True,
        )

    def no_names(self, silent_seconds: float, remaining: int) -> Stop:
        """No name server answers anybody, and nothing else can be done meanwhile."""
        return Stop(
            "dns_unreachable",
            WORK_REMAINS_CODE,
            f"stopped: no name server has answered for {seconds_in_words(silent_seconds)}, and "
            f"{_left(remaining)}; check the network, or name servers in [urlserver] dns_servers "
            "(gossamer doctor tests them), then run the same command again to go on",
        )

    def stalled(
        self, now: float, next_event: float | None, patience: float, remaining: int
    ) -> Stop | None:
        """Only waiting is left, and it would take longer than the user's patience."""
        if next_event is not None and next_event - now <= patience:
            return None
        wait = "" if next_event is None else f" for {seconds_in_words(next_event - now)}"
        return Stop(
            "stalled",
            WORK_REMAINS_CODE,
            f"stopped: {_left(remaining)} that must wait{wait} (retries, parked hosts or "
            "unreachable robots.txt); see gossamer status, and run the same command again to go on",
        )


def _left(remaining: int) -> str:
    return f"{count_in_words(remaining, 'URL')} {'is' if remaining == 1 else 'are'} left"
