"""Whatever is asked in whatever order, sites, URLs and contents are as a plain model says."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from operations_desk import PARENT, Desk

from gossamer.objects.enumerations import DelayedType, SiteState
from gossamer.objects.normal import url_md5
from gossamer.objects.selection import Criterions
from gossamer.objects.site import Site, SiteCleanup, SiteDelete
from gossamer.objects.url import URL, URLCleanup, URLDelete, URLPurge

ROOTS = tuple(f"http://{name}.example/" for name in "ab")
PAGES = tuple(f"http://p.example/{n}" for n in range(4))
SITES = {url_md5(root): root for root in ROOTS}

sites = st.sampled_from(sorted(SITES))
pages = st.sampled_from(PAGES)
delays = st.sampled_from(list(DelayedType))


class Machine(RuleBasedStateMachine):
    """The model: the URLs of each site, and which of them have contents that must not go."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.desk = Desk(self.folder)
        self.urls: dict[str, dict[str, bool]] = {}
        """By site: whether each URL is a root."""
        self.safe: set[tuple[str, str]] = set()
        """Contents of what lives, put since it was last emptied."""
        self.ever: set[tuple[str, str]] = set()

    def teardown(self) -> None:
        assert self.desk.is_sound()
        self.desk.close()
        shutil.rmtree(self.folder)

    @rule(site=sites)
    def site_new(self, site: str) -> None:
        self.desk.clock.advance(1)
        answer = self.desk.general("SITE_NEW", Site(urls=[SITES[site]]))
        assert answer.error_code == (2020 if site in self.urls else 0)
        self.urls.setdefault(site, {SITES[site]: True})

    @rule(site=sites, delay=delays)
    def site_delete(self, site: str, delay: DelayedType) -> None:
        self.desk.clock.advance(1)
        answer = self.desk.general("SITE_DELETE", [SiteDelete(id=site, delayed_type=delay)])
        assert answer.statuses == [0 if site in self.urls else 2020]
        if self.urls.pop(site, None) is not None:
            self._unsafe(site)
            if delay is DelayedType.NOT_DELAYED:
                assert not any(self.desk.raw(site, url) for url in (*PAGES, SITES[site]))
            expected = (SiteState.NOT_FOUND, SiteState.DELETE_TASK)[delay is DelayedType.DELAYED]
            assert self.desk.status(site).state is expected

    @rule(site=sites, delay=delays, saves=st.booleans(), moves=st.booleans())
    def site_cleanup(self, site: str, delay: DelayedType, saves: bool, moves: bool) -> None:
        self.desk.clock.advance(1)
        cleanup = SiteCleanup(id=site, delayed_type=delay, save_root_urls=saves, move_urls=moves)
        answer = self.desk.general("SITE_CLEANUP", [cleanup])
        assert answer.statuses == [0 if site in self.urls else 2020]
        if site not in self.urls:
            return
        left = {url: True for url, root in self.urls[site].items() if root and saves}
        if delay is DelayedType.NOT_DELAYED:
            self._unsafe(site)
            assert not any(self.desk.raw(site, url) for url in (*PAGES, SITES[site]))
        else:
            self.safe = {each for each in self.safe if each[0] != site or each[1] in left}
        self.urls[site] = left | ({SITES[site]: True} if moves else {})

    @rule(site=sites, names=st.lists(pages, max_size=4), root=st.booleans())
    def url_new(self, site: str, names: list[str], root: bool) -> None:
        self.desk.clock.advance(1)
        parent = "" if root else PARENT
        given = [URL(url=url, site_id=site, parent_md5=parent) for url in names]
        expected = []
        for url in names:
            if site not in self.urls:
                expected.append(1)
            else:
                expected.append(2 if url in self.urls[site] else 0)
                self.urls[site].setdefault(url, root)
        assert self.desk.statuses("URL_NEW", given) == expected

    @rule(site=sites, url=pages)
    def put(self, site: str, url: str) -> None:
        if url in self.urls.get(site, ()):
            self.desk.put(site, url, b"content")
            self.safe.add((site, url))
            self.ever.add((site, url))

    @rule(site=sites, url=pages, delay=delays)
    def url_delete(self, site: str, url: str, delay: DelayedType) -> None:
        self.desk.clock.advance(1)
        delete = URLDelete(site_id=site, url=url, delayed_type=delay)
        there = url in self.urls.get(site, ())
        assert self.desk.statuses("URL_DELETE", [delete]) == [there]
        if there:
            del self.urls[site][url]
            self.safe.discard((site, url))
            if delay is DelayedType.NOT_DELAYED:
                assert self.desk.raw(site, url) == []

    @rule(site=sites, url=pages, delay=delays)
    def url_cleanup(self, site: str, url: str, delay: DelayedType) -> None:
        self.desk.clock.advance(1)
        cleanup = URLCleanup(site_id=site, url=url, delayed_type=delay)
        there = url in self.urls.get(site, ())
        assert self.desk.statuses("URL_CLEANUP", [cleanup]) == [there]
        if there:
            self.safe.discard((site, url))
            if delay is DelayedType.NOT_DELAYED:
                assert self.desk.raw(site, url) == []

    @rule()
    def purge(self) -> None:
        self.desk.clock.advance(1)
        everything = URLPurge(site_limits=(0, -1), criterions=Criterions(limit=1_000))
        self.desk.statuses("URL_PURGE", [everything])
        for site, url in self.ever:
            if url not in self.urls.get(site, ()):
                assert self.desk.raw(site, url) == []
        assert all(self.desk.status(site).deleted_urls == 0 for site in self.urls)

    @invariant()
    def agrees(self) -> None:
        for site in SITES:
            assert self.desk.urls(site) == sorted(self.urls.get(site, ()))
            if site in self.urls:
                assert self.desk.status(site).new_urls == len(self.urls[site])
        assert all(self.desk.raw(site, url) for site, url in self.safe)

    def _unsafe(self, site: str) -> None:
        self.safe = {each for each in self.safe if each[0] != site}


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
