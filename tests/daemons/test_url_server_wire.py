"""The URL Server on the wire: what it writes, what it understands, how it is paid (GET) for it."""

import hashlib
import hmac
import itertools
import time
from pathlib import Path

import pytest
from url_server_rig import SECONDS, Listener, Order, Wire, connected, pages, server

from effort import least_used
from held_ports import HeldPort

HOST = "127.0.0.7"
ONE_AT_A_TIME = ("--per-host", "1")


@pytest.mark.req("S1.1", "S1.2", "S1.3", "S1.28", "S1.31")
def test_a_candidate_of_the_doc_index_becomes_a_line_of_five_fields(tmp_path: Path):
    """TRANS_ID, DOC_ID, HOST_IP, HOST_NAME, URL: single spaces, ASCII, one newline."""
    url = "http://localhost:8081/a%20b?q=%C3%BC"
    with connected(tmp_path / "w", [url]) as (wire, index, _):
        line = wire.line()
        assert line is not None
        trans_id, doc_id, address, host, ordered = line.decode("ascii").split(" ")
        assert trans_id.isdigit()
        assert int(doc_id) == index.doc_id(url)
        assert address == "127.0.0.1"
        assert host == "localhost"
        assert ordered == url


def test_addresses_of_ipv6_have_no_brackets_but_in_the_url(tmp_path: Path):
    with connected(tmp_path / "w", ["http://[::1]:8081/x"]) as (wire, _, _):
        order = wire.order()
    assert (order.address, order.host, order.url) == ("::1", "::1", "http://[::1]:8081/x")


@pytest.mark.req("S1.8", "S1.9", "S1.27")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_the_spider_is_where_the_settings_say_and_gets_one_connection(tmp_path: Path, host: str):
    """Spider_Host is an address or a name; orders and statuses share the one connection."""
    config = tmp_path / "daemon.toml"
    with Listener(host="::1" if host == "::1" else "127.0.0.1") as spider:
        config.write_text(f'[urlserver]\nSpider_Host = "{host}"\nSpider_Port = {spider.port}\n')
        flags = ("--config", str(config), *ONE_AT_A_TIME)
        with server(tmp_path / "w", *pages(HOST, 2), *flags, ignore_robots=[HOST]):
            wire = spider.accept()
            wire.done(wire.order())
            wire.order()
            assert not spider.has_call(0.5)


def test_without_a_spider_to_speak_to_it_does_not_start(tmp_path: Path):
    with server(tmp_path / "w", *pages(HOST, 1)) as running:
        assert running.wait() == 2
    assert "no Spider is named" in running.said


def test_a_spider_elsewhere_needs_a_secret_or_courage(tmp_path: Path):
    with server(tmp_path / "w", *pages(HOST, 1), spiders=["192.0.2.1:4000"]) as running:
        assert running.wait() == 2
    assert "secret" in running.said
    assert "--insecure" in running.said


# ------------------------------------------------------------------ credit (A1)


def test_a_spider_that_never_asks_is_pushed_to_after_a_moment(tmp_path: Path):
    settings = {"wire.flow_grace_ms": 3_000}
    with connected(tmp_path / "w", pages(HOST, 3), "--per-host", "8", settings=settings) as parts:
        wire, _, _ = parts
        wire.no_order(0.5)
        wire.orders(3)


@pytest.mark.parametrize("mode", ["auto", "pull"])
def test_get_is_credit_for_so_many_orders_and_adds_up(tmp_path: Path, mode: str):
    settings = {"urlserver.Flow_Mode": mode, "wire.flow_grace_ms": 5_000}
    with connected(tmp_path / "w", pages(HOST, 9), "--per-host", "9", settings=settings) as parts:
        wire, _, _ = parts
        wire.say("GET 1", "GET 2")
        first = wire.orders(3)
        # Not even a DONE gives credit back, and time does not either.
        wire.done(first[0])
        wire.no_order(5.5)
        wire.say("GET 4")
        wire.orders(4)
        wire.no_order(0.3)


