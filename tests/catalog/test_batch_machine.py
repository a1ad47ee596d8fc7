"""Batches of several iterations over made-up webs, ended by chance: what always holds."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.catalog.batch_facts import BatchOrder, BatchState, Wanted
from gossamer.objects.enumerations import CrawlStatus
from sites_rig import NORMAL, Sites

PAGES = 12
URLS = [f"https://example.org/{number}" for number in range(PAGES)]
ENDED = (BatchState.FINISHED, BatchState.FAILED)

webs = st.lists(st.lists(st.integers(0, PAGES - 1), max_size=4), min_size=PAGES, max_size=PAGES)
moves = st.lists(st.sampled_from(["commit", "commit", "wait", "kill", "expire"]), max_size=40)


@settings(max_examples=60, deadline=None)
@given(
    web=webs,
    moves=moves,
    roots=st.integers(1, 3),
    max_iterations=st.integers(1, 5),
    max_items=st.none() | st.integers(1, 8),
    pauses=st.booleans(),
    drops=st.booleans(),
)
def test_whatever_happens_a_batch_keeps_its_limits_and_its_accounts(
    web: list[list[int]],
    moves: list[str],
    roots: int,
    max_iterations: int,
    max_items: int | None,
    pauses: bool,
    drops: bool,
) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        rig = Sites(folder)
        one = rig.site(*URLS[:roots])
        order = BatchOrder(
            NORMAL,
            seconds=100.0,
            max_iterations=max_iterations,
            max_items=max_items,
            pauses=pauses,
            drops_rest=drops,
        )
        items = [Wanted(one, number + 1) for number in range(roots)]
        batch, _ = rig.catalog.accept_batch(order, items, rig.now)
        visits: Counter[str] = Counter()
        # Enough steps for the largest batch to end, whatever the moves were.
        for move in [*moves, *["commit"] * 60, "expire"]:
            if rig.catalog.batch_state(batch) is BatchState.BETWEEN:
                rig.catalog.go_on(batch, rig.now)
            if move == "commit":
                for due in rig.lease(1):
                    visits[due.url] += 1
                    links = [URLS[number] for number in web[URLS.index(due.url)]]
                    rig.commit(rig.bring(due, *links))
            elif move == "kill":
                rig.lease(2)
                rig.catalog.begin_run(rig.now)
            elif move == "wait":
                rig.now += 7
                rig.catalog.expire_batches(rig.now)
            else:
                rig.now += 101
                rig.catalog.expire_batches(rig.now)
        rows = rig.catalog.batch_items(batch)
        assert rig.catalog.batch_state(batch) in ENDED
        assert max(visits.values(), default=0) <= 1
        assert len(rows) <= (max_items or PAGES)
        assert max((row.iteration for row in rows), default=1) <= max_iterations
        assert {row.url for row in rows if row.state == 1} == set(visits)
        statuses = rig.members(one)
        assert set(statuses.values()) <= {CrawlStatus.NEW, CrawlStatus.CRAWLED}
        assert {url for url, status in statuses.items() if status == CrawlStatus.CRAWLED} == set(
            visits
        )
        assert set(URLS[:roots]) <= set(statuses)
        assert rig.lease() == []
        rig.close()
    finally:
        shutil.rmtree(folder)
