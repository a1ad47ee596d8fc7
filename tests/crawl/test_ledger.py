import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.config.crawl import CrawlSettings
from gossamer.config.settings import Settings
from gossamer.config.urlserver import UrlServerSettings
from gossamer.crawl.ledger import Ledger, ahead_for, backlog_for
from gossamer.messages import Due, Findings, Found
from gossamer.outcomes import Outcome

FOUND = Found("http://h/found", b"0" * 16, "h", 1)


def due(doc_id: int) -> Due:
    return Due(doc_id=doc_id, url=f"http://h/{doc_id}", host="h")


def findings(trans_id: int, outcome: Outcome = Outcome.OK) -> Findings:
    return Findings(trans_id, trans_id, int(outcome), 200, 0.0, 1)


def test_a_visit_holds_its_place_until_it_is_committed():
    ledger = Ledger(concurrency=3, max_pages=0, pages=0)
    for trans_id in range(3):
        ledger.ordered(trans_id, due(trans_id), worker=0)
    assert ledger.credit() == 0
    assert ledger.reported(findings(0))
    assert ledger.in_flight == 2
    assert ledger.credit() == 0
    ledger.committed([findings(0)], pages=1)
    assert ledger.credit() == 1


def test_a_robots_txt_that_is_asked_for_holds_a_place():
    ledger = Ledger(concurrency=2, max_pages=0, pages=0)
    ledger.errands = 1
    assert ledger.credit() == 1
    ledger.errands = 2
    assert ledger.credit() == 0


def test_orders_ahead_of_their_time_are_counted_and_bounded():
    ledger = Ledger(concurrency=2, max_pages=0, pages=0, backlog=10)
    ledger.ordered(0, due(0), worker=0)
    assert (ledger.credit(), ledger.credit(4)) == (1, 5)
    for trans_id in range(1, 6):
        ledger.ordered(trans_id, due(trans_id), worker=0)
    assert (ledger.credit(), ledger.credit(4)) == (0, 0)
    ledger.take_back(5)
    assert (ledger.credit(), ledger.credit(4)) == (0, 1)
    for trans_id in range(1, 5):
        ledger.take_back(trans_id)
    assert (ledger.credit(), ledger.credit(4)) == (1, 5)
    ledger.errands = 1
    assert ledger.credit(4) == 0


def test_no_order_goes_ahead_beyond_the_page_limit_or_while_pages_are_heavy():
    ledger = Ledger(concurrency=2, max_pages=3, pages=0, backlog=10)
    assert (ledger.credit(), ledger.credit(4)) == (2, 3)
    ledger = Ledger(concurrency=2, max_pages=0, pages=0, backlog=10)
    ledger.ordered(1, due(1), worker=0)
    ledger.reported(replace(findings(1), found=(FOUND,) * 500))
    assert ledger.credit(4) == ledger.credit() <= 2


@pytest.mark.parametrize(
    ("crawl", "urlserver", "is_kept", "ahead"),
    [
        ({}, {}, False, 48),
        ({}, {}, True, 0),
        ({}, {"host_per_second": 5.0}, False, 0),
        ({}, {"address_per_second": 5.0}, False, 0),
        ({}, {"host_concurrent": 15}, False, 0),
        ({}, {"address_concurrent": 15}, False, 0),
        ({}, {"queue_len": 15}, False, 0),
        ({"workers": 0}, {}, False, 0),
        ({"workers": 17}, {}, False, 0),
    ],
)
def test_orders_go_ahead_only_where_a_free_place_is_all_that_a_request_needs(
    crawl, urlserver, is_kept, ahead
):
    settings = Settings(
        crawl=CrawlSettings(**({"concurrency": 16, "workers": 2} | crawl)),
        urlserver=UrlServerSettings(
            **({"host_per_second": 0.0, "host_concurrent": 16, "queue_len": 100} | urlserver)
        ),
    )
    assert ahead_for(settings, is_kept=is_kept) == ahead


