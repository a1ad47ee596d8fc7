"""Which host crawls a URL, with any order of messages: rules only, no database."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec.structs import replace

from gossamer.catalog.propagation_rules import (
    Change,
    Hold,
    Holder,
    Judgement,
    Row,
    after_news,
    after_refusal,
    judge,
)
from gossamer.objects.enumerations import CrawlStatus

NEW, SELECTED, CRAWLED = (
    int(status) for status in (CrawlStatus.NEW, CrawlStatus.SELECTED_CRAWLING, CrawlStatus.CRAWLED)
)
A, B = Holder("a", 1), Holder("b", 2)
HOSTS = 4


class TestAClaim:
    def test_of_an_unknown_url_is_granted_and_makes_it_known(self):
        assert judge(None, A, 0) == Judgement(True, Change.INSERT)

    @pytest.mark.parametrize("status", [NEW, CRAWLED])
    def test_of_a_url_that_nobody_has_is_granted(self, status):
        assert judge(Row(status), A, 0) == Judgement(True, Change.HOLD)

    @pytest.mark.parametrize("hold", [Hold.FIRM, Hold.HERE])
    def test_of_a_url_that_another_has_is_refused(self, hold):
        assert judge(Row(SELECTED, 0, hold, B), A, 0) == Judgement(False, holder=B)

    @pytest.mark.parametrize("hold", [Hold.FIRM, Hold.HERE])
    def test_is_granted_as_often_as_it_is_repeated(self, hold):
        assert judge(Row(SELECTED, 0, hold, A), A, 0) == Judgement(True)

    def test_is_granted_where_the_host_has_not_come_to_its_own_place(self):
        assert judge(Row(SELECTED, 0, Hold.YIELDING, B), A, 0) == Judgement(True, Change.HOLD)

    @pytest.mark.parametrize("status", [NEW, CRAWLED, 5, 7])
    def test_of_a_url_that_was_crawled_here_is_refused(self, status):
        assert judge(Row(status, 1), A, 0) == Judgement(False, crawled=True)

    def test_of_a_url_that_is_due_again_has_it_crawled_again_here(self):
        row = Row(7, 1, is_due=True)
        assert judge(row, A, 0) == Judgement(False, Change.NEW, crawled=True)
        processing = replace(row, status=6)
        assert judge(processing, A, 0) == Judgement(False, crawled=True)

    def test_of_a_url_that_both_have_crawled_leaves_what_is_here(self):
        assert judge(Row(7, 1), A, 3) == Judgement(True)

    def test_of_a_root_url_changes_nothing(self):
        assert judge(Row(NEW, is_root=True), A, 0) == Judgement(True)

    def test_of_a_later_batch_takes_over_what_an_earlier_one_of_the_same_host_had(self):
        later = Holder(A.host, 9)
        assert judge(Row(SELECTED, 0, Hold.FIRM, A), later, 0) == Judgement(True, Change.HOLD)
        assert not judge(Row(SELECTED, 0, Hold.HERE, A), later, 0).granted


class TestARefusal:
    def test_leaves_the_url_to_the_batch_that_has_it(self):
        assert after_refusal(crawled=False, is_over=False) is Change.HOLD

    def test_of_a_crawled_url_settles_it(self):
        assert after_refusal(crawled=True, is_over=False) is Change.CRAWLED
        assert after_refusal(crawled=True, is_over=True) is Change.CRAWLED

    def test_that_comes_after_the_end_of_the_batch_is_out_of_date(self):
        assert after_refusal(crawled=False, is_over=True) is Change.NEW


class TestTheEndOfABatch:
    def test_settles_what_it_had(self):
        row = Row(SELECTED, 0, Hold.FIRM, A)
        assert after_news(row, A, crawled=True) is Change.CRAWLED
        assert after_news(row, A, crawled=False) is Change.NEW
        assert after_news(row, B, crawled=True) is Change.NOTHING

    def test_tells_of_urls_that_were_not_known_or_new(self):
        assert after_news(None, A, crawled=True) is Change.INSERT
        assert after_news(None, A, crawled=False) is Change.NOTHING
        assert after_news(Row(NEW), A, crawled=True) is Change.CRAWLED
        assert after_news(Row(NEW), A, crawled=False) is Change.NOTHING

    @pytest.mark.parametrize(
        "row",
        [
            Row(NEW, 1),
            Row(7, 1),
            Row(NEW, is_root=True),
            Row(3, 1, Hold.HERE, A),
            Row(SELECTED, 0, Hold.YIELDING, B),
        ],
    )
    def test_leaves_alone_what_is_this_hosts_own(self, row):
        assert after_news(row, A, crawled=True) is Change.NOTHING


class Host:
    """One host that knows one URL; what it does, the rules have decided."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.row: Row | None = None
        self.batch = 0
        self.to_ask: deque[int] = deque()
        """Places that are still to be asked for the batch that is held."""
        self.answer: Judgement | None = None
        """What the last host that was asked has said; it is still on its way."""
        self.crawls = False
        self.is_known = False
        """Whether somebody may believe that the batch has the URL."""
        self.over: set[Holder] = set()
        self.news: dict[int, deque[tuple[Holder, bool]]] = {}

    @property
    def name(self) -> Holder:
        return Holder(str(self.place), self.batch)

    @property
    def has_batch(self) -> bool:
        return bool(self.to_ask) or self.answer is not None or self.crawls

    @property
    def is_held(self) -> bool:
        """Whether the batch that it asks for still has the URL."""
        return self.row is not None and self.row.holder == self.name


