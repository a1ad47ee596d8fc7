"""The account of each family, and how many hosts a domain may have."""

import pytest

from gossamer.config.url import UrlSettings
from gossamer.url.census import Census
from gossamer.url.domains import DomainWatch
from gossamer.url.probation import Probation

FAMILY = "h/maze/*.html"
REASON = "nothing new: more than 10 pages without news, reached from /maze/*.html only"


@pytest.fixture
def census():
    return Census()


@pytest.fixture
def probation(census):
    return Probation(UrlSettings(max_fruitless_pages=10, trap_exempt=("free",)), census)


def judge(probation, times, *, is_new=False, family=FAMILY):
    for _ in range(times):
        probation.judge(family, is_new=is_new)


def test_a_family_without_news_is_closed_once(probation):
    judge(probation, 10)
    assert probation.refusal(FAMILY) is None
    assert probation.closed() == []
    judge(probation, 5)
    assert probation.refusal(FAMILY) == REASON
    assert probation.closed() == ["h"]
    assert probation.closed() == []


def test_one_page_with_news_makes_good_for_many_without(probation):
    for _ in range(50):
        judge(probation, 10)
        judge(probation, 1, is_new=True)
    assert probation.refusal(FAMILY) is None


def test_news_cannot_be_saved_up(probation):
    judge(probation, 500, is_new=True)
    judge(probation, 11)
    assert probation.refusal(FAMILY) == REASON


def test_families_and_hosts_are_judged_apart(probation):
    judge(probation, 20)
    judge(probation, 20, family="free/maze/*.html")
    assert probation.refusal("g/maze/*.html") is None
    assert probation.refusal("h/other/*.html") is None
    assert probation.refusal("free/maze/*.html") is None


def test_the_account_survives_a_restart(probation, census):
    judge(probation, 9)
    later = Census()
    later.load(census.counts())
    probation = Probation(UrlSettings(max_fruitless_pages=10), later)
    judge(probation, 2)
    assert probation.refusal(FAMILY) == REASON


def test_what_a_transaction_closed_that_failed_is_not_closed(probation, census):
    judge(probation, 10)
    for _ in range(2):
        census.begin()
        probation.begin()
        assert probation.refusal(FAMILY) is None
        assert probation.closed() == []
        judge(probation, 1)
        assert probation.refusal(FAMILY) == REASON


class Hosts:
    """The hosts that the catalog has let in."""

    def __init__(self, limit, census=None):
        self.open = set()
        self.census = census or Census()
        settings = UrlSettings(
            max_domain_hosts=limit, trap_exempt=("free.example", "x.evil.example")
        )
        self.watch = DomainWatch(settings, self.census)

    def commit(self, *hosts, fails=False):
        """Return the hosts that were refused."""
        self.census.begin()
        self.watch.begin(self.open.__contains__)
        refused = [host for host in hosts if self.watch.admit(host) is not None]
        if not fails:
            self.census.end()
            self.watch.end()
            self.open.update(set(hosts) - set(refused))
        return refused


def named(first, last, domain="evil.example"):
    return [f"w{number}.{domain}" for number in range(first, last)]


def test_a_domain_has_so_many_hosts_and_no_more():
    hosts = Hosts(20)
    assert hosts.commit(*named(0, 15), *named(0, 15)) == []
    assert hosts.commit(*named(10, 25)) == named(20, 25)
    assert hosts.commit(*named(0, 30)) == named(20, 30)
    assert hosts.commit(*named(0, 5, "other.example"), "evil.example", "x.evil.example") == []
    (count,) = [count for count in hosts.census.counts() if count[3]]
    assert count == (
        "evil.example",
        "*.evil.example",
        21,
        "wildcard names: more than 20 hosts of evil.example",
    )


def test_hosts_are_not_counted_again_after_a_restart():
    hosts = Hosts(20)
    hosts.commit(*named(0, 18))
    again = Hosts(20, Census())
    again.census.load(hosts.census.counts())
    again.open = hosts.open
    assert again.commit(*named(0, 18)) == []
    assert again.commit(*named(0, 22)) == named(20, 22)


def test_hosts_of_a_transaction_that_failed_are_not_counted():
    hosts = Hosts(20)
    for _ in range(5):
        assert hosts.commit(*named(0, 18), fails=True) == []
    assert hosts.commit(*named(0, 18)) == []
    assert hosts.commit(*named(18, 22)) == named(20, 22)


def test_exempt_domains_have_as_many_hosts_as_they_like():
    assert Hosts(3).commit(*named(0, 30, "free.example")) == []


@pytest.mark.parametrize("limit", [1, 3, 16, 17])
def test_any_limit_is_kept(limit):
    assert len(Hosts(limit).commit(*named(0, 40))) == 40 - limit
