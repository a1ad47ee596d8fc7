from gossamer.crawl.stops import Stops


def test_only_the_real_end_has_exit_code_0():
    stops = Stops()
    assert stops.finished().exit_code == 0
    assert stops.page_limit(10).exit_code == 0
    stop = stops.stalled(now=0.0, next_event=100.0, patience=10.0, remaining=3)
    assert stop is not None
    assert stop.exit_code == 5
    assert "3 URLs are left that must wait for 1 min 40 s" in stop.message


def test_one_url_is_one_and_a_long_wait_is_in_hours():
    stop = Stops().stalled(now=0.0, next_event=3_600.0, patience=10.0, remaining=1)
    assert stop is not None
    assert "1 URL is left that must wait for 1 h 0 min" in stop.message
    assert "for 20.0 s, and 1 URL is left;" in Stops().no_names(20.0, 1).message


def test_a_wait_within_the_patience_is_no_stall():
    assert Stops().stalled(now=0.0, next_event=9.0, patience=10.0, remaining=3) is None


def test_nothing_that_could_happen_is_a_stall():
    assert Stops().stalled(now=0.0, next_event=None, patience=10.0, remaining=1) is not None


def test_the_second_interrupt_means_at_once():
    stops = Stops()
    stops.interrupt()
    assert stops.requested is not None
    assert stops.requested.exit_code == 130
    assert not stops.at_once
    stops.interrupt()
    assert stops.at_once


def test_sigterm_has_its_own_code():
    stops = Stops()
    stops.terminate()
    assert stops.requested is not None
    assert stops.requested.exit_code == 143


def test_a_pause_ends_the_crawl_when_patience_does():
    stops = Stops()
    stops.paused_at = 100.0
    stops.pause_detail = "no space left"
    assert stops.paused_too_long(now=105.0, patience=10.0) is None
    stop = stops.paused_too_long(now=111.0, patience=10.0)
    assert stop is not None
    assert stop.exit_code == 4
    assert "no space left" in stop.message