class Together(RuleBasedStateMachine):
    """Hosts that ask, grant, die, come back and tell, in any order; all over one URL."""

    def __init__(self) -> None:
        super().__init__()
        self.hosts = [Host(place) for place in range(HOSTS)]
        self.up = set(range(HOSTS))
        self.fetched = 0

    # What may happen.

    @rule(place=st.integers(0, HOSTS - 1))
    def finds(self, place):
        host = self.hosts[place]
        if place in self.up and host.row is None:
            host.row = Row(NEW)

    @rule(place=st.integers(0, HOSTS - 1))
    def selects(self, place):
        host = self.hosts[place]
        if place not in self.up or host.has_batch or host.row is None or host.row.status != NEW:
            return
        host.batch += 1
        host.is_known = False
        host.row = Row(SELECTED, host.row.crawled, Hold.YIELDING, host.name)
        host.to_ask = deque(range(HOSTS))

    @rule(place=st.integers(0, HOSTS - 1))
    def asks_the_next(self, place):
        host = self.hosts[place]
        if place not in self.up or not host.to_ask or host.answer is not None:
            return
        asked = host.to_ask.popleft()
        if not host.is_held:
            # Given to another meanwhile: there is nothing to ask for.
            host.to_ask.clear()
            self._end(host, crawled=False)
        elif asked == place:
            host.row = replace(host.row, hold=Hold.FIRM)
            host.is_known = True
        elif asked in self.up:
            self._ask(host, self.hosts[asked])
        self._begin_if_asked(host)

    def _begin_if_asked(self, host):
        if not host.to_ask and host.answer is None and host.is_held and not host.crawls:
            host.row = replace(host.row, status=3, hold=Hold.HERE, crawled=host.row.crawled + 1)
            host.crawls = True

    def _ask(self, host, other):
        said = judge(other.row, host.name, host.row.crawled)
        if said.change is Change.INSERT:
            other.row = Row(SELECTED, 0, Hold.FIRM, host.name)
        elif said.change is Change.HOLD:
            other.row = Row(SELECTED, other.row.crawled, Hold.FIRM, host.name)
        host.answer = said

    @rule(place=st.integers(0, HOSTS - 1))
    def hears_the_answer(self, place):
        host = self.hosts[place]
        if place not in self.up or host.answer is None:
            return
        said, host.answer = host.answer, None
        if said.granted:
            host.is_known = True
        elif host.is_held:
            self._is_refused(host, said)
        self._begin_if_asked(host)

    def _is_refused(self, host, said):
        is_over = said.holder in host.over
        match after_refusal(crawled=said.crawled, is_over=is_over):
            case Change.CRAWLED:
                host.row = Row(CRAWLED, host.row.crawled)
            case Change.NEW:
                host.row = Row(NEW, host.row.crawled)
            case Change.HOLD:
                host.row = Row(SELECTED, host.row.crawled, Hold.FIRM, said.holder)
        host.to_ask.clear()
        # Who has granted it hears that it is crawled; otherwise it would try the same in turn.
        self._end(host, crawled=said.crawled)

    @rule(place=st.integers(0, HOSTS - 1), fails=st.booleans())
    def fetches(self, place, fails):
        host = self.hosts[place]
        if place not in self.up or not host.crawls:
            return
        if not fails:
            self.fetched += 1
        host.crawls = False
        host.row = Row(NEW if fails else CRAWLED, host.row.crawled)
        self._end(host, crawled=not fails)

    def _end(self, host, *, crawled):
        host.over.add(host.name)
        if not host.is_known:
            return
        for other in range(HOSTS):
            if other != host.place:
                host.news.setdefault(other, deque()).append((host.name, crawled))

    @rule(place=st.integers(0, HOSTS - 1), other=st.integers(0, HOSTS - 1))
    def tells(self, place, other):
        host, hears = self.hosts[place], self.hosts[other]
        news = host.news.get(other)
        if not news or not {place, other} <= self.up:
            return
        holder, crawled = news.popleft()
        hears.over.add(holder)
        change = after_news(hears.row, holder, crawled=crawled)
        if change is Change.INSERT:
            hears.row = Row(CRAWLED)
        elif change in (Change.CRAWLED, Change.NEW):
            hears.row = Row(CRAWLED if change is Change.CRAWLED else NEW, hears.row.crawled)

    @rule(place=st.integers(0, HOSTS - 1))
    def goes_down(self, place):
        if len(self.up) > 1:
            self.up.discard(place)

    @rule(place=st.integers(0, HOSTS - 1))
    def comes_back(self, place):
        """Go on with what was held, from the first place on: nobody knows how far it had come."""
        host = self.hosts[place]
        if place in self.up:
            return
        self.up.add(place)
        asks = bool(host.to_ask) or host.answer is not None
        host.answer = None
        if asks:
            host.to_ask = deque(range(HOSTS))
            host.is_known = True

    # What must hold.

    @invariant()
    def nobody_crawls_what_another_crawls(self):
        assert sum(host.crawls for host in self.hosts) <= 1

    @invariant()
    def who_waits_for_a_batch_will_hear_of_it(self):
        """Nobody leaves a URL for ever to a batch that is over."""
        for host in self.hosts:
            row = host.row
            if row is None or row.hold is not Hold.FIRM or row.holder == host.name:
                continue
            owner = self.hosts[int(row.holder.host)]
            told = any(holder == row.holder for holder, _ in owner.news.get(host.place, ()))
            is_open = owner.has_batch and owner.name == row.holder
            assert is_open or told

    def teardown(self):
        """Let all come back and go on: the URL is crawled, and everybody knows."""
        if all(host.row is None for host in self.hosts):
            return
        for place in range(HOSTS):
            self.comes_back(place=place)
        for _ in range(60):
            for place in range(HOSTS):
                self.selects(place=place)
                self.asks_the_next(place=place)
                self.hears_the_answer(place=place)
                self.fetches(place=place, fails=False)
                for other in range(HOSTS):
                    self.tells(place=place, other=other)
        assert self.fetched
        known = [host.row for host in self.hosts if host.row is not None]
        assert {row.status for row in known} == {CRAWLED}