def test_a_get_that_comes_later_makes_credit_count_from_then_on(tmp_path: Path):
    with connected(tmp_path / "w", pages(HOST, 9), *ONE_AT_A_TIME) as (wire, _, _):
        order = wire.order()
        wire.say("GET 2")
        for _ in range(2):
            wire.done(order)
            order = wire.order()
        wire.done(order)
        wire.no_order(0.5)


def test_pull_waits_for_a_get_however_long_it_takes(tmp_path: Path):
    settings = {"urlserver.flow_mode": "pull"}
    with connected(tmp_path / "w", pages(HOST, 3), settings=settings) as (wire, _, _):
        wire.no_order(1.5)
        wire.say("GET 1")
        wire.order()


def test_push_does_not_wait_and_does_not_count(tmp_path: Path):
    settings = {"urlserver.flow_mode": "push", "wire.flow_grace_ms": 60_000}
    with connected(tmp_path / "w", pages(HOST, 5), *ONE_AT_A_TIME, settings=settings) as parts:
        wire, _, _ = parts
        wire.say("GET 1")
        for _ in range(5):
            wire.done(wire.order())


def test_credit_is_forgotten_on_reconnect(tmp_path: Path):
    settings = {"urlserver.flow_mode": "pull"}
    with Listener() as spider:
        flags = (*pages(HOST, 3), *ONE_AT_A_TIME)
        with server(
            tmp_path / "w", *flags, spiders=[spider.place], settings=settings, ignore_robots=[HOST]
        ):
            wire = spider.accept()
            wire.say("GET 50")
            wire.order()
            wire.close()
            again = spider.accept()
            again.no_order(1.0)
            again.say("GET 1")
            again.order()


# ------------------------------------------------------------------ status lines


@pytest.mark.req("S1.30", "S1.36")
@pytest.mark.parametrize("form", ["DONE {}", "{} DONE", "DONE {}\r"])
def test_done_in_either_dialect_lets_the_next_url_move_up(tmp_path: Path, form: str):
    """Keyword first, as the Spider's document has it, or id first, as the URL Server's has it."""
    with connected(tmp_path / "w", pages(HOST, 3), *ONE_AT_A_TIME) as (wire, _, _):
        seen = []
        for _ in range(3):
            order = wire.order()
            wire.no_order(0.15)
            wire.say(form.format(order.trans_id))
            seen.append(order.url)
        assert sorted(seen) == pages(HOST, 3)
        wire.no_order(0.3)


@pytest.mark.req("S1.10", "S1.32")
@pytest.mark.parametrize("form", ["WORKING {}", "{} WORKING"])
def test_working_in_either_dialect_buys_time(tmp_path: Path, form: str):
    settings = {"urlserver.Timeout_Spider_Status": 4, "spider.Timeout_Update": 2_000}
    with connected(tmp_path / "w", pages(HOST, 2), *ONE_AT_A_TIME, settings=settings) as parts:
        wire, _, _ = parts
        order = wire.order()
        for _ in range(10):
            wire.no_order(0.5)
            wire.say(form.format(order.trans_id))
        wire.done(order)
        assert wire.order().url != order.url


@pytest.mark.req("S1.29", "S1.35")
def test_an_id_stands_for_a_place_and_is_never_used_twice(tmp_path: Path):
    """Host slot and active slot come again, and the generation before them makes the id new."""
    urls = [*pages("127.0.0.7", 6), *pages("127.0.0.8", 6)]
    with connected(tmp_path / "w", urls, *ONE_AT_A_TIME) as (wire, _, _):
        ids: dict[str, list[int]] = {"127.0.0.7": [], "127.0.0.8": []}
        for _ in range(12):
            order = wire.order()
            ids[order.host].append(int(order.trans_id))
            wire.done(order)
    places = []
    for numbers in ids.values():
        assert numbers == sorted(set(numbers))
        # The last digits are the place: the same for one host while it keeps its queue.
        steps = {b - a for a, b in itertools.pairwise(numbers)}
        assert len(steps) == 1
        places.append(numbers[0] % steps.pop())
    assert len(set(places)) == 2


