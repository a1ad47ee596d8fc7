"""Killed at random moments, a writer loses nothing that it was told is committed."""

import random
import subprocess
import sys
import time

from catalog_rig import NOW

from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.outcomes import State

KILLS = 30

WRITER = """
import sys
from catalog_rig import NOW, done, failure, found
from gossamer.catalog.catalog import HostClock
from gossamer.catalog.sqlite import SqliteCatalog
from gossamer.config.catalog import CatalogSettings
from gossamer.outcomes import Outcome, State

catalog = SqliteCatalog.open(sys.argv[1], CatalogSettings())
recovery = catalog.begin_run(NOW)
print("run", recovery.released, flush=True)
number = int(sys.argv[2]) * 1_000_000
catalog.add([found(f"http://h{n}.example/{number}") for n in range(5)], NOW)
while True:
    batch = catalog.due(20, 5, NOW)
    print("leased", len(batch), flush=True)
    verdicts = []
    for due in batch:
        number += 1
        new = [found(f"http://h{number % 7}.example/{number}"), found(due.url)]
        if number % 9 == 0:
            verdicts.append(failure(due, Outcome.NET_RESET, State.PENDING))
        else:
            verdicts.append(done(due, new * (1 + number % 2), checksum=b"%d" % (number // 2)))
    catalog.commit(verdicts, NOW, hosts=[HostClock(host="h1.example", delay_seconds=number)])
    judged = [v.findings.doc_id for v in verdicts if v.state is State.DONE]
    print("done", number, *judged, flush=True)
"""


def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path):
    path = tmp_path / "catalog.db"
    seed = random.randrange(1 << 32)
    print("seed", seed)
    draw = random.Random(seed)
    acknowledged: set[int] = set()
    clock = 0
    for kill in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, path, str(kill)],
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": ":".join(sys.path)},
        )
        assert process.stdout is not None
        began = process.stdout.readline()
        assert began.startswith("run ")
        # The first one may commit before it is killed, however long that takes.
        committed = (
            "" if kill else next(line for line in process.stdout if line.startswith("done "))
        )
        time.sleep(draw.random() ** 3 * 0.15)
        process.kill()
        report = committed + process.communicate()[0]
        for line in report.splitlines(keepends=True):
            if line.startswith("done ") and line.endswith("\n"):
                number, *doc_ids = map(int, line.split()[1:])
                acknowledged.update(doc_ids)
                clock = number
        with SqliteCatalog.open(path, CatalogSettings()) as catalog:
            assert catalog.check() == []
            rows = {row.doc_id: row for row in catalog.rows()}
            assert all(rows[doc_id].state is State.DONE for doc_id in acknowledged)
            assert all(rows[doc_id].fetch is not None for doc_id in acknowledged)
            if clock:
                assert catalog.host_clock("h1.example").delay_seconds >= clock
            leased = catalog.counts().leased
            assert leased <= 20
            assert catalog.begin_run(NOW).released == leased
            assert catalog.counts().leased == 0
            assert catalog.check() == []
    assert acknowledged, "the writer was always killed before it could commit anything"