Together.TestCase.settings = settings(max_examples=200, stateful_step_count=60, deadline=None)
TestTogether = pytest.mark.req("S3.18")(Together.TestCase)


@given(st.permutations([0, 1, 2] * 3))
def test_three_hosts_that_want_the_same_at_once_agree_on_one(turns):
    """Without deaths: exactly one fetches it, whoever is quicker where."""
    hosts = Together()
    for place in range(HOSTS):
        hosts.finds(place=place)
        hosts.selects(place=place)
    for place in [*turns, *([0, 1, 2, 3] * HOSTS)]:
        hosts.asks_the_next(place=place)
        hosts.hears_the_answer(place=place)
    assert sum(host.crawls for host in hosts.hosts) == 1


def test_the_last_host_may_win_at_the_first_while_the_second_still_asks():
    """If the second did not yield, both would be refused."""
    hosts = Together()
    second, last = 1, 2
    for place in (second, last):
        hosts.finds(place=place)
        hosts.selects(place=place)
    hosts.asks_the_next(place=last)
    hosts.hears_the_answer(place=last)
    hosts.asks_the_next(place=second)  # It is refused, and does not know it yet.
    for _ in range(HOSTS):
        hosts.asks_the_next(place=last)
        hosts.hears_the_answer(place=last)
    hosts.hears_the_answer(place=second)
    assert hosts.hosts[last].crawls
    assert not hosts.hosts[second].is_held
