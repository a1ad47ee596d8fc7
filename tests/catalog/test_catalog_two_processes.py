"""Two processes work on one catalog, as the daemons do, and either is killed at random moments."""

import random
import subprocess
import sys
import time
from collections import Counter

import pytest
from catalog_rig import NOW, done

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.outcomes import State

ROUNDS = 25
KEEP_SECONDS = 3_600.0

# Each says what it did after the catalog has acknowledged it; `urls` names each URL that it entered
# or leased with its number.

URL_SERVER = """
import random, sys
from catalog_rig import NOW, found
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings

path, life = sys.argv[1], int(sys.argv[2])
draw = random.Random(life)
catalog = SqliteCatalog.open(path, CatalogSettings(), shared=True)
catalog.begin_run(NOW, keep_delivered_seconds=3600.0)
print("ready", flush=True)
number = last = 0
while True:
    batch = [
        found(f"http://u{n % 5}.example/{life}/{n}") for n in range(number, number + 4)
    ]
    ids = catalog.add(batch, NOW)
    print("urls", *(f"{i}={item.url}" for i, item in zip(ids, batch, strict=True)), flush=True)
    number += 4
    leased = catalog.due(12, 4, NOW)
    print("urls", *(f"{due.doc_id}={due.url}" for due in leased), flush=True)
    print("leased", *(due.doc_id for due in leased), flush=True)
    catalog.mark_delivered([due.doc_id for due in leased if draw.random() < 0.7], NOW)
    catalog.release([due.doc_id for due in leased if draw.random() < 0.1], NOW)
    if draw.random() < 0.1:
        catalog.release_undelivered(NOW + 1, 0.0)
    for learned in catalog.results_after(last, 1000):
        assert learned.fetch_id == last + 1, (learned, last)
        last = learned.fetch_id
    catalog.data_version()
"""

STORE_SERVER = """
import random, sys
from catalog_rig import NOW, done, failure, found
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.outcomes import Outcome, State

path, life = sys.argv[1], int(sys.argv[2])
draw = random.Random(life)
catalog = SqliteCatalog.open(path, CatalogSettings(), shared=True)
print("ready", flush=True)
number = 0
while True:
    known = max(1, catalog.counts().discovered)
    asked = {draw.randint(1, known) for _ in range(40)} | set(range(known - 40, known))
    dues = list(catalog.dues(asked).values())
    parent = dues[0].doc_id if dues else None
    hops = [found(f"http://s{n % 3}.example/{life}/hop/{number}/{n}", 1) for n in range(2)]
    adopted = catalog.adopt([*hops, *(found(due.url) for due in dues[:1])], parent, NOW)
    dues += [due for due in adopted if due is not None]
    print("urls", *(f"{due.doc_id}={due.url}" for due in dues), flush=True)
    verdicts, expected = [], []
    for due in dues:
        number += 1
        new = found(f"http://s{number % 3}.example/{life}/{number}", 2)
        if number % 7 == 0:
            verdicts.append(failure(due, Outcome.NET_RESET, State.PENDING))
        else:
            verdicts.append(done(due, [new, found(due.url)], checksum=b"%d" % (number // 2)))
    stale = set(catalog.commit(verdicts, NOW).stale)
    judged = [verdict.findings.doc_id for verdict in verdicts if verdict.state is State.DONE]
    print("done", *(doc_id for doc_id in judged if doc_id not in stale), flush=True)
"""


class Actor:
    """A process that is started again and again; it writes to a file, so that it never waits."""

    def __init__(self, code, path, name):
        self.code = code
        self.path = path
        self.log = path.with_name(f"{name}.log")
        self.lives = 0
        self.start()

    def start(self):
        self.lives += 1
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", self.code, self.path, str(self.lives)],
                stdout=log,
                stderr=subprocess.PIPE,
                text=True,
                env={"PYTHONPATH": ":".join(sys.path)},
            )

    def await_ready(self):
        while not self.log.stat().st_size:
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.005)

    def await_said(self, *keywords):
        """Wait until it has said something of each kind in this life."""
        while True:
            lines = [line.split() for line in self.log.read_text().splitlines(keepends=True)[:-1]]
            if set(keywords) <= {line[0] for line in lines if len(line) > 1}:
                return
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.005)

    def kill(self):
        """Kill it and return what it said; nothing else may have ended it."""
        assert self.process.poll() is None, self.process.communicate()[1]
        self.process.kill()
        assert self.process.communicate()[1] == ""
        lines = self.log.read_text().splitlines(keepends=True)
        return [line.split() for line in lines if line.endswith("\n")]


class Witness:
    """Remembers what was acknowledged, and compares the catalog with it."""

    def __init__(self):
        self.urls = {}
        self.numbers = {}
        self.done = set()
        self.said = Counter()

    def hear(self, lines):
        for keyword, *words in lines:
            self.said[keyword] += len(words)
            if keyword == "urls":
                for word in words:
                    number, _, url = word.partition("=")
                    assert self.urls.setdefault(int(number), url) == url, "one number for two URLs"
                    assert self.numbers.setdefault(url, number) == number, "two numbers for one URL"
            elif keyword == "done":
                self.done.update(map(int, words))

    def examine(self, catalog):
        assert catalog.check() == []
        rows = {row.doc_id: row for row in catalog.rows()}
        for doc_id, url in self.urls.items():
            assert rows[doc_id].url == url
        assert all(rows[doc_id].state is State.DONE for doc_id in self.done), "a verdict was lost"
        assert len({row.url for row in rows.values()}) == len(rows)


@pytest.mark.timeout(300)
def test_two_writers_that_are_killed_at_random_lose_and_double_nothing(tmp_path):
    path = tmp_path / "catalog.db"
    seed = random.randrange(1 << 32)
    print("seed", seed)
    draw = random.Random(seed)
    witness = Witness()
    url_server = Actor(URL_SERVER, path, "url-server")
    store_server = Actor(STORE_SERVER, path, "store-server")
    for actor in (url_server, store_server):
        actor.await_ready()
    for _ in range(ROUNDS):
        time.sleep(draw.random() ** 2 * 0.2)
        victims = draw.choice([[url_server], [store_server], [url_server, store_server]])
        for victim in victims:
            witness.hear(victim.kill())
        with SqliteCatalog.open(path, CatalogSettings(), read_only=True) as catalog:
            assert catalog.check() == []
        for victim in victims:
            victim.start()
            victim.await_ready()
    url_server.await_said("leased")
    store_server.await_said("urls", "done")
    for actor in (url_server, store_server):
        witness.hear(actor.kill())
    print(witness.said)
    assert min(witness.said[keyword] for keyword in ("urls", "leased", "done")) > 0, witness.said
    with SqliteCatalog.open(path, CatalogSettings()) as catalog:
        witness.examine(catalog)
        catalog.begin_run(NOW)
        while batch := catalog.due(1_000, 1_000, NOW):
            catalog.commit([done(due) for due in batch], NOW)
        counts = catalog.counts()
        assert counts.done == counts.discovered, "a URL would never have been offered again"
        witness.examine(catalog)
