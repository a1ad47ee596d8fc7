"""robots.txt on the way into the Active range (S1.7, A12, the table of 3.9)."""

import pytest
from urlserver_setup import NEVER, NO_ROBOTS, due, dues, finish, make, offer, prepare

from gossamer.messages import Done, Manner
from gossamer.outcomes import Outcome
from gossamer.urlserver.robots_rules import RuleSet
from gossamer.urlserver.urlserver import (
    FetchRobots,
    Resolution,
    Resolve,
    Rest,
    RobotsAnswer,
    RobotsState,
)

_DAY = 86_400.0


def rules(text):
    return RobotsAnswer(Outcome.OK, status=200, body=text.encode())


def asked(server, now):
    """Resolve what is to be resolved; return the robots.txt files to fetch."""
    errands = []
    for _ in range(3):
        server.orders(now, 0)
        for need in server.needs(now):
            if isinstance(need, Resolve):
                server.resolved(need.host, Resolution((f"10.0.0.{len(need.host)}",), NEVER), now)
            else:
                errands.append(need)
    return errands


def first_errand(server, batch, now=0.0):
    server.offer(batch, now)
    asked(server, now)
    assert server.orders(now, 10) == []
    (errand,) = asked(server, now)
    return errand


@pytest.mark.req("S1.7")
def test_robots_txt_is_the_first_request_to_an_authority():
    server = make()
    errand = first_errand(server, dues("a.test", 3))
    assert (errand.authority, errand.url) == ("http://a.test", "http://a.test/robots.txt")
    assert server.orders(1.0, 10) == []
    server.robots_answer(errand.authority, NO_ROBOTS, 2.0)
    assert len(server.orders(2.0, 10)) == 2


@pytest.mark.req("S1.7")
def test_a_disallowed_url_ends_and_is_never_an_order():
    server = make(host_concurrent=10)
    errand = first_errand(server, dues("a.test", 4))
    server.robots_answer(errand.authority, rules("User-agent: *\nDisallow: /2"), 1.0)
    assert [visit.url[-1] for visit in server.orders(1.0, 10)] == ["0", "1", "3"]
    (ended,) = server.verdicts(1.0)
    assert (ended.due.url, ended.outcome) == ("http://a.test/2", Outcome.POLICY_ROBOTS)


def test_each_scheme_and_port_has_its_own_rules():
    server = make(host_concurrent=10)
    server.offer([due("http://a.test/x"), due("https://a.test/x"), due("http://a.test:81/x")], 0.0)
    authorities = []
    for _ in range(6):
        visits = server.orders(0.0, 10)
        for errand in asked(server, 0.0):
            authorities.append(errand.authority)
            server.robots_answer(errand.authority, NO_ROBOTS, 0.0)
        for visit in visits:
            finish(server, visit, 0.0)
    assert sorted(authorities) == ["http://a.test", "http://a.test:81", "https://a.test"]
    assert server.empty


def test_fetching_robots_txt_counts_in_the_limits():
    server = make(host_per_second=1.0, host_concurrent=1)
    errand = first_errand(server, dues("a.test", 1))
    assert errand.report_start
    server.robots_answer(errand.authority, RobotsAnswer(Outcome.HTTP_4XX, 404, sent_at=0.5), 0.8)
    assert server.orders(1.49, 10) == []
    assert len(server.orders(1.5, 10)) == 1


def test_the_start_of_a_robots_fetch_lets_other_hosts_of_the_address_go_on():
    server = make(host_per_second=1.0, address_per_second=2.0)
    server.offer([*dues("a.test", 1), *dues("b.test", 1)], 0.0)
    asked(server, 0.0)
    server.orders(0.0, 10)
    (errand,) = asked(server, 0.0)
    assert server.orders(9.0, 10) == []
    server.started(errand.trans_id, 9.0)
    server.orders(9.5, 10)
    (other,) = asked(server, 9.5)
    assert {errand.host, other.host} == {"a.test", "b.test"}


