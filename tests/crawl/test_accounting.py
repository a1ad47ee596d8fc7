"""The account is right at every moment: discovered = done + pending + leased + excluded + failed.

The numbers that the program gives are compared with a count over the URLs themselves, both from one
moment of the same database, read by this test and not by the program.
"""

import json
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from harness import RunGossamer, command, crawl

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.fakeweb.process import FakeWeb
from gossamer.outcomes import State
from self_stopping import signal_at

SNAPSHOTS = 500
STATES = [state.name.lower() for state in State]
WEB = {
    "pages": 3_000,
    "hosts": 6,
    "seed": 12,
    "latency_ms": 5,
    "page_bytes": 600,
    "links_per_page": 8,
    "gone": 200,
    "redirects": 200,
    "disallowed": 200,
    "duplicates": 100,
    "robots": {5: "503"},
}
FLAGS = (
    *("--delay", "0", "--per-host", "4", "--concurrency", "16", "--workers", "1", "--quiet"),
    *("--set", "crawl.patience_seconds=0"),
)


def snapshot(path: Path) -> dict[str, int] | None:
    """Return the URLs in each state by count; fail unless every stored number agrees with it."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        tables = reader.execute("SELECT name FROM sqlite_master WHERE name = 'total'").fetchall()
        if not tables:
            return None
        counted = dict(reader.execute("SELECT state, count(*) FROM url GROUP BY state"))
        by_state = {name: counted.get(number, 0) for number, name in enumerate(STATES)}
        columns = ", ".join(STATES)
        totals = reader.execute(f"SELECT {columns} FROM total").fetchone()
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in STATES)
        hosts = reader.execute(f"SELECT {sums} FROM host").fetchone()
        (discovered,) = reader.execute("SELECT count(*) FROM url").fetchone()
    assert totals == tuple(by_state.values())
    assert hosts == tuple(by_state.values())
    assert discovered == sum(by_state.values())
    return by_state


def identity_holds(gossamer: RunGossamer, workspace: Path) -> bool:
    numbers = json.loads(gossamer("status", "--dir", workspace, "--json").stdout)["counts"]
    return bool(numbers["discovered"] == sum(numbers[name] for name in STATES))


@pytest.mark.slow
def test_the_account_is_right_at_every_moment_of_a_crawl(tmp_path: Path, gossamer: RunGossamer):
    seen: list[dict[str, int]] = []
    rounds = 0
    with FakeWeb(**WEB) as web:
        while len(seen) < SNAPSHOTS:
            rounds += 1
            workspace = tmp_path / f"w{rounds}"
            argv = command(web, workspace, *FLAGS)
            with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as process:
                while process.poll() is None:
                    found = (workspace / "catalog.db").exists() and snapshot(
                        workspace / "catalog.db"
                    )
                    if found:
                        seen.append(found)
                        # Only now: a round that has just begun has nothing to show yet.
                        if len(seen) % 100 == 99:
                            assert identity_holds(gossamer, workspace)
                    time.sleep(0.002)
                assert process.returncode == 5
    for name in STATES:
        assert len({found[name] for found in seen}) > 1, f"{name} never changed"
    with SqliteCatalog.open(workspace / "catalog.db", CatalogSettings(), read_only=True) as catalog:
        assert catalog.check() == []
        counts = catalog.counts()
    assert {name: getattr(counts, name) for name in STATES} == snapshot(workspace / "catalog.db")


def test_the_account_is_right_after_a_kill_and_a_restart(tmp_path: Path, gossamer: RunGossamer):
    """What was out when the program died is still counted, as leased, until it runs again."""
    workspace = tmp_path / "w"
    with FakeWeb(**{**WEB, "pages": 600, "latency_ms": 20, "robots": {}}) as web:
        midway = web.truth()["pages"][100]
        mortal = signal_at(tmp_path, midway, signal.SIGKILL, whole_group=True)
        process = subprocess.run(
            command(web, workspace, *FLAGS, *mortal),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=120,
            check=False,
        )
        assert process.returncode == -signal.SIGKILL
        killed = snapshot(workspace / "catalog.db")
        assert killed is not None
        assert killed["leased"] > 0
        assert identity_holds(gossamer, workspace)
        crawl(web, workspace, *FLAGS)
    ended = snapshot(workspace / "catalog.db")
    assert ended is not None
    assert (ended["leased"], ended["pending"]) == (0, 0)
    assert identity_holds(gossamer, workspace)