def test_what_a_loss_of_power_may_cost_is_bounded_and_where_nothing_is_kept_more_may_wait():
    """docs/explanation/durability.md promises the first of these."""
    assert backlog_for(16) == backlog_for(200) == 512
    assert backlog_for(16, is_kept=False) == 1_024
    assert backlog_for(2) == 64


def test_the_page_limit_counts_what_may_still_become_a_page():
    ledger = Ledger(concurrency=10, max_pages=5, pages=2)
    ledger.ordered(1, due(1), worker=0)
    ledger.ordered(2, due(2), worker=0)
    assert ledger.credit() == 1
    ledger.reported(findings(1, Outcome.HTTP_4XX))
    assert ledger.credit() == 2
    ledger.reported(findings(2))
    assert ledger.credit() == 2
    ledger.committed([findings(1, Outcome.HTTP_4XX), findings(2)], pages=3)
    assert ledger.credit() == 2
    assert not ledger.limit_reached


def test_findings_of_a_visit_that_was_taken_back_are_refused():
    ledger = Ledger(concurrency=2, max_pages=0, pages=0)
    ledger.ordered(7, due(7), worker=1)
    assert ledger.take_back(7) == due(7)
    assert not ledger.reported(findings(7))
    assert ledger.in_flight == 0
    assert ledger.load(1) == 0


@given(
    st.lists(st.tuples(st.sampled_from(["order", "report", "commit", "back"]), st.integers(0, 9))),
    st.integers(0, 6),
)
def test_counts_stay_true_in_any_order_of_events(events: list[tuple[str, int]], max_pages: int):
    """Orders that respect the credit keep every limit, and nothing goes negative."""
    ledger = Ledger(concurrency=3, max_pages=max_pages, pages=0)
    fresh = 100
    names: dict[int, int] = {}
    places: dict[int, tuple[str, int]] = {}
    waiting: list[Findings] = []
    for kind, number in events:
        if kind == "order" and ledger.credit() > 0:
            fresh += 1
            names[number] = fresh
            ledger.ordered(fresh, due(fresh), worker=number % 2, address=f"192.0.2.{number % 3}")
            places[fresh] = (f"192.0.2.{number % 3}", number % 2)
        elif kind == "report" and number in names:
            if ledger.reported(findings(names[number])):
                waiting.append(findings(names[number]))
        elif kind == "commit":
            ledger.committed(waiting, ledger.pages + len(waiting))
            waiting = []
        elif kind == "back" and number in names:
            ledger.take_back(names[number])
        assert 0 <= ledger.in_flight <= ledger.uncommitted <= 3
        assert ledger.in_flight == ledger.load(0) + ledger.load(1)
        out = [places[trans_id] for trans_id in ledger.everything()]
        for address in ("192.0.2.0", "192.0.2.1", "192.0.2.2"):
            holders = {worker for place, worker in out if place == address}
            assert ledger.holder_of(address) in (holders or {None})
        if max_pages:
            assert ledger.pages <= max_pages


def test_an_address_is_held_by_the_worker_with_the_oldest_claim_until_its_last_visit_is_over():
    ledger = Ledger(concurrency=9, max_pages=0, pages=0)
    assert ledger.holder_of("192.0.2.1") is None
    for trans_id, worker in enumerate((1, 0, 1)):
        ledger.ordered(trans_id, due(trans_id), worker, "192.0.2.1")
    ledger.ordered(9, due(9), 0, "192.0.2.2")
    assert ledger.holder_of("192.0.2.1") == 1
    ledger.delivered(0)
    assert ledger.holder_of("192.0.2.1") == 1
    ledger.take_back(2)
    assert ledger.holder_of("192.0.2.1") == 0
    ledger.reported(findings(1))
    assert ledger.holder_of("192.0.2.1") is None
    assert ledger.holder_of("192.0.2.2") == 0


