"""Sites that are really crawled: an engine, a web on loopback, and what is left of it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gossamer.config.load import load
from gossamer.config.settings import Settings
from gossamer.service.engine import run_engine
from gossamer.url.parts import md5_of
from press import Press
from sites_rig import Sites

NORMAL = 1


def settings_with(workers: int = 0, **spider: object) -> Settings:
    """Return settings of an engine that may crawl this machine."""
    return load(
        None,
        {
            "url": {"allow_private": True},
            "urlserver": {"host_per_second": 0.0},
            "crawl": {"workers": workers},
            "spider": spider,
        },
    )


def page(paper: Press, path: str, *links: str, **headers: str) -> None:
    """Answer with a page that has these links."""
    anchors = "".join(f"<a href='{link}'>{link}</a>" for link in links)
    body = f"<html><title>{path}</title><p>The page {path}.</p>{anchors}".encode()
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    paper.routes[path] = (200, {"Content-Type": "text/html; charset=utf-8", **fields}, body)


class CrawledSite:
    """Sites of one workspace; the first is the one that is asked about."""

    def __init__(
        self,
        directory: Path,
        *roots: str,
        properties: Mapping[str, str] | None = None,
        settings: Settings | None = None,
        **fields: object,
    ) -> None:
        directory.mkdir()
        (directory / "archive").mkdir()
        self.directory = directory
        self.raw = directory / "raw"
        self.rig = Sites(directory)
        self.set_id = self.rig.site(*roots, **fields)
        # No test waits for what it does not test.
        self.rig.query("UPDATE member SET request_delay = ?", fields.get("request_delay", 0))
        self.rig.now = time.time()
        for name, value in (properties or {}).items():
            self.rig.property(self.set_id, name, value)
        settings = settings or settings_with()
        store = replace(settings.store, keep=False, raw_folder=str(self.raw))
        self._settings = replace(settings, store=store)

    def crawl(self, size: int = 100) -> int:
        """Make one batch and crawl it; return how many URLs were in it."""
        _, items = self.rig.catalog.make_batch(NORMAL, size, time.time(), 60.0, 5)
        run_engine(self.directory, self._settings, once=True, install_signals=False)
        return len(items)

    def again(self) -> int:
        """Crawl everything once more, as a re-crawl would."""
        self.rig.has_odd_counters = True
        self.rig.query("UPDATE member SET status = 1, state = 0")
        return self.crawl()

    def member(self, url: str, what: str, set_id: int = 0) -> Any:
        """Return a field of a URL."""
        return self.rig.members(set_id or self.set_id, what)[url]

    def files(self, url: str) -> dict[str, bytes]:
        """Return what is kept of the newest version of a URL, by the ends of the names."""
        md5 = md5_of(url).hex()
        folder = self.raw / f"{self.set_id - 100:032x}" / md5[:2] / md5[2:]
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        return {each.name.partition(".")[2]: each.read_bytes() for each in found}

    def proxy(self, host: str, **fields: object) -> None:
        """Give the site a proxy, as PROXY_NEW does."""
        values = {"site_id": self.set_id - 100, "host": host, "fields": "{}", "cdate": 0, **fields}
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.rig._add(f"INSERT INTO proxy ({names}) VALUES ({marks})", tuple(values.values()))

    def faults(self, host: str) -> int:
        """Return how often a proxy has failed."""
        return int(self.rig.query("SELECT faults FROM proxy WHERE host = ?", host)[0][0])

    def close(self) -> None:
        self.rig.close()