def test_crawl_delay_is_a_lower_bound_from_the_robots_request_on():
    server = make(host_concurrent=3)
    errand = first_errand(server, dues("a.test", 3))
    answer = RobotsAnswer(Outcome.OK, 200, b"User-agent: gossamer\nCrawl-delay: 7\n", sent_at=0.25)
    server.robots_answer(errand.authority, answer, 1.0)
    assert server.orders(7.24, 10) == []
    (visit,) = server.orders(7.25, 10)
    assert visit.report_start
    finish(server, visit, 7.5, sent_at=7.25)
    assert server.orders(14.2, 10) == []
    assert len(server.orders(14.25, 10)) == 1


def test_the_longest_gap_is_that_of_a_host_in_use_and_in_no_trouble():
    server = make(host_per_second=0.5)
    assert server.longest_gap() == server.usual_gap == 2.0
    errand = first_errand(server, dues("a.test", 2))
    server.robots_answer(errand.authority, rules("User-agent: *\nCrawl-delay: 7"), 0.0)
    assert (server.usual_gap, server.longest_gap()) == (2.0, 7.0)
    (visit,) = server.orders(10.0, 10)
    finish(server, visit, 10.5, Outcome.HTTP_5XX, sent_at=10.0)
    assert server.longest_gap() == 2.0


def test_who_is_waited_for_is_told_and_why():
    server = make(host_per_second=0.5)
    assert server.rest(0.0) is None
    errand = first_errand(server, dues("a.test", 3))
    assert server.rest(0.0) is None
    server.robots_answer(errand.authority, rules("User-agent: *\nCrawl-delay: 3600"), 0.0)
    assert server.rest(600.0) == Rest("a.test", 3_000.0, 3_600.0, crawl_delay=True, failures=0)
    assert server.rest(3_600.0) is None


def test_a_host_that_is_waited_for_after_a_failure_is_told_as_such():
    server = make(retry_back_off_seconds=20)
    offer(server, dues("a.test", 3), 0.0)
    for visit in server.orders(0.0, 2):
        finish(server, visit, 1.0, Outcome.HTTP_5XX, sent_at=0.0)
    assert server.rest(2.0) == Rest("a.test", 19.0, 20.0, crawl_delay=False, failures=1)


def test_crawl_delay_cannot_speed_up_and_is_clamped():
    server = make(host_per_second=0.5, max_back_off_seconds=30.0)
    fast = first_errand(server, dues("fast.test", 2))
    server.robots_answer(fast.authority, rules("User-agent: *\nCrawl-delay: 0.01"), 0.0)
    assert server.orders(1.99, 10) == []
    assert len(server.orders(2.0, 10)) == 1
    slow = first_errand(server, dues("slow-host.test", 2), 100.0)
    server.robots_answer(slow.authority, rules("User-agent: *\nCrawl-delay: 1e9"), 100.0)
    assert len(server.orders(130.0, 10)) >= 1


@pytest.mark.parametrize(
    "answer",
    [
        RobotsAnswer(Outcome.HTTP_5XX, status=503),
        RobotsAnswer(Outcome.HTTP_429, status=429),
        RobotsAnswer(Outcome.NET_TIMEOUT_CONNECT),
        RobotsAnswer(Outcome.TLS_UNTRUSTED),
        RobotsAnswer(Outcome.BODY_SHORT, status=200, body=b"User-agent: *"),
    ],
)
def test_pages_stay_pending_while_robots_txt_cannot_be_read(answer):
    server = make(robots_retry_seconds=60.0)
    batch = dues("a.test", 3)
    errand = first_errand(server, batch)
    record = server.robots_answer(errand.authority, answer, 1.0)
    assert record.state is RobotsState.UNREACHABLE
    ended = server.verdicts(1.0)
    assert {each.due.doc_id for each in ended} == {each.doc_id for each in batch}
    assert {each.outcome for each in ended} == {Outcome.POLICY_ROBOTS_UNREACHABLE}
    assert {each.retry_after_seconds for each in ended} == {60.0}
    server.offer(batch, 30.0)
    assert server.orders(30.0, 10) == []
    assert asked(server, 30.0) == []
    assert len(server.verdicts(30.0)) == 3
    server.offer(batch, 61.0)
    assert server.orders(61.0, 10) == []
    assert len(asked(server, 61.0)) == 1