def test_a_delivered_visit_holds_its_place_until_that_is_marked_and_may_still_become_a_page():
    ledger = Ledger(concurrency=2, max_pages=3, pages=0)
    ledger.held = 5
    ledger.ordered(1, due(1), worker=0)
    ledger.ordered(2, due(2), worker=1)
    assert (ledger.worker_of(2), ledger.worker_of(3)) == (1, None)
    ledger.delivered(1)
    ledger.delivered(99)
    assert (ledger.in_flight, ledger.uncommitted, ledger.credit()) == (1, 2, 0)
    ledger.handed_over(1)
    assert (ledger.uncommitted, ledger.held, ledger.awaited) == (1, 4, 1)
    # One is out, one awaited: one more may become the third page.
    assert ledger.credit() == 1
    # The catalog has a page and no delivered lease any more, but four leases of ours.
    ledger.looked_up(pages=1, leased=4)
    assert (ledger.awaited, ledger.credit()) == (0, 1)
    # A result that comes before its DONE: the page counts, its order does not count twice.
    ledger.looked_up(pages=2, leased=3)
    assert (ledger.awaited, ledger.credit()) == (-1, 1)


def heavy(trans_id: int) -> Findings:
    """Findings of a page with 50,000 links."""
    return replace(findings(trans_id), found=(FOUND,) * 50_000)


def test_findings_with_many_urls_are_few_at_a_time():
    """They take 40 MB each: 320 of them would take all the memory there is."""
    ledger = Ledger(concurrency=64, max_pages=0, pages=0, backlog=256)
    while ledger.credit():
        trans_id = ledger.waiting
        ledger.ordered(trans_id, due(trans_id), worker=0)
        ledger.reported(heavy(trans_id))
    assert 1 <= ledger.waiting <= 4
    ledger.committed([heavy(0)] * ledger.waiting, pages=4)
    assert 1 <= ledger.credit() <= 8


def test_heavy_pages_never_stop_a_crawl_and_are_forgotten():
    ledger = Ledger(concurrency=1, max_pages=0, pages=0)
    for trans_id in range(100):
        assert ledger.credit() == 1
        page = heavy(trans_id) if trans_id < 50 else findings(trans_id)
        ledger.ordered(trans_id, due(trans_id), worker=0)
        ledger.reported(page)
        assert ledger.credit() == 0
        ledger.committed([page], pages=trans_id)
    ledger = Ledger(concurrency=64, max_pages=0, pages=0, backlog=256)
    for trans_id in range(200):
        page = heavy(trans_id) if trans_id < 10 else findings(trans_id)
        ledger.ordered(trans_id, due(trans_id), worker=0)
        ledger.reported(page)
        ledger.committed([page], pages=trans_id)
    assert ledger.credit() == 64


@given(
    st.lists(st.lists(st.sampled_from([0, 0, 3, 499, 500, 1_700]), max_size=5), max_size=6),
    st.integers(0, 9),
)
def test_findings_count_together_what_they_count_one_by_one(
    batches: list[list[int]], max_pages: int
):
    together = Ledger(concurrency=40, max_pages=max_pages, pages=0, backlog=8)
    apart = Ledger(concurrency=40, max_pages=max_pages, pages=0, backlog=8)
    trans_id = 0
    for batch in batches:
        pages = []
        for count in batch:
            trans_id += 1
            # Every third was given up meanwhile.
            for ledger in (together, apart) if trans_id % 3 else ():
                ledger.ordered(trans_id, due(trans_id), worker=trans_id % 2)
            pages.append(replace(findings(trans_id), found=(FOUND,) * count))
        kept = together.all_reported(pages)
        assert kept == [page for page in pages if apart.reported(page)]
        for ledger in (together, apart):
            ledger.committed(kept[::2], pages=ledger.pages)
        assert vars(together) == vars(apart)
        assert together.credit() == apart.credit()
