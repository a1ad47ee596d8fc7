"""The contract of a catalog: what every backend does."""

import pytest
from catalog_rig import NOW, SqliteBackend, done, excluded, failure, found, md5_of, page

from gossamer.catalog.catalog import HostClock, RobotsRecord, TrapCount, Verdict
from gossamer.config.catalog import CatalogSettings
from gossamer.errors import CatalogError
from gossamer.messages import Kind, Pointer
from gossamer.outcomes import Outcome, State

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


def lease_all(catalog, now=NOW, **options):
    return catalog.due(1_000, 1_000, now, **options)


def urls(batch):
    return [due.url for due in batch]


class TestDiscovery:
    def test_a_new_url_gets_the_next_number_and_is_pending(self, catalog):
        assert catalog.add([found(A), found(B)], NOW) == [1, 2]
        counts = catalog.counts()
        assert (counts.discovered, counts.pending) == (2, 2)
        assert catalog.check() == []

    def test_a_known_url_is_not_entered_twice(self, catalog):
        catalog.add([found(A)], NOW)
        assert catalog.add([found(A), found(B), found(B)], NOW) == [2]
        assert catalog.counts().discovered == 2

    def test_known_urls_are_recognised_in_batches_of_any_size(self, catalog):
        all_urls = [f"{A}{number}" for number in range(1_200)]
        for size in (1, 7, 64, 600, 1_200):
            catalog.add([found(url) for url in all_urls[:size]], NOW)
        assert catalog.counts().discovered == 1_200
        assert catalog.check() == []

    def test_an_excluded_url_is_counted_with_its_reason(self, catalog):
        catalog.add([excluded(A, outcome=Outcome.POLICY_ROBOTS)], NOW)
        assert catalog.counts().excluded == 1
        assert catalog.outcome_counts() == {Outcome.POLICY_ROBOTS: 1}
        assert lease_all(catalog) == []

    def test_a_start_url_that_was_excluded_becomes_pending(self, catalog):
        """What a person names wins over what a rule kept out."""
        catalog.add([excluded(A, depth=4)], NOW)
        assert catalog.add([found(A)], NOW) == []
        (due,) = lease_all(catalog)
        assert (due.url, due.depth) == (A, 0)
        assert catalog.outcome_counts() == {}
        assert catalog.check() == []

    def test_a_shorter_way_readmits_what_a_longer_one_kept_out(self, catalog):
        """Whether a URL is within max_depth must not depend on which way to it was found first."""
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        catalog.commit([done(first, [excluded(C, 5, Outcome.POLICY_BUDGET)])], NOW)
        catalog.commit([done(second, [found(C, 3)])], NOW)
        (due,) = lease_all(catalog)
        assert (due.url, due.depth) == (C, 3)
        assert catalog.check() == []

    def test_a_link_does_not_readmit_what_was_kept_out_at_the_same_depth(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due, [excluded(C, 1), found(B, 1)])], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due, [found(C, 1)])], NOW)
        assert lease_all(catalog) == []

    def test_a_shorter_way_shortens_the_depth_of_what_is_pending(self, catalog):
        catalog.add([found(A), found(B, 7)], NOW)
        (due,) = catalog.due(1, 1, NOW, reject_hosts={"b.example"})
        catalog.commit([done(due, [found(B, 1)])], NOW)
        row = catalog.find(B)
        assert (row.depth, row.parent) == (1, A)

    def test_readmit_reopens_excluded_urls_only(self, catalog):
        catalog.add([excluded(A), found(B)], NOW)
        (entry,) = catalog.excluded()
        assert (entry.url, entry.outcome) == (A, Outcome.POLICY_SCOPE)
        assert catalog.readmit([1, 2, 99], NOW) == 1
        assert sorted(urls(lease_all(catalog))) == [A, B]
        assert catalog.check() == []

    def test_everything_about_a_found_url_reaches_the_order(self, catalog):
        catalog.add([found(A, 3, kind=int(Kind.SITEMAP), via=(B, C))], NOW)
        (due,) = lease_all(catalog)
        assert due.kind is Kind.SITEMAP
        assert due.via == (B, C)
        assert (due.host, due.depth, due.tries) == ("a.example", 3, 0)

    @pytest.mark.parametrize(("kind", "most"), [(Kind.SITEMAP, 5), (Kind.ASSET, 10)])
    def test_what_leads_to_its_like_without_an_end_is_left(self, catalog, kind, most):
        def another(number):
            return found(f"{A}{number}", kind=int(kind))

        catalog.add([another(0)], NOW)
        for number in range(1, most + 1):
            (due,) = lease_all(catalog)
            assert due.url == f"{A}{number - 1}"
            catalog.commit([done(due, [another(number), another(0)])], NOW)
        assert lease_all(catalog) == []
        (row,) = catalog.excluded()
        assert (row.url, row.outcome) == (f"{A}{most}", Outcome.POLICY_TRAP)
        # Found once more on the same way, it stays out; named by somebody, it is fetched.
        catalog.requeue_due(NOW + 1e9, 100)
        last = next(due for due in lease_all(catalog, NOW + 1e9) if due.url == f"{A}{most - 1}")
        catalog.commit([done(last, [another(most)])], NOW + 1e9)
        assert [row.url for row in catalog.excluded()] == [f"{A}{most}"]
        catalog.add([another(most)], NOW)
        assert list(catalog.excluded()) == []
        assert catalog.check() == []

    def test_pages_of_a_nested_sitemap_are_let_in(self, catalog):
        catalog.add([found(f"{A}0", kind=int(Kind.SITEMAP))], NOW)
        for number in range(1, 5):
            (due,) = lease_all(catalog)
            catalog.commit([done(due, [found(f"{A}{number}", kind=int(Kind.SITEMAP))])], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due, [found(B)])], NOW)
        assert urls(lease_all(catalog)) == [B]


