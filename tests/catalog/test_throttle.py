"""How much of one site is handed out at once."""

import pytest

from gossamer.catalog.throttle import Throttle
from gossamer.url.parts import registrable_domain

pytestmark = pytest.mark.req("S4.21")


def test_a_site_gets_only_so_much_in_one_provision_whatever_its_hosts() -> None:
    throttle = Throttle(3, 10.0, registrable_domain)
    throttle.begin(0.0)
    assert throttle.room("www.example.org", 0.0) == 3
    throttle.give("www.example.org", 2, 0.0)
    assert throttle.room("news.example.org", 0.0) == 1
    assert throttle.room("example.net", 0.0) == 3
    throttle.give("news.example.org", 1, 0.0)
    assert throttle.room("example.org", 0.0) == 0


def test_a_site_rests_between_two_provisions() -> None:
    throttle = Throttle(3, 10.0)
    throttle.begin(0.0)
    throttle.give("example.org", 1, 0.0)
    throttle.begin(9.0)
    assert throttle.room("example.org", 9.0) == 0
    assert throttle.rests_until("example.org") == 10.0
    throttle.begin(10.0)
    assert throttle.room("example.org", 10.0) == 3


def test_a_clock_that_was_set_back_keeps_nobody_waiting() -> None:
    throttle = Throttle(3, 10.0)
    throttle.begin(1_000.0)
    throttle.give("example.org", 3, 1_000.0)
    throttle.begin(10.0)
    assert throttle.room("example.org", 10.0) == 3


def test_without_rest_only_the_share_of_a_provision_counts() -> None:
    throttle = Throttle(2, 0.0)
    throttle.begin(5.0)
    throttle.give("example.org", 2, 5.0)
    assert throttle.room("example.org", 5.0) == 0
    throttle.begin(5.0)
    assert throttle.room("example.org", 5.0) == 2
