"""A client's life from a new site to its end, killed at any of its steps, and what must hold then.

As a program: `crash_scenario.py FOLDER STORAGE FIRST STRIDE` lets a child begin anew for each step,
kills it there with SIGKILL, and looks at what it left.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

from operations_desk import Desk

from gossamer.catalog.service_catalog import ServiceCatalog
from gossamer.objects.enumerations import DelayedType, SiteState
from gossamer.objects.normal import url_md5
from gossamer.objects.selection import Criterions
from gossamer.objects.site import Filter, SiteCleanup, SiteDelete
from gossamer.objects.url import URLDelete, URLPurge

ROOTS, PAGES, FILTERS, DELETED = 3, 30, 4, 3
STEPS = ("", "new", "add", "delete", "swept", "cleanup", "purge", "gone")
# How many URLs a site has after each step.
URLS = {
    "new": ROOTS,
    "add": ROOTS + PAGES,
    "delete": ROOTS + PAGES - DELETED,
    "swept": ROOTS + PAGES - DELETED,
    "cleanup": ROOTS,
    "purge": ROOTS,
}
_CONTENT_STEPS = (
    "put_raw", "sync", "put_processed", "delete", "create_site", "clear_site", "drop_site", "sweep",
)  # fmt: skip


def roots_of(name: str) -> list[str]:
    return [f"http://{name}.example/{n}/" for n in range(ROOTS)]


def pages_of(name: str) -> list[str]:
    return [f"http://{name}.example/page/{n}" for n in range(PAGES)]


def live(desk: Desk, name: str, delay: DelayedType, told: Callable[[str], None]) -> None:
    """Go through a site's life; `told` hears of each operation that was answered."""
    site = desk.site(*roots_of(name), filters=[Filter(pattern=str(n)) for n in range(FILTERS)])
    told("new")
    pages = pages_of(name)
    desk.add(site, *pages)
    told("add")
    for page in pages[:2]:
        desk.put(site, page, b"content")
    deletes = [URLDelete(site_id=site, url=page, delayed_type=delay) for page in pages[:DELETED]]
    desk.statuses("URL_DELETE", deletes)
    told("delete")
    desk.statuses("URL_PURGE", [URLPurge(site_id=site)])
    told("swept")
    desk.put(site, pages[-1], b"content")
    desk.put(site, roots_of(name)[0], b"content")
    desk.statuses("SITE_CLEANUP", [SiteCleanup(id=site)])
    told("cleanup")
    desk.statuses("URL_PURGE", [URLPurge(site_limits=(0, -1))])
    told("purge")
    desk.put(site, roots_of(name)[1], b"content")
    desk.statuses("SITE_DELETE", [SiteDelete(id=site)])
    told("gone")


def check(desk: Desk, name: str, step: str) -> None:
    """Make sure that a site is as after its last step, or as after the one that was cut short."""
    site_id = url_md5(roots_of(name)[0])
    after = STEPS[min(STEPS.index(step) + 1, len(STEPS) - 1)]
    site = desk.status(site_id)
    if site.state is not SiteState.ACTIVE:
        assert {step, after} & {"", "gone"}, (name, step)
        assert site.state in (SiteState.NOT_FOUND, SiteState.DELETE_TASK, SiteState.DELETED)
        assert desk.urls(site_id) == []
        return
    assert step != "gone"
    assert (len(site.urls), len(site.filters)) == (ROOTS, FILTERS)
    urls = desk.urls(site_id)
    assert len(urls) in {URLS[each] for each in (step, after) if each in URLS}, (name, step)
    assert set(roots_of(name)) <= set(urls)


def finish(desk: Desk, names: list[str]) -> None:
    """Let a purge do the rest: nothing is stored for what does not live."""
    everything = URLPurge(site_limits=(0, -1), criterions=Criterions(limit=10_000))
    desk.statuses("URL_PURGE", [everything])
    for name in names:
        site_id = url_md5(roots_of(name)[0])
        alive = set(desk.urls(site_id))
        assert desk.deleted(site_id) == {}
        for url in (*roots_of(name), *pages_of(name)):
            if url not in alive:
                assert desk.raw(site_id, url) == [], url
        if alive == set(roots_of(name)):
            # New or emptied: the contents of root URLs went, too.
            assert desk.raw(site_id, roots_of(name)[0]) == []
    assert desk.rows("SELECT count(*) FROM tombstone WHERE state = 5") == [(0,)]
    assert desk.is_sound()


class Countdown:
    """Kills this process when so many steps were made."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1


class Counted:
    """Contents whose changes are steps."""

    def __init__(self, contents, countdown: Countdown) -> None:
        self._contents = contents
        self._countdown = countdown

    def __getattr__(self, name: str):
        if name in _CONTENT_STEPS:
            self._countdown.step()
        return getattr(self._contents, name)


class CountedCatalog(ServiceCatalog):
    """A catalog whose transactions are steps, before they begin and once they are durable."""

    countdown: Countdown

    @contextmanager
    def changing(self, what: str, now: float, *, keeps_members: bool = False):
        self.countdown.step()
        with super().changing(what, now, keeps_members=keeps_members) as context:
            yield context
        self.countdown.step()


def run_until(folder: Path, storage: int, steps: int, report: Path) -> None:
    """Live until so many steps are made; does not return if there are that many."""
    desk = Desk(folder, storage)
    countdown = Countdown(steps)
    operations = desk.operations
    operations._catalog.__class__ = CountedCatalog
    operations._catalog.countdown = countdown
    operations._contents = operations._url_contents._contents = Counted(
        operations._contents, countdown
    )
    with report.open("a", buffering=1, encoding="utf-8") as file:
        live(desk, "site", DelayedType(steps % 2), lambda step: print(step, file=file))
    desk.close()


def killed_after(folder: Path, storage: int, steps: int) -> bool:
    """Kill a client after so many steps and look at the rest; whether it had that many."""
    folder.mkdir(parents=True)
    report = folder / "report"
    report.touch()
    child = os.fork()
    if child == 0:
        run_until(folder, storage, steps, report)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    told = report.read_text(encoding="utf-8").split()
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    desk = Desk(folder, storage)
    desk.clock.advance(3_600)
    assert desk.is_sound(), steps
    check(desk, "site", told[-1] if told else "")
    finish(desk, ["site"])
    if desk.status(url_md5(roots_of("site")[0])).state is not SiteState.ACTIVE:
        # Whatever was left, the same can be done again.
        live(desk, "site", DelayedType.NOT_DELAYED, lambda _: None)
        assert desk.is_sound()
    desk.close()
    return os.WIFSIGNALED(status)


def main() -> None:
    folder, storage, first, stride = Path(sys.argv[1]), *map(int, sys.argv[2:])
    steps = first
    while killed_after(folder / str(steps), storage, steps):
        steps += stride
    print("steps", steps)


if __name__ == "__main__":
    main()