def test_rules_are_fetched_anew_after_a_day_and_pages_wait_for_them():
    server = make(host_concurrent=1)
    errand = first_errand(server, dues("a.test", 3))
    server.robots_answer(errand.authority, NO_ROBOTS, 0.0)
    (visit,) = server.orders(0.0, 10)
    finish(server, visit, _DAY + 1)
    assert server.orders(_DAY + 1, 10) == []
    (errand,) = asked(server, _DAY + 1)
    server.robots_answer(errand.authority, rules("User-agent: *\nDisallow: /"), _DAY + 2)
    assert server.orders(_DAY + 2, 10) == []
    assert [each.outcome for each in server.verdicts(_DAY + 2)] == [Outcome.POLICY_ROBOTS] * 2


def test_a_good_copy_is_used_while_its_refresh_fails():
    server = make(host_concurrent=1)
    errand = first_errand(server, [due("http://a.test/no"), *dues("a.test", 3)])
    server.robots_answer(errand.authority, rules("User-agent: *\nDisallow: /no"), 0.0)
    (visit,) = server.orders(0.0, 10)
    finish(server, visit, _DAY + 1)
    server.verdicts(_DAY + 1)
    server.orders(_DAY + 1, 10)
    (errand,) = asked(server, _DAY + 1)
    server.robots_answer(errand.authority, RobotsAnswer(Outcome.HTTP_4XX, 429), _DAY + 1)
    server.offer([due("http://a.test/no/2")], _DAY + 2)
    seen = []
    for now in (_DAY + 2, _DAY + 3, _DAY + 4):
        for visit in server.orders(now, 10):
            seen.append(visit.url)
            finish(server, visit, now)
    assert seen == ["http://a.test/1", "http://a.test/2"]
    assert [each.due.url for each in server.verdicts(_DAY + 5)] == ["http://a.test/no/2"]


def redirect(location):
    return RobotsAnswer(Outcome.OK, status=301, location=location)


def test_redirects_are_followed_politely_and_the_rules_count_for_the_first_authority():
    server = make(host_per_second=1.0)
    errand = first_errand(server, [due("http://a.test/no"), due("http://a.test/yes")])
    assert server.robots_answer(errand.authority, redirect("https://longer.test/r"), 0.0) is None
    asked(server, 0.0)
    server.orders(0.0, 10)
    (hop,) = asked(server, 0.0)
    assert (hop.authority, hop.url) == ("http://a.test", "https://longer.test/r")
    assert hop.address != errand.address
    assert server.robots_answer(hop.authority, redirect("/final"), 0.1) is None
    assert asked(server, 0.5) == []
    server.orders(1.1, 10)
    (hop,) = asked(server, 1.1)
    assert hop.url == "https://longer.test/final"
    server.robots_answer(hop.authority, rules("User-agent: *\nDisallow: /no"), 1.2)
    (visit,) = server.orders(9.0, 10)
    assert visit.url == "http://a.test/yes"


def test_five_hops_are_followed_and_the_sixth_is_unreachable():
    server = make()
    errand = first_errand(server, dues("a.test", 1))
    for hop in range(5):
        assert server.robots_answer("http://a.test", redirect(f"/hop{hop}"), float(hop)) is None
        server.orders(float(hop), 10)
        (errand,) = asked(server, float(hop))
        assert errand.url.endswith(f"/hop{hop}")
    record = server.robots_answer("http://a.test", redirect("/hop6"), 9.0)
    assert record.state is RobotsState.UNREACHABLE


@pytest.mark.parametrize("location", ["ftp://a.test/r", "javascript:x", "http://", "/robots.txt"])
def test_a_redirect_that_leads_nowhere_is_unreachable(location):
    server = make()
    errand = first_errand(server, dues("a.test", 1))
    record = server.robots_answer(errand.authority, redirect(location), 0.0)
    assert record.state is RobotsState.UNREACHABLE


@pytest.mark.parametrize("outcome", [Outcome.DNS_NXDOMAIN, Outcome.POLICY_PRIVATE_ADDRESS])
def test_a_hop_to_a_host_that_cannot_be_asked_is_unreachable(outcome):
    server = make()
    errand = first_errand(server, dues("a.test", 2))
    server.robots_answer(errand.authority, redirect("http://other.test/r"), 0.0)
    (need,) = server.needs(0.0)
    server.resolved(need.host, Resolution((), 60.0, outcome), 0.0)
    ended = server.verdicts(0.0)
    assert [each.outcome for each in ended] == [Outcome.POLICY_ROBOTS_UNREACHABLE] * 2


