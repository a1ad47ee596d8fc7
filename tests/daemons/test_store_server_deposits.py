"""The account of what was received and is not saved: pure."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.daemons.deposits import Account, Arrival, Deposits
from gossamer.messages import Due
from gossamer.wire.results import Result


def arrival(account: Account, document: bytes = b"x" * 10) -> Arrival:
    return Arrival(
        Result(1, True, 0, 10, 5, b"http://h/", document=document), account, account.take(), 1.0
    )


def due(doc_id: int) -> Due:
    return Due(doc_id, f"http://h/{doc_id}", "h")


@given(st.permutations(range(12)))
def test_saved_counts_only_what_has_no_gap_before_it(order):
    account = Account()
    for _ in order:
        account.take()
    settled = set()
    for place in order:
        account.settle(place)
        settled.add(place)
        assert account.saved == next(number for number in range(13) if number not in settled)


def test_a_deposit_is_handed_out_once_and_settled_once():
    deposits, account = Deposits(), Account()
    assert deposits.add(arrival(account), due(1))
    assert deposits.add(arrival(account), due(2))
    first = deposits.next()
    assert first is not None
    assert first.parcel().visit.url == "http://h/1"
    assert first.parcel().visit.trans_id == first.number
    assert deposits.waiting == 1
    assert (len(deposits), deposits.bytes) == (2, 20)
    deposits.reported([1])
    assert deposits.bytes == 10
    assert account.saved == 0
    assert deposits.settle([1, 1, 99]) == 1
    assert (len(deposits), account.saved) == (1, 1)


def test_a_repetition_shares_the_fate_of_the_first():
    deposits, one, other = Deposits(), Account(), Account()
    assert deposits.add(arrival(one), due(1))
    assert not deposits.add(arrival(other), due(1))
    assert deposits.bytes == 10
    assert deposits.waiting == 1
    assert other.saved == 0
    assert deposits.settle([1]) == 2
    assert (one.saved, other.saved) == (1, 1)


def test_what_a_worker_lost_waits_again_but_nothing_that_is_in_the_archive():
    deposits, account = Deposits(), Account()
    for number in (1, 2, 3):
        deposits.add(arrival(account), due(number))
    for _ in range(3):
        deposits.next()
    deposits.reported([2])
    deposits.again([1, 2, 3, 99])
    waiting = {deposits.next().due.doc_id, deposits.next().due.doc_id}
    assert waiting == {1, 3}
    assert deposits.next() is None


def test_deaths_are_counted_for_each_document():
    deposits, account = Deposits(), Account()
    deposits.add(arrival(account), due(1))
    assert [deposits.died(1), deposits.died(1), deposits.died(7)] == [1, 2, 0]
    assert deposits.due_of(1) == due(1)
    assert deposits.due_of(7) is None