class TestLeases:
    def test_a_leased_url_is_not_offered_again(self, catalog):
        catalog.add([found(A)], NOW)
        assert urls(lease_all(catalog)) == [A]
        assert lease_all(catalog) == []
        assert catalog.counts().leased == 1
        assert catalog.check() == []

    @pytest.mark.req("S1.26")
    def test_rejected_hosts_are_left_out_and_keep_their_place(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        assert urls(lease_all(catalog, reject_hosts={"a.example"})) == [B]
        assert urls(lease_all(catalog)) == [A]

    def test_a_host_gives_at_most_its_share(self, catalog):
        catalog.add([found(f"{A}{number}") for number in range(5)] + [found(B)], NOW)
        assert len(catalog.due(10, 2, NOW)) == 3

    def test_no_more_than_asked_for_is_leased(self, catalog):
        catalog.add([found(f"http://h{number}.example/") for number in range(20)], NOW)
        assert len(catalog.due(7, 3, NOW)) == 7
        assert catalog.counts().leased == 7

    def test_hosts_take_turns(self, catalog):
        """However much one host has, every other one is served before it is served again."""
        catalog.add([found(f"{A}{number}") for number in range(100)], NOW)
        catalog.add([found(f"http://h{number}.example/") for number in range(9)], NOW)
        served = [due.host for _ in range(11) for due in catalog.due(1, 1, NOW)]
        assert len(set(served[:10])) == 10
        assert served[10] == "a.example"

    def test_inside_a_host_the_first_found_comes_first(self, catalog):
        names = [f"{A}{number}" for number in (5, 3, 9, 1)]
        catalog.add([found(url) for url in names], NOW)
        assert urls(catalog.due(2, 2, NOW)) + urls(catalog.due(2, 2, NOW)) == names

    def test_priority_goes_before_age(self, catalog):
        catalog.add([found(A + "old")], NOW)
        catalog.add([found(A + "urgent")], NOW, priority=5)
        assert urls(lease_all(catalog)) == [A + "urgent", A + "old"]

    def test_retries_come_when_they_are_due_and_after_fresh_urls(self, catalog):
        catalog.add([found(A + "1")], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([failure(due, state=State.PENDING, due_at=NOW + 10)], NOW)
        assert lease_all(catalog, NOW + 9) == []
        assert catalog.next_due_at(NOW + 9) == NOW + 10
        catalog.add([found(A + "2")], NOW)
        batch = lease_all(catalog, NOW + 10)
        assert urls(batch) == [A + "2", A + "1"]
        assert batch[1].tries == 1

    def test_a_retry_of_a_drained_host_is_not_forgotten(self, catalog):
        catalog.add([found(A + "1"), found(A + "2")], NOW)
        first, second = lease_all(catalog)
        catalog.commit([failure(first, state=State.PENDING, due_at=NOW + 50)], NOW)
        catalog.commit([failure(second, state=State.PENDING, due_at=NOW + 5)], NOW)
        assert urls(lease_all(catalog, NOW + 5)) == [A + "2"]
        assert urls(lease_all(catalog, NOW + 50)) == [A + "1"]

    def test_released_urls_are_pending_and_no_try_is_counted(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        assert catalog.release([due.doc_id, 77], NOW) == 1
        assert catalog.release([due.doc_id], NOW) == 0
        (again,) = lease_all(catalog)
        assert again.tries == 0
        assert catalog.check() == []

    def test_deaths_are_remembered(self, catalog):
        catalog.add([found(A)], NOW)
        for _ in range(2):
            (due,) = lease_all(catalog)
            catalog.release([due.doc_id], NOW, died=True)
        assert catalog.deaths([due.doc_id, 99]) == {due.doc_id: 2}

    def test_a_release_may_ask_for_a_pause(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.release([due.doc_id], NOW, due_at=NOW + 3)
        assert lease_all(catalog) == []
        assert urls(lease_all(catalog, NOW + 3)) == [A]

    def test_parked_hosts_are_not_offered_until_their_time(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        parked = HostClock(host="a.example", parked_until=NOW + 60, parked_reason="net.refused")
        catalog.set_host(parked)
        catalog.add([found(A + "later")], NOW)
        assert urls(lease_all(catalog)) == [B]
        assert catalog.check() == []
        assert catalog.next_due_at(NOW) == NOW + 60
        assert urls(lease_all(catalog, NOW + 60)) == [A, A + "later"]

    def test_a_retry_does_not_end_the_parking_of_its_host(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.set_host(HostClock(host="a.example", parked_until=NOW + 60))
        catalog.commit([failure(due, state=State.PENDING, due_at=NOW + 5)], NOW)
        assert lease_all(catalog, NOW + 59) == []
        assert urls(lease_all(catalog, NOW + 60)) == [A]

    def test_a_host_that_is_unparked_is_offered_at_once(self, catalog):
        catalog.add([found(A)], NOW)
        catalog.set_host(HostClock(host="a.example", parked_until=NOW + 60))
        assert lease_all(catalog) == []
        catalog.set_host(HostClock(host="a.example"))
        assert urls(lease_all(catalog)) == [A]

    def test_what_is_due_at_a_held_host_is_not_what_is_due_next(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        assert catalog.next_due_at(NOW, ["a.example"]) == NOW
        assert catalog.next_due_at(NOW, ["a.example", "b.example"]) is None
        due = next(each for each in lease_all(catalog) if each.url == B)
        catalog.release([due.doc_id], NOW, due_at=NOW + 3)
        catalog.add([found(A + "more")], NOW)
        assert catalog.next_due_at(NOW, ["a.example"]) == NOW + 3

    def test_nothing_pending_means_no_next_time(self, catalog):
        assert catalog.next_due_at(NOW) is None
        catalog.add([found(A)], NOW)
        assert catalog.next_due_at(NOW) == NOW
        lease_all(catalog)
        assert catalog.next_due_at(NOW) is None


class TestVerdicts:
    def test_a_visit_and_what_it_found_arrive_together(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        committed = catalog.commit([done(due, [found(B, 1), excluded(C, 1), found(A)])], NOW)
        assert (committed.applied, committed.new_urls, committed.pages) == (1, 2, 1)
        counts = catalog.counts()
        assert (counts.done, counts.pending, counts.excluded, counts.discovered) == (1, 1, 1, 3)
        assert catalog.find(B).parent == A
        assert catalog.check() == []

    @pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.EXCLUDED, State.PENDING])
    def test_every_verdict_keeps_the_identity(self, catalog, state):
        catalog.add([found(A), found(B)], NOW)
        first, _ = lease_all(catalog)
        catalog.commit([failure(first, state=state, due_at=NOW + 1)], NOW)
        assert catalog.find(first.url).state is state
        assert catalog.counts().leased == 1
        assert catalog.check() == []

    def test_a_late_duplicate_changes_nothing_and_is_reported(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due)], NOW)
        committed = catalog.commit([failure(due), done(due, [found(B)])], NOW)
        assert committed.stale == (due.doc_id, due.doc_id)
        assert committed.applied == 0
        assert catalog.find(B) is None
        assert len(catalog.history(due.doc_id)) == 1
        assert catalog.check() == []

    def test_two_verdicts_in_one_batch_count_once(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        committed = catalog.commit([done(due), done(due)], NOW)
        assert (committed.applied, committed.stale) == (1, (due.doc_id,))
        assert catalog.check() == []

    def test_a_verdict_on_an_unknown_document_is_stale(self, catalog):
        assert catalog.commit([Verdict(page(12345), State.DONE)], NOW).stale == (12345,)

    def test_a_verdict_cannot_be_a_lease(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        with pytest.raises(CatalogError, match="cannot be a lease"):
            catalog.commit([Verdict(page(due.doc_id), State.LEASED)], NOW)
        assert catalog.counts().leased == 1

    def test_a_failed_transaction_leaves_nothing_behind(self, catalog):
        """Numbers given out inside it are given out again, and what was counted is not."""
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        with pytest.raises(CatalogError):
            catalog.commit(
                [done(first, [found(C)]), Verdict(page(second.doc_id), State.LEASED)], NOW
            )
        assert catalog.counts().discovered == 2
        assert catalog.add([found(C)], NOW) == [3]
        assert catalog.check() == []

    @pytest.mark.database
    def test_a_host_of_a_failed_transaction_can_be_found_again(self, catalog):
        """Numbers of hosts that were rolled back must not be remembered."""
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        broken = RobotsRecord(
            authority="http://a.example", fetched_at=None, expires_at=NOW, status=200, outcome=1
        )
        with pytest.raises(CatalogError, match="robots"):
            catalog.commit([done(due, [found(C)])], NOW, robots=[broken])
        assert catalog.counts().discovered == 1
        catalog.add([found(B), found(C)], NOW)
        assert catalog.find(C).host == "c.example"
        assert catalog.commit([done(due)], NOW).applied == 1
        assert catalog.check() == []

    def test_waiting_for_robots_counts_no_try_and_leaves_no_history(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        waiting = page(
            due.doc_id, outcome=int(Outcome.POLICY_ROBOTS_UNREACHABLE), status=0, fetched_at=0.0,
            checksum=None, detail="503",
        )  # fmt: skip
        catalog.commit([Verdict(waiting, State.PENDING, NOW + 60)], NOW)
        row = catalog.find(A)
        assert (row.tries, row.detail, row.fetch) == (0, "503", None)
        assert row.outcome is Outcome.POLICY_ROBOTS_UNREACHABLE
        assert catalog.history(due.doc_id) == []

    def test_outcomes_are_counted_by_the_latest(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        catalog.commit([failure(first, state=State.PENDING, due_at=NOW), done(second)], NOW)
        assert catalog.outcome_counts() == {Outcome.NET_RESET: 1, Outcome.OK: 1}
        catalog.commit([done(lease_all(catalog)[0])], NOW)
        assert catalog.outcome_counts() == {Outcome.OK: 2}

    def test_pages_are_counted_once_for_each_url_and_only_pages(self, catalog):
        catalog.add([found(A), found(B), found(C, kind=int(Kind.SITEMAP))], NOW)
        first, second, third = lease_all(catalog)
        catalog.commit([done(first), failure(second), done(third)], NOW)
        assert catalog.pages_done() == 1
        catalog.requeue_due(NOW + 1e9, 10)
        catalog.commit([done(due) for due in lease_all(catalog)], NOW + 1e9)
        assert catalog.pages_done() == 2
        assert catalog.check() == []

    def test_the_history_is_complete_and_the_latest_comes_first(self, catalog):
        catalog.add([found(A)], NOW)
        for outcome in (Outcome.NET_RESET, Outcome.HTTP_5XX):
            (due,) = lease_all(catalog)
            catalog.commit([failure(due, outcome, State.PENDING)], NOW)
        (due,) = lease_all(catalog)
        pointer = Pointer("w-00001.warc.gz", 100, 50)
        digest = "sha1:" + "B2A7" * 8
        catalog.commit(
            [done(due, pointer=pointer, payload_digest=digest, simhash=2**64 - 3, title="T")], NOW
        )
        latest, *earlier = catalog.history(due.doc_id)
        assert [row.outcome for row in earlier] == [Outcome.HTTP_5XX, Outcome.NET_RESET]
        assert (latest.pointer, latest.payload_digest) == (pointer, digest)
        assert (latest.simhash, latest.title, latest.body_bytes) == (2**64 - 3, "T", 1_000)
        assert catalog.find(A).fetch == latest


def leave_a_wait(catalog):
    """Leave a URL that has to wait for a minute, on a host that has to wait for half of one."""
    catalog.begin_run(NOW - 10)
    catalog.add([found(A)], NOW)
    (due,) = lease_all(catalog)
    retry = failure(due, state=State.PENDING, due_at=NOW + 60)
    catalog.commit([retry], NOW, hosts=[HostClock(host="a.example", next_allowed_at=NOW + 30)])


def assert_it_waits_as_long(catalog, now):
    catalog.begin_run(now)
    assert catalog.host_clock("a.example").next_allowed_at == pytest.approx(now + 30)
    assert lease_all(catalog, now + 59) == []
    assert urls(lease_all(catalog, now + 61)) == [A]
    assert catalog.check() == []


def visited_with_a_link(catalog):
    """Commit a page that links to itself and has a record; return it as it is due again."""
    catalog.add([found(A)], NOW)
    (due,) = lease_all(catalog)
    catalog.commit([done(due, targets=md5_of(A)[:8], records=("1",))], NOW)
    catalog.requeue_due(NOW + 1e6, 1)
    (due,) = lease_all(catalog)
    return due


class TestRecrawl:
    def test_a_document_comes_back_when_its_time_has_come(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due, etag='"x"', last_modified="Tue")], NOW)
        assert catalog.requeue_due(NOW + 86_399, 10) == 0
        assert catalog.requeue_due(NOW + 86_400, 10) == 1
        assert catalog.requeue_due(NOW + 86_400, 10) == 0
        (again,) = lease_all(catalog)
        assert (again.etag, again.last_modified, again.tries) == ('"x"', "Tue", 0)
        assert catalog.check() == []

    def test_a_page_that_changes_is_visited_more_often_and_one_that_does_not_less(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        now = NOW
        for visit in range(3):
            batch = {due.url: due for due in lease_all(catalog, now)}
            catalog.commit([done(batch[A], checksum=md5_of(f"{visit}")), done(batch[B])], now)
            now += 1e7
            catalog.requeue_due(now, 10)
        changing, steady = catalog.find(A), catalog.find(B)
        assert (changing.changes, steady.changes) == (2, 0)
        batch = {due.url: due for due in lease_all(catalog, now)}
        catalog.commit([done(batch[A], checksum=b"new"), done(batch[B])], now)
        assert catalog.find(A).next_fetch_at - now == 86_400 / 8
        assert catalog.find(B).next_fetch_at - now == 86_400 * 1.5**3

    def test_not_modified_keeps_what_is_known_of_the_document(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due, etag='"x"', title="T", simhash=5)], NOW)
        catalog.requeue_due(NOW + 1e6, 1)
        (due,) = lease_all(catalog)
        unchanged = page(
            due.doc_id, outcome=int(Outcome.NOT_MODIFIED), status=304, body_bytes=0, checksum=None,
            content_type="",
        )  # fmt: skip
        catalog.commit([Verdict(unchanged, State.DONE)], NOW + 1e6)
        row = catalog.find(A)
        assert row.outcome is Outcome.NOT_MODIFIED
        assert row.fetch.checksum == md5_of("body 1")
        assert (row.fetch.etag, row.fetch.title, row.fetch.content_type) == (
            '"x"',
            "T",
            "text/html",
        )
        assert row.changes == 0
        assert catalog.pages_done() == 1

    @pytest.mark.parametrize("state", [State.PENDING, State.FAILED])
    def test_a_failed_visit_does_not_lose_what_the_page_was(self, catalog, state):
        """Neither its links nor what handlers made of it: nobody has said that they are gone."""
        first = visited_with_a_link(catalog)
        catalog.commit([failure(first, Outcome.HTTP_5XX, state)], NOW + 1e6)
        assert list(catalog.links()) == [(A, A)]
        assert list(catalog.records()) == [(A, "1")]

    @pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.HTTP_4XX])
    def test_links_and_records_of_an_earlier_version_go_with_it(self, catalog, outcome):
        """Also when the page has none any more, or is no more."""
        due = visited_with_a_link(catalog)
        verdict = done(due) if outcome is Outcome.OK else failure(due, outcome)
        catalog.commit([verdict], NOW + 1e6)
        assert list(catalog.links()) == []
        assert list(catalog.records()) == []

    def test_a_failed_try_in_between_does_not_lose_the_validators(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due, etag='"x"')], NOW)
        catalog.requeue_due(NOW + 1e6, 1)
        (due,) = lease_all(catalog)
        catalog.commit([failure(due, state=State.PENDING)], NOW + 1e6)
        (due,) = lease_all(catalog)
        assert due.etag == '"x"'

    def test_a_clock_that_was_ahead_puts_off_no_visit_beyond_the_longest_interval(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due)], NOW + 1e9)
        assert catalog.requeue_due(NOW, 10) == 0
        longest = CatalogSettings().recrawl_max_seconds
        assert catalog.find(A).next_fetch_at == NOW + longest
        assert catalog.requeue_due(NOW + longest, 10) == 1

    def test_many_come_back_a_few_at_a_time(self, catalog, monkeypatch):
        """Neither memory nor the log grows with their number."""
        monkeypatch.setattr("gossamer.catalog.sqlite._REQUEUED_AT_ONCE", 3)
        catalog.add([found(f"http://a.example/{number}") for number in range(8)], NOW)
        catalog.commit([done(due) for due in lease_all(catalog)], NOW)
        assert catalog.requeue_due(NOW + 1e6, 7) == 7
        assert catalog.requeue_due(NOW + 1e6, 7) == 1
        assert catalog.counts().pending == 8
        assert catalog.check() == []

    def test_failed_urls_come_back_too(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        catalog.commit([failure(first), failure(second, Outcome.HTTP_4XX, due_at=NOW + 5)], NOW)
        assert catalog.requeue_due(NOW + 5, 10) == 1
        assert urls(lease_all(catalog)) == [B]


class TestContents:
    def test_the_same_body_makes_a_duplicate_of_the_first(self, catalog):
        catalog.add([found(A), found(B), found(C)], NOW)
        first, second, third = lease_all(catalog)
        catalog.commit([done(first, checksum=b"same")], NOW)
        catalog.commit([done(second, checksum=b"same"), done(third)], NOW)
        assert catalog.find(B).duplicate_of == A
        assert catalog.find(A).duplicate_of is None
        assert catalog.find(C).duplicate_of is None
        assert catalog.counts().duplicates == 1
        assert catalog.check() == []

    def test_duplicates_inside_one_batch_are_seen(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        catalog.commit([done(due, checksum=b"same") for due in lease_all(catalog)], NOW)
        assert catalog.find(B).duplicate_of == A

    def test_duplicates_are_seen_wherever_they_stand_in_a_large_batch(self, catalog):
        urls = [f"https://a.example/{number}" for number in range(100)]
        copies = {5: 3, 40: 3, 70: 2, 99: 98}
        catalog.add([found(url) for url in urls], NOW)
        dues = catalog.due(100, 100, NOW)
        bodies = [(copies.get(number, number) + 1).to_bytes(16, "big") for number in range(100)]
        verdicts = [done(due, checksum=body) for due, body in zip(dues, bodies, strict=True)]
        catalog.commit(verdicts, NOW)
        assert {row.url: row.duplicate_of for row in catalog.rows() if row.duplicate_of} == {
            urls[copy]: urls[first] for copy, first in copies.items()
        }
        assert catalog.counts().duplicates == len(copies)
        assert catalog.check() == []

    def test_in_a_large_batch_each_visit_and_each_url_keeps_what_is_its_own(self, catalog):
        catalog.add([found(f"https://a.example/{number}") for number in range(70)], NOW)
        dues = catalog.due(70, 70, NOW)
        new = [
            excluded(f"https://a.example/new/{number}", 2)
            if number % 30 == 7
            else found(f"https://a.example/new/{number}", 1 + number % 2)
            for number in range(90)
        ]
        verdicts = [
            failure(due) if number % 40 == 9 else done(due, detail="cut" if number == 50 else "")
            for number, due in enumerate(dues)
        ]
        verdicts[0] = done(dues[0], new)
        catalog.commit(verdicts, NOW)
        rows = {row.url: row for row in catalog.rows()}
        for number, due in enumerate(dues):
            failed = number % 40 == 9
            assert rows[due.url].state == (State.FAILED if failed else State.DONE)
            assert rows[due.url].outcome == (Outcome.NET_RESET if failed else Outcome.OK)
            assert rows[due.url].detail == ("cut" if number == 50 else "")
        for item in new:
            row = rows[item.url]
            assert (row.state, row.outcome, row.depth) == (item.state, item.outcome, item.depth)
        assert catalog.check() == []

    def test_a_duplicate_that_is_gone_is_no_duplicate_any_more(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        catalog.commit([done(due, checksum=b"same") for due in lease_all(catalog)], NOW)
        catalog.requeue_due(NOW + 1e6, 10)
        batch = {due.url: due for due in lease_all(catalog)}
        catalog.commit([failure(batch[B], state=State.PENDING)], NOW)
        assert catalog.find(B).duplicate_of == A
        catalog.commit([failure(due) for due in lease_all(catalog)], NOW)
        assert catalog.find(B).duplicate_of is None
        assert catalog.check() == []

    def test_empty_bodies_and_error_pages_are_no_duplicates(self, catalog):
        catalog.add([found(A), found(B), found(C)], NOW)
        first, second, third = lease_all(catalog)
        catalog.commit(
            [
                done(first, checksum=b"same", body_bytes=0),
                done(second, checksum=b"same", body_bytes=0),
                done(third, checksum=b"same", status=404, outcome=int(Outcome.HTTP_4XX)),
            ],
            NOW,
        )
        assert catalog.counts().duplicates == 0

    def test_a_document_that_changes_is_no_duplicate_any_more(self, catalog):
        catalog.add([found(A), found(B)], NOW)
        catalog.commit([done(due, checksum=b"same") for due in lease_all(catalog)], NOW)
        catalog.requeue_due(NOW + 1e6, 10)
        batch = {due.url: due for due in lease_all(catalog)}
        catalog.commit([done(batch[A], checksum=b"same"), done(batch[B], checksum=b"own")], NOW)
        assert catalog.find(B).duplicate_of is None
        assert catalog.counts().duplicates == 0
        assert catalog.check() == []

    def test_near_duplicates_are_grouped_by_the_first(self, catalog):
        catalog.add([found(A), found(B), found(C)], NOW)
        hashes = {A: 0b1111 << 60, B: (0b1111 << 60) ^ 0b111, C: (0b1111 << 60) ^ 0b1111}
        catalog.commit([done(due, simhash=hashes[due.url]) for due in lease_all(catalog)], NOW)
        near = {row.url: row.near_duplicate_of for row in catalog.rows()}
        assert near == {A: None, B: A, C: None}
        assert catalog.near_duplicate_count() == 1

    def test_a_body_is_found_by_its_checksum(self, catalog):
        digest = "sha1:" + "A2B3" * 8
        body = b"c" * 16
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        pointer = Pointer("w.warc.gz", 0, 10)
        assert catalog.find_content(body) is None
        stored = {"payload_digest": digest, "pointer": pointer, "checksum": body}
        catalog.commit([done(first, **stored, fetched_at=NOW + 1)], NOW)
        catalog.commit([done(second, **stored)], NOW)
        assert catalog.find_content(body) == (A, NOW + 1, digest, pointer)
        assert catalog.find_content(b"d" * 16) is None

    def test_bodies_that_came_since_a_try_are_told(self, catalog):
        catalog.add([found(A), found(B), found(C)], NOW)
        bodies = [b"a" * 16, None, b"c" * 16]
        dues = lease_all(catalog)
        catalog.commit(
            [done(due, checksum=body) for due, body in zip(dues, bodies, strict=True)], NOW
        )
        told = catalog.bodies_after(0, 10)
        assert [body for _, body in told] == bodies
        assert catalog.bodies_after(told[0][0], 10) == told[1:]
        assert catalog.bodies_after(0, 2) == told[:2]
        assert catalog.bodies_after(told[-1][0], 10) == []

    def test_how_far_archive_files_are_good_is_known(self, catalog):
        catalog.add([found(A), found(B), found(C)], NOW)
        pointers = [Pointer("x", 100, 10), Pointer("x", 50, 10), Pointer("y", 7, 3)]
        verdicts = [
            done(due, pointer=pointer)
            for due, pointer in zip(lease_all(catalog), pointers, strict=True)
        ]
        catalog.commit(verdicts, NOW)
        assert catalog.known_good() == {"x": 110, "y": 10}


class TestReading:
    def test_rows_give_every_url_once_in_order(self, catalog):
        catalog.add([found(f"{A}{number}") for number in range(1_203)], NOW)
        rows = list(catalog.rows())
        assert [row.doc_id for row in rows] == list(range(1, 1_204))
        assert rows[0].state is State.PENDING
        assert rows[0].md5 == md5_of(A + "0")

    def test_rows_end_although_new_urls_arrive(self, catalog):
        """A walk ends at what was known when it began: an export beside a fast crawl ends too."""
        catalog.add([found(f"{A}{number}") for number in range(600)], NOW)
        rows = catalog.rows()
        next(rows)
        catalog.add([found(f"{B}{number}") for number in range(600)], NOW)
        assert sum(1 for _ in rows) == 599

    def test_links_are_pairs_of_known_urls(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        targets = b"".join(md5_of(url)[:8] for url in (B, "http://unknown.example/", A))
        catalog.commit([done(due, [found(B)], targets=targets)], NOW)
        assert list(catalog.links()) == [(A, B), (A, A)]

    def test_a_new_visit_replaces_the_links(self, catalog):
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due, [found(B)], targets=md5_of(B)[:8])], NOW)
        catalog.requeue_due(NOW + 1e6, 1)
        (due,) = [due for due in lease_all(catalog) if due.url == A]
        catalog.commit([done(due, targets=md5_of(A)[:8])], NOW)
        assert list(catalog.links()) == [(A, A)]

    def test_links_can_be_left_out(self, backend):
        catalog = backend.open(keep_links=False)
        catalog.begin_run(NOW)
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([done(due, targets=md5_of(A)[:8])], NOW)
        assert list(catalog.links()) == []

    def test_an_unknown_url_is_not_found(self, catalog):
        assert catalog.find(A) is None
        assert catalog.history(1) == []

    def test_hosts_are_listed_by_size(self, catalog):
        catalog.add([found(A), found(B), found(B + "2")], NOW)
        first, second = catalog.host_rows(5)
        assert (first.host, first.pending) == ("b.example", 2)
        assert second.host == "a.example"
        assert len(catalog.host_rows(1)) == 1

    def test_fetches_are_counted_from_a_moment_on(self, catalog):
        assert catalog.first_fetched_at() is None
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        catalog.commit([done(first), done(second, fetched_at=NOW + 30)], NOW)
        assert catalog.fetched_since(NOW + 10) == 1
        assert catalog.first_fetched_at() == NOW
        assert catalog.counts().fetches == 2


class TestMemories:
    def test_host_clocks_survive(self, backend, catalog):
        clock = HostClock(
            host="a.example", next_allowed_at=NOW + 5, delay_seconds=2.5, address="192.0.2.1",
            failures_in_a_row=3, parked_until=NOW + 9, parked_reason="http.429",
        )  # fmt: skip
        catalog.commit([], NOW, hosts=[clock, HostClock(host="b.example", delay_seconds=1)])
        catalog.close()
        again = backend.open()
        assert again.host_clocks(NOW) == [clock]
        assert again.host_clock("b.example").delay_seconds == 1
        assert again.host_clock("c.example") is None

    def test_robots_records_survive(self, backend, catalog):
        record = RobotsRecord(
            authority="https://a.example:444", fetched_at=NOW, expires_at=NOW + 9, status=200,
            outcome=int(Outcome.OK), body=b"User-agent: *\n", crawl_delay=1.5, failures=2,
        )  # fmt: skip
        catalog.put_robots(record)
        catalog.close()
        again = backend.open()
        assert again.robots("https://a.example:444") == record
        assert again.robots("https://a.example") is None

    def test_trap_counts_are_kept_with_the_commit(self, catalog):
        first = TrapCount("a.example", "/cal/{n}", 10)
        second = TrapCount("a.example", "/x", 3, "calendar-like")
        catalog.commit([], NOW, traps=[first, second])
        catalog.commit([], NOW, traps=[TrapCount("a.example", "/cal/{n}", 11)])
        assert catalog.traps() == [second, TrapCount("a.example", "/cal/{n}", 11)]

    def test_notes_are_kept(self, catalog):
        assert catalog.note("start") is None
        catalog.put_note("start", "one")
        catalog.put_note("start", "two")
        assert catalog.note("start") == "two"


class TestRuns:
    def test_the_first_run_is_clean(self, backend):
        recovery = backend.open().begin_run(NOW)
        assert (recovery.clean, recovery.released) == (True, 0)

    def test_after_a_crash_leases_return(self, backend, catalog):
        catalog.add([found(A), found(B), found(C)], NOW)
        catalog.due(2, 1, NOW)
        catalog.close()
        again = backend.open()
        recovery = again.begin_run(NOW)
        assert (recovery.clean, recovery.released) == (False, 2)
        assert again.check() == []
        assert len(lease_all(again)) == 3

    def test_a_clean_stop_is_known_and_runs_are_numbered(self, backend, catalog):
        catalog.end_run(NOW)
        catalog.close()
        recovery = backend.open().begin_run(NOW)
        assert (recovery.clean, recovery.run_id) == (True, 2)

    def test_recovery_can_be_repeated(self, backend, catalog):
        catalog.add([found(A), found(B)], NOW)
        lease_all(catalog)
        states = []
        for _ in range(5):
            catalog.close()
            catalog = backend.open()
            catalog.begin_run(NOW)
            states.append(catalog.counts())
            assert catalog.check() == []
        assert set(states) == {states[0]}

    def test_a_clock_that_was_a_day_ahead_stalls_nothing(self, backend, catalog):
        """Stored waits are cut to the longest there is, for URLs, hosts and clocks alike."""
        catalog.add([found(A), found(B)], NOW)
        first, second = lease_all(catalog)
        ahead = NOW + 86_400
        catalog.commit(
            [failure(due, state=State.PENDING, due_at=ahead + 30) for due in (first, second)],
            ahead,
            hosts=[HostClock(host="a.example", next_allowed_at=ahead, parked_until=ahead + 30)],
        )
        catalog.close()
        again = backend.open()
        again.begin_run(NOW, longest_wait_seconds=100)
        assert again.host_clock("a.example").parked_until == NOW + 100
        assert len(lease_all(again, NOW + 100)) == 2

    @pytest.mark.parametrize("back_seconds", [1.0, 3_600.0, 1e9])
    def test_a_clock_set_back_between_two_runs_prolongs_no_wait(
        self, backend, catalog, back_seconds
    ):
        """Nor does it shorten any: what had to wait a minute still has to."""
        leave_a_wait(catalog)
        catalog.end_run(NOW)
        assert_it_waits_as_long(backend.open(), NOW - back_seconds)

    def test_a_clock_that_was_ahead_long_ago_shortens_no_wait(self, backend, catalog):
        catalog.begin_run(NOW + 1e9)
        catalog.add([found(B)], NOW + 1e9)
        catalog.commit([done(due) for due in lease_all(catalog, NOW + 1e9)], NOW + 1e9)
        catalog.end_run(NOW + 1e9)
        catalog.close()
        again = backend.open()
        leave_a_wait(again)
        again.end_run(NOW)
        again.close()
        assert_it_waits_as_long(backend.open(), NOW)

    def test_the_clock_of_a_killed_run_is_known_by_what_it_fetched(self, tmp_path):
        """Not where others share the catalog, who may go by the clock of another machine."""
        backend = SqliteBackend(tmp_path)
        leave_a_wait(backend.open())
        assert_it_waits_as_long(backend.open(), NOW - 3_600)
        backend.close()

    def test_a_retry_does_not_wait_for_a_clock_that_was_set_back_while_running(self, catalog):
        catalog.begin_run(NOW)
        catalog.add([found(A)], NOW)
        (due,) = lease_all(catalog)
        catalog.commit([failure(due, state=State.PENDING, due_at=NOW + 60)], NOW)
        back = NOW - 3_600
        assert lease_all(catalog, back) == []
        assert urls(lease_all(catalog, back + 61)) == [A]

    def test_a_clock_set_back_while_running_stalls_nothing(self, catalog):
        catalog.begin_run(NOW, longest_wait_seconds=100)
        catalog.add([found(f"{A}{number}") for number in range(3)], NOW)
        (due,) = catalog.due(1, 1, NOW)
        catalog.commit([failure(due, state=State.PENDING, due_at=NOW + 50)], NOW)
        back = NOW - 86_400
        assert len(catalog.due(1, 1, back)) == 1
        assert len(lease_all(catalog, back)) == 1
        assert urls(lease_all(catalog, back + 100)) == [due.url]


@pytest.mark.database
class TestReaders:
    def test_a_reader_sees_what_is_committed_and_never_blocks_the_writer(self, backend, catalog):
        catalog.add([found(f"{A}{number}") for number in range(1_000)], NOW)
        reader = backend.open(read_only=True)
        rows = reader.rows()
        next(rows)
        batch = lease_all(catalog)
        catalog.commit([done(due) for due in batch], NOW)
        assert reader.counts().done == 1_000
        assert sum(1 for _ in rows) == 999
        assert reader.check() == []

    def test_a_reader_cannot_write(self, backend, catalog):
        reader = backend.open(read_only=True)
        with pytest.raises(CatalogError, match="opened for reading"):
            reader.add([found(A)], NOW)