@pytest.mark.parametrize(
    ("named", "host", "is_asked"),
    [
        ("a.test", "a.test", False),
        ("a.test", "b.a.test", True),
        ("*.a.test", "b.a.test", False),
        ("*.a.test", "c.b.a.test", False),
        ("*.a.test", "a.test", True),
        ("*.a.test", "ba.test", True),
    ],
)
def test_robots_txt_of_named_hosts_can_be_set_aside(named, host, is_asked):
    server = make(robots_ignore={named: "our own site"})
    server.offer(dues(host, 1), 0.0)
    prepare(server, 0.0)
    assert len(server.orders(0.0, 10)) == (0 if is_asked else 1)
    assert len(server.needs(0.0)) == is_asked


def test_a_stored_robots_txt_is_used_after_a_restart_as_old_as_it_is():
    server = make(host_concurrent=1)
    stored = rules("User-agent: *\nDisallow: /no")
    server.restore_robots("http://a.test", stored, age_seconds=_DAY - 10, now=0.0)
    server.offer([due("http://a.test/no"), *dues("a.test", 2)], 0.0)
    prepare(server, 0.0)
    (visit,) = server.orders(0.0, 10)
    assert visit.url == "http://a.test/0"
    finish(server, visit, 11.0)
    assert server.orders(11.0, 10) == []
    (need,) = server.needs(11.0)
    assert isinstance(need, FetchRobots)


def test_a_robots_fetch_that_got_lost_is_sent_again_and_in_the_end_is_unreachable():
    server = make(timeout_spider_status_seconds=90, max_retries=2)
    errand = first_errand(server, dues("a.test", 1))
    now = 0.0
    for _ in range(2):
        now += 90.0
        assert server.overdue(now) == []
        server.orders(now, 10)
        (again,) = asked(server, now)
        assert again.trans_id != errand.trans_id
    now += 90.0
    server.overdue(now)
    (ended,) = server.verdicts(now)
    assert ended.outcome is Outcome.POLICY_ROBOTS_UNREACHABLE
    assert server.robots_answer("http://a.test", NO_ROBOTS, now) is None


def test_a_robots_fetch_is_tried_at_the_next_address_first():
    server = make()
    server.offer(dues("a.test", 1), 0.0)
    (need,) = server.needs(0.0)
    server.resolved(need.host, Resolution(("10.0.0.1", "10.0.0.2"), NEVER), 0.0)
    server.orders(0.0, 10)
    (errand,) = server.needs(0.0)
    server.robots_answer(errand.authority, RobotsAnswer(Outcome.NET_REFUSED), 1.0)
    server.orders(1.0, 10)
    (errand,) = server.needs(1.0)
    assert errand.address == "10.0.0.2"


def test_a_stored_robots_txt_does_not_replace_one_that_was_fetched_since():
    server = make()
    errand = first_errand(server, dues("a.test", 1))
    server.robots_answer(errand.authority, rules("User-agent: *\nDisallow: /"), 0.0)
    server.restore_robots("http://a.test", NO_ROBOTS, age_seconds=100.0, now=1.0)
    assert server.orders(1.0, 10) == []
    assert [each.outcome for each in server.verdicts(1.0)] == [Outcome.POLICY_ROBOTS]


# ------------------------------------------------------------------------- through proxies

DIRECT, ONE, TWO = None, Manner(proxy="http://one:1"), Manner(proxy="http://two:2")


def test_robots_txt_is_asked_through_the_proxy_of_the_url_and_counts_for_that_proxy_only():
    server = make(host_concurrent=10)
    batch = [due(f"http://a.test/{manner}", manner=manner) for manner in (ONE, DIRECT, TWO)]
    answers = {"http://one:1": "Disallow:", "": "Disallow: /", "http://two:2": "Disallow:"}
    server.offer(batch, 0.0)
    seen, visits = [], []
    for _ in range(6):
        for errand in asked(server, 0.0):
            assert errand.url == "http://a.test/robots.txt"
            seen.append(errand.proxy)
            text = f"User-agent: *\n{answers[errand.proxy]}"
            server.robots_answer(errand.authority, rules(text), 0.0)
        visits += server.orders(0.0, 10)
    assert seen == ["http://one:1", "", "http://two:2"]
    assert [visit.manner for visit in visits] == [ONE, TWO]
    (ended,) = server.verdicts(0.0)
    assert (ended.due.manner, ended.outcome) == (DIRECT, Outcome.POLICY_ROBOTS)


