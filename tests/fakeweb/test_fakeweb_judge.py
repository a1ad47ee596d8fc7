"""The judge on logs made by hand, where every verdict can be counted on fingers."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fakeweb import judge
from gossamer.fakeweb.log import CUT, DONE, GONE, Log, LogWriter, Request

MS = 1_000_000


def request(
    number, start_ms, end_ms=None, *, host="a:80", address="127.16.0.1", target="/", how=DONE
):
    end = None if end_ms is None else int(end_ms * MS)
    status = 200 if how == DONE else 0
    return Request(
        number, int(start_ms * MS), number, address, host, "GET", target, end, status, 0, how
    )


def log_of(*requests, stalls=()):
    return Log(list(requests), [(int(start * MS), int(end * MS)) for start, end in stalls])


def truth_of(**lists):
    empty = {
        "start_urls": [],
        "pages": [],
        "redirects": {},
        "duplicates": {},
        "near_duplicates": {},
        "gone": [],
        "disallowed": [],
        "nofollow": [],
        "hidden": [],
        "assets": [],
        "disallow": {},
    }
    return {**empty, **lists}


def test_gaps_are_between_starts_to_one_host_robots_included():
    log = log_of(
        request(1, 0, 500, target="/robots.txt"),
        request(2, 70, 80),
        request(3, 75, 80, host="b:80"),
        request(4, 200, 210),
    )
    assert judge.min_gap(log) == pytest.approx(0.070)
    (violation,) = judge.gap_violations(log, 0.1)
    assert (violation.first.number, violation.second.number) == (1, 2)


def test_gaps_by_address_join_the_hosts_on_it():
    log = log_of(request(1, 0, 1), request(2, 50, 51, host="b:80"))
    assert judge.min_gap(log) is None
    assert judge.min_gap(log, by="address") == pytest.approx(0.050)
    assert len(judge.gap_violations(log, 0.1, by="address")) == 1


def test_the_tolerance_is_ten_milliseconds_and_can_be_changed():
    log = log_of(request(1, 0, 1), request(2, 91, 92), request(3, 180, 181))
    assert [gap.second.number for gap in judge.gap_violations(log, 0.1)] == [3]
    assert judge.gap_violations(log, 0.1, tolerance=0.02) == []
    assert len(judge.gap_violations(log, 0.1, tolerance=0)) == 2


def test_a_stall_of_the_server_excuses_a_gap_that_may_have_been_long_enough():
    """The first request was seen late, at the end of a stall that began 40 ms before."""
    requests = (request(1, 100, 101), request(2, 170, 171))
    assert len(judge.gap_violations(log_of(*requests), 0.1)) == 1
    assert judge.gap_violations(log_of(*requests, stalls=[(60, 98)]), 0.1) == []


@pytest.mark.parametrize("stall", [(90, 99), (130, 160), (20, 90), (150, 171)])
def test_a_stall_that_cannot_explain_a_gap_excuses_nothing(stall):
    """Too short, between the two, over before the first, or before the second only."""
    log = log_of(request(1, 100, 101), request(2, 170, 171), stalls=[stall])
    assert len(judge.gap_violations(log, 0.1)) == 1


@pytest.mark.parametrize(
    ("waited", "is_too_small"), [((0, 0), True), ((40, 0), False), ((40, 40), True)]
)
def test_what_is_known_of_arrivals_counts_and_stalls_do_not_matter(waited, is_too_small):
    requests = [request(1, 100, 101), request(2, 165, 166)]
    for each, milliseconds in zip(requests, waited, strict=True):
        each.waited_ns = milliseconds * MS
    log = log_of(*requests, stalls=[(40, 99), (99, 164)])
    assert bool(judge.gap_violations(log, 0.1)) is is_too_small


def test_gaps_are_in_the_order_of_arrival():
    late, early = request(1, 200, 201), request(2, 210, 211)
    late.waited_ns, early.waited_ns = 0, 110 * MS
    (gap,) = judge.gaps(log_of(late, early))
    assert (gap.first.number, gap.second.number, gap.seconds) == (2, 1, pytest.approx(0.1))


def test_stalls_in_a_row_count_as_one():
    log = log_of(request(1, 100, 101), request(2, 170, 171), stalls=[(40, 97), (97, 110)])
    assert judge.gap_violations(log, 0.1) == []


def test_concurrency_counts_what_is_open_at_each_start():
    log = log_of(
        request(1, 0, 100),
        request(2, 10, 50),
        request(3, 20, 30, host="b:80"),
        request(4, 60, 70),
        request(5, 65, None),
        request(6, 300, 310),
    )
    assert judge.max_concurrency(log) == 3
    assert judge.max_concurrency(log, by="address") == 3
    assert [crowd.request.number for crowd in judge.concurrency_violations(log, 2)] == [5]
    crowded = judge.concurrency_violations(log, 1)
    assert [crowd.request.number for crowd in crowded] == [2, 4, 5, 6]
    assert [
        crowd.request.number for crowd in judge.concurrency_violations(log, 2, by="address")
    ] == [3, 5]


def test_a_request_that_ends_when_the_next_begins_is_not_beside_it():
    assert judge.max_concurrency(log_of(request(1, 0, 10), request(2, 10.001, 20))) == 1


def test_a_client_that_hung_up_did_so_before_the_server_saw_it():
    hung_up = log_of(request(1, 0, 105, how=GONE), request(2, 100, 120))
    served = log_of(request(1, 0, 105, how=CUT), request(2, 100, 120))
    assert judge.max_concurrency(hung_up) == 1
    assert judge.max_concurrency(served) == 2


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(1, 200)), min_size=1, max_size=30))
def test_concurrency_agrees_with_counting_by_hand(spans):
    spans.sort()
    log = log_of(*(request(n, start, start + length) for n, (start, length) in enumerate(spans)))
    by_hand = 0
    for number, (start, _) in enumerate(spans):
        earlier = spans[: number + 1]
        by_hand = max(by_hand, sum(begin + length >= start for begin, length in earlier))
    assert judge.max_concurrency(log) == by_hand


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=40, unique=True), st.integers(1, 300))
def test_gap_violations_agree_with_counting_by_hand(starts, gap_ms):
    log = log_of(*(request(number, start, start) for number, start in enumerate(starts)))
    ordered = sorted(starts)
    by_hand = sum(b - a < gap_ms for a, b in pairwise(ordered))
    assert len(judge.gap_violations(log, gap_ms / 1_000 - 1e-9, tolerance=0)) == by_hand


def test_disallowed_requests_are_found_by_rule_and_by_list():
    truth = truth_of(
        disallow={"a:80": ["^/private/(?!open/)"], "b:80": [], "c:80": ["^/"]},
        hidden=["http://a:80/hidden/1.html"],
    )
    log = log_of(
        request(1, 0, 1, target="/robots.txt"),
        request(2, 0, 1, target="/private/x"),
        request(3, 0, 1, target="/private/open/x"),
        request(4, 0, 1, target="/hidden/1.html"),
        request(5, 0, 1, host="b:80", target="/private/x"),
        request(6, 0, 1, host="c:80", target="/robots.txt"),
        request(7, 0, 1, host="c:80", target="/"),
    )
    assert [bad.number for bad in judge.disallowed_requests(log, truth)] == [2, 4, 7]


def test_missing_pages_are_those_without_a_whole_answer():
    truth = truth_of(
        pages=["http://a:80/1", "http://a:80/2", "http://a:80/3"],
        redirects={"http://a:80/r": "http://a:80/1"},
        gone=["http://a:80/gone"],
        disallowed=["http://a:80/no"],
    )
    log = log_of(
        request(1, 0, 1, target="/1"),
        request(2, 2, 3, target="/2", how=GONE),
        request(3, 4, target="/3", how=""),
        request(4, 6, 7, target="/r"),
    )
    assert judge.missing(log, truth) == {"http://a:80/2", "http://a:80/3", "http://a:80/gone"}


def test_unexpected_requests_are_those_the_web_does_not_have():
    truth = truth_of(
        pages=["http://a:80/1"], assets=["http://a:80/x.css"], nofollow=["http://a:80/n"]
    )
    targets = ["/1", "/x.css", "/n", "/robots.txt", "/~/drop", "/sitemap.xml", "/1#top", "/made-up"]
    log = log_of(*(request(number, 0, 1, target=target) for number, target in enumerate(targets)))
    assert [bad.target for bad in judge.unexpected(log, truth)] == ["/1#top", "/made-up"]
    assert [bad.target for bad in judge.nofollow_requests(log, truth)] == ["/n"]


def test_refetches_count_beyond_the_first_and_leave_robots_out():
    targets = ["/a", "/a", "/a", "/b", "/robots.txt", "/robots.txt"]
    log = log_of(*(request(number, 0, 1, target=target) for number, target in enumerate(targets)))
    assert judge.refetches(log) == {"http://a:80/a": 2}


def test_requests_in_flight_are_those_begun_and_not_ended():
    log = log_of(request(1, 0, 10), request(2, 5, 30), request(3, 15), request(4, 25, 26))
    assert [r.number for r in judge.requests_in_flight_at(log, 0.020)] == [2, 3]


def test_a_page_before_the_answer_to_robots_is_found_for_each_authority():
    log = log_of(
        request(1, 0, 10, target="/robots.txt"),
        request(2, 5, 8, target="/too-early"),
        request(3, 11, 12, target="/in-time"),
        request(4, 11, 12, host="b:80", target="/never-asked"),
    )
    assert [bad.target for bad in judge.pages_before_robots(log)] == ["/too-early", "/never-asked"]


def write_log(path: Path, targets) -> None:
    writer = LogWriter(path)
    for target in targets:
        number = writer.start(1, "127.16.0.1", "a:80", "GET", target)
        writer.end(number, 200, 5, DONE)
    writer.close()


def test_the_command_ends_with_0_on_a_polite_log_and_1_on_a_violation(tmp_path, capsys):
    log, truth = tmp_path / "log", tmp_path / "truth.json"
    write_log(log, ["/robots.txt", "/1"])
    truth.write_text(json.dumps(truth_of(pages=["http://a:80/1"])))
    assert judge.main([str(log), "--truth", str(truth), "--concurrent", "1"]) == 0
    assert "VIOLATED" not in capsys.readouterr().out
    assert judge.main([str(log), "--truth", str(truth), "--gap", "5"]) == 1
    shown = capsys.readouterr().out
    assert "smallest gap by host" in shown
    assert "VIOLATED 1 times" in shown
    assert judge.main([str(log), "--gap", "0", "--address-gap", "5"]) == 1


def test_the_command_finds_a_lost_page(tmp_path, capsys):
    log, truth = tmp_path / "log", tmp_path / "truth.json"
    write_log(log, ["/robots.txt", "/1"])
    truth.write_text(json.dumps(truth_of(pages=["http://a:80/1", "http://a:80/2"])))
    assert judge.main([str(log), "--truth", str(truth)]) == 1
    assert "lost of 2 URLs" in capsys.readouterr().out
