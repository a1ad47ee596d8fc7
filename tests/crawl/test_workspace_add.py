"""`gossamer add` beside daemons, beside a crawl, and beside itself."""

import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gossamer.catalog.catalog import Verdict
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.clock import SystemClock
from gossamer.config.catalog import CatalogSettings
from gossamer.config.settings import Settings
from gossamer.crawl.pipeline import add_urls
from gossamer.crawl.workspace import Workspace
from gossamer.errors import CatalogError, WorkspaceError
from gossamer.messages import Findings, Found
from gossamer.outcomes import Outcome, State
from gossamer.url.parts import host_of, md5_of

NOW = 1_800_000_000.0


@pytest.fixture
def daemons(tmp_path: Path):
    """A workspace that both daemons hold, and its catalog as one of them has it open."""
    held = [Workspace(tmp_path / "w") for _ in range(2)]
    for workspace, role in zip(held, ("url-server", "store-server"), strict=True):
        workspace.lock(SystemClock(), role)
    with SqliteCatalog.open(held[0].catalog, CatalogSettings(), shared=True) as catalog:
        catalog.begin_run(NOW)
        yield catalog
    for workspace in held:
        workspace.unlock()


def test_urls_can_be_added_while_daemons_run(daemons, tmp_path: Path, gossamer):
    seen = daemons.data_version()
    url = "http://a.example/"
    added = gossamer("add", url, "--dir", tmp_path / "w", "--json")
    assert json.loads(added.stdout) == {"given": 1, "new": 1}
    assert daemons.data_version() != seen
    assert [due.url for due in daemons.due(9, 9, NOW)] == [url]
    again = gossamer("add", url, "--dir", tmp_path / "w", "--json")
    assert json.loads(again.stdout) == {"given": 1, "new": 0}
    told = gossamer("add", url, "--dir", tmp_path / "w").stdout
    assert told == "0 new of 1; the URL server takes them up\n"
    assert daemons.note("start_urls") == url
    assert daemons.check() == []


def test_what_daemons_do_meanwhile_is_not_counted_as_new(daemons, tmp_path: Path):
    """A daemon enters and leases URLs all the time; only those that were given count."""
    stop = threading.Event()

    def work():
        number = 0
        while not stop.is_set():
            urls = [f"http://busy.example/{number + n}" for n in range(3)]
            number += 3
            daemons.discover([Found(url, md5_of(url), host_of(url), 1) for url in urls], NOW)
            batch = daemons.due(3, 3, NOW)
            findings = [
                Findings(due.doc_id, 0, int(Outcome.OK), 200, NOW, 1, body_bytes=1) for due in batch
            ]
            daemons.commit([Verdict(each, State.DONE) for each in findings], NOW)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for number in range(10):
            urls = [f"http://a.example/{number}", f"http://b.example/{number}"]
            assert add_urls(tmp_path / "w", urls, Settings()) == 2
            assert add_urls(tmp_path / "w", urls, Settings()) == 0
    finally:
        stop.set()
        thread.join()
    assert daemons.check() == []


def test_a_crawl_keeps_add_out_and_is_named(tmp_path: Path, gossamer):
    crawl = Workspace(tmp_path / "w")
    crawl.lock(SystemClock())
    refused = gossamer("add", "http://a.example/", "--dir", tmp_path / "w", check=3)
    assert "(crawl); wait for it" in refused.stderr
    crawl.unlock()
    with pytest.raises(WorkspaceError, match="no workspace"):
        Workspace(tmp_path / "w").require()


def test_several_adds_at_once_lose_no_start_url(tmp_path: Path):
    """Start URLs decide the scope: one that is lost would keep its whole site out."""
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "gossamer.cli", "add"),
                *(f"http://s{number}.example/{n}" for n in range(3)),
                *("--dir", str(tmp_path / "w")),
            ],
            stdout=subprocess.DEVNULL,
        )
        for number in range(6)
    ]
    assert [process.wait(timeout=60) for process in processes] == [0] * 6
    with SqliteCatalog.open(tmp_path / "w" / "catalog.db", CatalogSettings()) as catalog:
        assert catalog.counts().pending == 18
        noted = (catalog.note("start_urls") or "").splitlines()
        assert len(noted) == len(set(noted)) == 18
        assert catalog.check() == []


def test_a_start_url_is_noted_only_together_with_its_entry(tmp_path: Path, gossamer):
    """Else whoever is stopped in between leaves a workspace that is finished without a visit."""
    path = tmp_path / "w" / "catalog.db"
    path.parent.mkdir()
    SqliteCatalog.open(path, CatalogSettings()).close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER refusal BEFORE INSERT ON url BEGIN SELECT RAISE(ABORT, 'stop'); END"
        )
    with pytest.raises(CatalogError, match="cannot add URLs"):
        add_urls(path.parent, ["http://127.0.0.1:8099/"], Settings())
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER refusal")
    assert "no start URL yet" in gossamer("crawl", "--dir", path.parent, check=2).stderr