def test_a_proxy_that_is_not_there_ends_its_urls_and_blames_nobody_else():
    server = make(host_concurrent=10)
    manners = (ONE, ONE, DIRECT)
    urls = [due(f"http://a.test/{n}", manner=manner) for n, manner in enumerate(manners)]
    errand = first_errand(server, urls)
    assert errand.proxy == "http://one:1"
    server.robots_answer(errand.authority, RobotsAnswer(Outcome.NET_REFUSED), 1.0)
    ended = server.verdicts(1.0)
    assert [(each.due.url[-1], each.outcome) for each in ended] == [
        ("0", Outcome.NET_REFUSED),
        ("1", Outcome.NET_REFUSED),
    ]
    server.orders(1.0, 10)
    (errand,) = asked(server, 1.0)
    assert errand.proxy == ""
    server.robots_answer(errand.authority, NO_ROBOTS, 1.0)
    assert [visit.url[-1] for visit in server.orders(1.0, 10)] == ["2"]
    # The host itself has done nothing wrong, and the proxy may be well the next time.
    assert all(not clock.strikes for clock in server.host_clocks(1.0))
    again = first_errand(server, [due("http://a.test/3", manner=ONE)], 2.0)
    assert again.proxy == "http://one:1"


@pytest.mark.parametrize("manner", [DIRECT, ONE])
def test_only_what_the_server_said_counts_for_it_behind_a_proxy(manner):
    server = make(host_concurrent=10)
    errand = first_errand(server, [due("http://a.test/0", manner=manner)])
    server.robots_answer(errand.authority, NO_ROBOTS, 0.0)
    (visit,) = server.orders(0.0, 10)
    finish(server, visit, 1.0, Outcome.NET_TIMEOUT_HEADERS)
    strikes = max((clock.strikes for clock in server.host_clocks(1.0)), default=0)
    assert strikes == (1 if manner is DIRECT else 0)


def test_a_server_that_is_overloaded_is_left_alone_behind_a_proxy_too():
    server = make(host_concurrent=10)
    errand = first_errand(server, [due("http://a.test/0", manner=ONE)])
    server.robots_answer(errand.authority, NO_ROBOTS, 0.0)
    (visit,) = server.orders(0.0, 10)
    server.done(Done(visit.trans_id, int(Outcome.HTTP_429), 429, 1.0, 30.0), 1.0)
    server.offer([due("http://a.test/1")], 1.0)
    assert server.orders(20.0, 10) == []


# --------------------------------------------------------------------------- other names

NAMED = Manner(agent="examplebot")


def test_what_robots_txt_says_to_another_name_counts_for_what_is_asked_for_by_it():
    server = make(host_concurrent=10)
    manners = (NAMED, None)
    batch = [due(f"http://a.test/{path}", manner=m) for m in manners for path in "xyz"]
    server.offer(batch, 0.0)
    text = "User-agent: examplebot\nDisallow: /x\n\nUser-agent: gossamer\nDisallow: /y"
    visits = []
    for _ in range(4):
        for errand in asked(server, 0.0):
            assert errand.url == "http://a.test/robots.txt"
            server.robots_answer(errand.authority, rules(text), 0.0)
        visits += server.orders(0.0, 10)
    assert [(visit.url[-1], visit.manner) for visit in visits] == [
        ("z", NAMED),
        ("x", None),
        ("z", None),
    ]


def test_rules_for_another_name_are_told_apart_from_those_that_count_for_all():
    server = make(host_concurrent=10)
    assert first_errand(server, [due("http://a.test/", manner=NAMED)]).for_agent
    assert not first_errand(server, [due("http://b.test/")], 1.0).for_agent


def test_the_longest_crawl_delay_of_all_names_counts():
    text = b"User-agent: one\nCrawl-delay: 2\nDisallow: /a\n\nUser-agent: two\nCrawl-delay: 5"
    assert RuleSet(text, "one", "two").crawl_delay == 5.0
    assert RuleSet(text, "one").crawl_delay == 2.0