@pytest.mark.req("S1.10", "S1.35", "S1.36")
def test_a_late_done_of_an_older_generation_frees_nothing(tmp_path: Path):
    settings = {"urlserver.Timeout_Spider_Status": 4, "spider.Timeout_Update": 2_000}
    with connected(tmp_path / "w", pages(HOST, 2), *ONE_AT_A_TIME, settings=settings) as parts:
        wire, _, running = parts
        first = wire.order()
        again = wire.order()
        assert (again.url, again.doc_id) == (first.url, first.doc_id)
        assert again.trans_id != first.trans_id
        wire.done(first)
        wire.no_order(0.4)
        running.wait_for(f"DONE {first.trans_id}, which is not open here: ignored")
        wire.done(again)
        assert wire.order().url != first.url


def test_a_done_for_an_order_of_another_spider_frees_nothing(tmp_path: Path):
    with Listener() as one, Listener() as other:
        spiders = [one.place, other.place]
        flags = (*pages(HOST, 4), *ONE_AT_A_TIME)
        with server(tmp_path / "w", *flags, spiders=spiders, ignore_robots=[HOST]):
            wires = [one.accept(), other.accept()]
            order, mine, theirs = _first_order(wires)
            theirs.say(f"DONE {order.trans_id}", f"WORKING {order.trans_id}")
            mine.no_order(0.3)
            theirs.no_order(0.3)
            mine.done(order)
            _first_order(wires)


