"""Rules of a link to a Spider that need no socket: credit, and since when an order counts."""

import pytest

from gossamer.crawl.crew import UNLIMITED
from gossamer.daemons.flow import Flow
from gossamer.daemons.transactions import Transactions, Word


class TestCredit:
    """`GET n` (A1)."""

    def test_auto_pushes_after_the_grace_unless_a_get_came(self):
        flow = Flow("auto", 0.5, 10.0)
        assert flow.room(10.4) == 0
        assert flow.decides_at == 10.5
        assert flow.room(10.5) == UNLIMITED
        asked = Flow("auto", 0.5, 10.0)
        asked.granted(3)
        assert asked.decides_at is None
        assert asked.room(99.0) == 3

    def test_what_was_pushed_before_the_first_get_uses_up_nothing(self):
        flow = Flow("auto", 0.0, 0.0)
        assert flow.room(0.0) == UNLIMITED
        flow.spent(7)
        flow.granted(2)
        assert flow.room(0.0) == 2

    def test_credit_adds_up_and_is_spent(self):
        flow = Flow("pull", 0.5, 0.0)
        assert flow.room(99.0) == 0
        flow.granted(2)
        flow.granted(3)
        flow.spent(4)
        assert flow.room(99.0) == 1

    def test_credit_has_a_limit(self):
        flow = Flow("pull", 0.5, 0.0)
        for _ in range(3):
            flow.granted(2**31 - 1)
        assert flow.room(0.0) == 2**31 - 1
        flow.spent(1)
        assert flow.room(0.0) == 2**31 - 2

    def test_push_knows_no_limit(self):
        flow = Flow("push", 0.5, 0.0)
        flow.granted(1)
        flow.spent(5)
        assert flow.room(0.0) == UNLIMITED


def opened(*trans_ids: int, at: float = 0.0) -> Transactions:
    transactions = Transactions(update_seconds=30.0)
    transactions.ordered(trans_ids)
    transactions.written(at)
    return transactions


class TestStarts:
    """Gaps count from the start of a request, which a Spider may tell or not."""

    def test_a_spider_that_tells_is_waited_for(self):
        transactions = opened(1, 2)
        assert transactions.working(1, 0.2) is Word.FIRST
        assert transactions.working(1, 0.3) is Word.FURTHER
        assert transactions.starts_at() is None
        assert transactions.starts(20.0) == []

    def test_one_without_a_word_for_a_second_is_silent_and_its_orders_count_as_written(self):
        transactions = opened(1, 2, at=5.0)
        assert transactions.starts(5.9) == []
        assert transactions.starts_at() == 6.0
        assert transactions.starts(6.0) == [(1, 5.0), (2, 5.0)]
        transactions.ordered([3])
        transactions.written(7.0)
        assert transactions.starts(7.0) == [(3, 7.0)]

    def test_one_whose_first_word_is_done_is_silent(self):
        transactions = opened(1, 2, at=5.0)
        assert transactions.done(1)
        assert transactions.starts(5.1) == [(2, 5.0)]

    def test_a_sign_of_life_does_not_make_it_a_telling_one_but_an_early_word_does(self):
        transactions = opened(1)
        assert transactions.starts(1.0) == [(1, 0.0)]
        transactions.working(1, 30.0)
        transactions.ordered([2])
        transactions.written(31.0)
        assert transactions.starts(31.0) == [(2, 31.0)]
        transactions.working(2, 33.0)
        transactions.ordered([3])
        transactions.written(34.0)
        assert transactions.starts(99.0) == []

    def test_once_telling_a_done_without_a_word_before_it_is_a_refused_connection(self):
        transactions = opened(1, 2, 3)
        transactions.working(1, 0.1)
        transactions.done(2)
        assert transactions.starts(9.0) == []

    def test_an_order_counts_as_written_only_when_all_of_it_is(self):
        transactions = Transactions(update_seconds=30.0)
        transactions.ordered([1])
        assert transactions.starts(5.0) == []
        transactions.written(6.0)
        assert transactions.starts(7.0) == [(1, 6.0)]

    def test_an_answer_may_come_before_the_rest_of_a_batch_is_written(self):
        transactions = Transactions(update_seconds=30.0)
        transactions.ordered([1, 2])
        assert transactions.working(1, 0.1) is Word.FIRST
        assert transactions.done(1)
        transactions.written(0.2)
        assert len(transactions) == 1
        assert transactions.starts(9.0) == []

    @pytest.mark.req("S1.29", "S1.35")
    def test_an_id_that_is_not_open_here_means_nothing(self):
        transactions = opened(1, 2)
        assert transactions.done(1)
        transactions.withdraw(2)
        for stranger in (1, 2, 3):
            assert not transactions.done(stranger)
            assert transactions.working(stranger, 0.1) is Word.STALE
        assert len(transactions) == 0