def _first_order(wires: list[Wire]):
    """Return the next order, the wire it came by, and the other wire."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for wire in wires:
            line = wire.line(0.02)
            if line is not None:
                order = Order.read(line, time.monotonic())
                return order, wire, next(each for each in wires if each is not wire)
    raise AssertionError("no order came")


# ------------------------------------------------------------------ nonsense


BAD = [
    b"",
    b"HELLO",
    b"DONE",
    b"DONE x",
    b"DONE -1",
    b"DONE 1 2",
    b"GET 0",
    b"GET 99999999999999999999999",
    b"D\xc3\xb6NE 1",
    b"\x00\xff\xfe",
]


@pytest.mark.req("S1.31", "S1.37")
def test_ten_bad_lines_in_a_row_end_the_link_and_a_new_one_begins(tmp_path: Path):
    with Listener() as spider:
        flags = (*pages(HOST, 3), *ONE_AT_A_TIME)
        with server(
            tmp_path / "w", *flags, spiders=[spider.place], ignore_robots=[HOST]
        ) as running:
            wire = spider.accept()
            order = wire.order()
            wire.say(*BAD[:9])
            # A good one in between, and all is forgiven.
            wire.say(f"WORKING {order.trans_id}", *BAD[:9])
            wire.done(order)
            second = wire.order()
            wire.say(*BAD)
            assert wire.is_ended()
            again = spider.accept()
            assert again.order().url == second.url
            assert running.runs


@pytest.mark.req("S1.31")
def test_a_line_without_end_is_bounded_and_ends_the_link(tmp_path: Path):
    with (
        Listener() as spider,
        server(
            tmp_path / "w", *pages(HOST, 1), spiders=[spider.place], ignore_robots=[HOST]
        ) as running,
    ):
        wire = spider.accept()
        order = wire.order()
        # One over-long line is one bad line; the link lives on.
        wire.say(b"x" * 200_000)
        wire.say(f"WORKING {order.trans_id}")
        before = memory_of(running.process.pid)
        with pytest.raises(OSError, match=r"[Rr]eset|[Pp]ipe"):
            wire.babble(b"y" * 100_000, times=1_000)
        assert memory_of(running.process.pid) < before + (32 << 20)
        spider.accept().order()


def memory_of(process_id: int) -> int:
    return int(Path(f"/proc/{process_id}/statm").read_text().split()[1]) * 4_096


def test_a_flood_of_stale_words_is_neither_logged_without_end_nor_obeyed(tmp_path: Path):
    with connected(tmp_path / "w", pages(HOST, 2), *ONE_AT_A_TIME) as (wire, _, running):
        order = wire.order()
        for start in range(0, 50_000, 1_000):
            wire.say(*(f"DONE {10**12 + number}" for number in range(start, start + 1_000)))
        wire.no_order(0.5)
        wire.done(order)
        wire.order()
        assert len(running.said) < 20_000


# ------------------------------------------------------------------ the secret


def test_a_link_with_a_secret_carries_orders_only_after_both_have_proved_it(tmp_path: Path):
    """The handshake, played from the document: AUTH, AUTH with proof, OK with proof."""
    secret = b"not a very good secret"
    file = tmp_path / "secret"
    file.write_bytes(secret)
    file.chmod(0o600)
    with (
        Listener() as spider,
        server(
            tmp_path / "w",
            *pages(HOST, 1),
            spiders=[spider.place],
            settings={"wire.secret_file": str(file)},
            ignore_robots=[HOST],
        ),
    ):
        wire = spider.accept()
        mine = "ab" * 32
        wire.say(f"AUTH {mine}")
        answer = wire.line()
        assert answer is not None
        word, theirs, proof = answer.decode().split(" ")
        assert word == "AUTH"
        expected = hmac.new(secret, b"dial" + mine.encode() + theirs.encode(), hashlib.sha256)
        assert proof == expected.hexdigest()
        wire.no_order(0.5)
        verdict = hmac.new(secret, b"listen" + theirs.encode() + mine.encode(), hashlib.sha256)
        wire.say(f"OK {verdict.hexdigest()}")
        wire.order()
        wire.close()
        # One that cannot prove it gets nothing.
        wire = spider.accept()
        wire.say(f"AUTH {mine}")
        assert wire.line() is not None
        wire.say("OK " + "00" * 32)
        assert wire.is_ended()


def test_a_spider_that_asks_for_a_secret_gets_no_orders_from_a_server_without_one(tmp_path: Path):
    with (
        Listener() as spider,
        server(
            tmp_path / "w", *pages(HOST, 1), spiders=[spider.place], ignore_robots=[HOST]
        ) as running,
    ):
        wire = spider.accept()
        wire.say("AUTH " + "ab" * 32)
        running.wait_for("it asks for a secret")
        assert wire.line() is None
        assert wire.is_ended()


def test_why_a_spider_cannot_be_reached_is_told_again_when_the_reason_is_another(tmp_path: Path):
    """Started before the Spider, with another secret: both are told."""
    file = tmp_path / "secret"
    file.write_bytes(b"not a very good secret")
    file.chmod(0o600)
    with (
        HeldPort() as held,
        server(
            tmp_path / "w",
            *pages(HOST, 1),
            spiders=[f"127.0.0.1:{held.port}"],
            settings={"wire.secret_file": str(file)},
            ignore_robots=[HOST],
        ) as running,
    ):
        running.wait_for("Connection refused")
        with Listener(held.port) as spider:
            for _ in range(2):
                wire = spider.accept()
                wire.say("AUTH " + "ab" * 32)
                assert wire.line() is not None
                wire.close()
            running.wait_for("do both ends have the same secret?")
            spider.accept()
        assert running.said.count("cannot connect") == 2


def test_nobody_listening_is_no_reason_to_give_up_or_to_be_busy(tmp_path: Path):
    """It tries on, says so once, and uses hardly any processor time meanwhile (S1.37)."""
    flags = (*pages(HOST, 2), *ONE_AT_A_TIME)
    with (
        HeldPort() as held,
        server(
            tmp_path / "w", *flags, spiders=[f"127.0.0.1:{held.port}"], ignore_robots=[HOST]
        ) as running,
    ):
        running.wait_for("cannot connect to the Spider")
        assert least_used(running.process.pid, seconds=1.0) < 0.2
        assert running.said.count("cannot connect") == 1
        with Listener(held.port) as spider:
            spider.accept().order()
