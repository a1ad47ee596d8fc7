"""Other hosts: how busy they are, who is chosen, and calls to them."""

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hosts_rig import held_ports
from hypothesis import given
from hypothesis import strategies as st
from service_rig import Daemon, write_ini

from gossamer.clock import ManualClock
from gossamer.errors import ConfigError
from gossamer.objects.enumerations import Operation
from gossamer.objects.hosts import HostClaim, HostClaimAnswer, HostDone, HostLoad, HostTask
from gossamer.objects.url import URL
from gossamer.service import ini
from gossamer.service.calling import call
from gossamer.service.curve import make_keys
from gossamer.service.guard import Reading
from gossamer.service.peers import Heard, LoadMeter, Peers, choose_host, ring_of
from gossamer.service.settings import GuardSettings, PeerSettings, ServiceSettings

# ------------------------------------------------------------------------------ loads


def load(**fields: Any) -> HostLoad:
    return HostLoad(**{"max_batches": 2, "free_bytes": 1 << 32, **fields})


@pytest.mark.req("S3.19")
@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (load(), load(batches=1)),
        (load(batches=1), load(is_busy=True)),
        (load(batches=1, max_batches=2), load(batches=1, max_batches=1)),
        (load(cpu_percent=20), load(cpu_percent=80)),
        (load(free_bytes=1 << 34), load(free_bytes=1 << 30)),
        (load(), load(free_bytes=None)),
    ],
)
def test_the_less_burdened_host_is_chosen(better: HostLoad, worse: HostLoad) -> None:
    assert choose_host("own", {"own": worse, "other": better}) == "other"
    assert choose_host("own", {"own": better, "other": worse}) == "own"


def test_this_host_is_chosen_if_all_are_about_equal() -> None:
    about = load(cpu_percent=5), load(cpu_percent=10, free_bytes=(1 << 32) + 1)
    assert choose_host("b", {"a": about[0], "b": about[1]}) == "b"


LOADS = st.builds(
    HostLoad,
    batches=st.integers(0, 3),
    max_batches=st.integers(0, 3),
    cpu_percent=st.floats(0, 100),
    free_bytes=st.none() | st.integers(0, 1 << 40),
    is_busy=st.booleans(),
)


@given(st.dictionaries(st.sampled_from("abc"), LOADS, min_size=1), st.sampled_from("abc"))
def test_the_choice_is_one_of_the_hosts_and_never_a_fuller_one(
    loads: dict[str, HostLoad], own: str
) -> None:
    chosen = choose_host(own, loads)
    assert chosen in loads
    if any(each.batches < each.max_batches and not each.is_busy for each in loads.values()):
        assert loads[chosen].batches < loads[chosen].max_batches
        assert not loads[chosen].is_busy


def test_the_load_is_measured_as_the_guard_does() -> None:
    readings = iter(
        [Reading(0, 0, 0, 10), Reading(1_000, 200, 100, 20), Reading(1_001, 200, 100, 5)]
    )
    settings = GuardSettings(max_cpu_percent=60, max_io_wait_percent=30, min_free_bytes=10)
    meter = LoadMeter(settings, lambda: next(readings))
    assert meter.measure(1, 2) == HostLoad(
        batches=1,
        max_batches=2,
        cpu_percent=80.0,
        io_wait_percent=10.0,
        free_bytes=20,
        is_busy=True,
    )
    # Too close to the last look for another share, but memory counts at once.
    again = meter.measure(0, 2)
    assert (again.cpu_percent, again.free_bytes, again.is_busy) == (80.0, 5, True)


# --------------------------------------------------------------------------- settings


def test_hosts_have_the_same_order_and_digest_whatever_the_order_of_the_list() -> None:
    one = ring_of(PeerSettings(hosts=("b:2", "a:1", "c:3"), own_host="b:2"))
    two = ring_of(PeerSettings(hosts=("c:3", "b:2", "a:1"), own_host="a:1"))
    assert one.hosts == two.hosts == ("a:1", "b:2", "c:3")
    assert one.digest == two.digest
    assert one.others == ("a:1", "c:3")
    assert one.digest != ring_of(PeerSettings(hosts=("a:1", "b:2"), own_host="a:1")).digest


@pytest.mark.parametrize(
    ("peers", "expected"),
    [
        ({"hosts": "a:1, b:2", "self": "c:3"}, "one of a:1, b:2"),
        ({"hosts": "a:1, b:2"}, "one of a:1, b:2"),
        ({"hosts": "a:1", "self": "a:1"}, "at least two"),
        ({"hosts": "a:1, a:1", "self": "a:1"}, "each once"),
        ({"hosts": "a, b:2", "self": "b:2"}, "HOST:PORT"),
        (
            {"hosts": "a:1, b:2", "self": "a:1", "curve_secret_key_file": "k"},
            "belong together",
        ),
    ],
)
def test_hosts_that_cannot_crawl_together_are_refused(
    tmp_path: Path, peers: dict[str, str], expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        ini.load(write_ini(tmp_path / "some.ini", {"Peers": peers}))


def test_a_host_alone_serves_no_other_hosts(shared: Daemon) -> None:
    assert shared.client is not None
    for operation, asked in (
        (Operation.HOST_CLAIM, HostClaim()),
        (Operation.HOST_TASK, HostTask()),
        (Operation.HOST_DONE, HostDone()),
    ):
        response = call([shared.client], operation, asked, timeout_seconds=30)
        (item,) = response.items_list
        assert item.error_message.startswith(f"NOT_ALLOWED: {operation.name}: this host crawls")


def test_nobody_at_a_port_is_noticed_at_once_and_not_asked_again_soon(tmp_path: Path) -> None:
    settings = ServiceSettings(
        folder=tmp_path,
        peers=PeerSettings(hosts=("127.0.0.1:1", "127.0.0.1:2"), own_host="127.0.0.1:1"),
    )
    clock = ManualClock()
    peers = Peers(settings, clock)
    heard = peers.ask("127.0.0.1:2", Operation.HOST_CLAIM, HostClaim())
    assert heard.is_down
    assert "refused" in heard.error
    again = peers.ask("127.0.0.1:2", Operation.HOST_CLAIM, HostClaim())
    assert again == Heard(error="127.0.0.1:2 is down", is_down=True)
    clock.advance(60.0)
    assert "refused" in peers.ask("127.0.0.1:2", Operation.HOST_CLAIM, HostClaim()).error


def test_hosts_with_keys_hear_each_other_and_nobody_else(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", "server")
    public, secret = make_keys(tmp_path / "keys", "peer")
    (tmp_path / "clients").mkdir()
    shutil.copy(public, tmp_path / "clients")
    application = {
        "operations": "gossamer.service.catalog_operations:open_operations",
        "periodics": "",
        "batches": "",
    }
    server = {
        "curve_secret_key_file": "../keys/server.key_secret",
        "curve_clients_dir": "../clients",
    }
    with ExitStack() as closing:
        (port,) = closing.enter_context(held_ports(1))
        names = (f"127.0.0.1:{port}", "127.0.0.1:1")
        closing.enter_context(
            Daemon(
                tmp_path / "host",
                Application=application,
                Server={"client_port": str(port), **server},
                Peers={"hosts": ", ".join(names), "self": names[0]},
            )
        )
        own = PeerSettings(
            hosts=names,
            own_host=names[1],
            curve_secret_key_file=str(secret),
            curve_server_key_file=str(tmp_path / "keys" / "server.key"),
        )
        peers = Peers(ServiceSettings(folder=tmp_path, peers=own))
        url = URL(url="http://a.example/1", parent_md5="ab" * 16)
        claim = HostClaim(hosts=peers.ring.digest, host=names[1], batch=1, items=[url])
        answer = peers.ask(names[0], Operation.HOST_CLAIM, claim).answer
        assert isinstance(answer, HostClaimAnswer)
        assert [verdict.granted for verdict in answer.verdicts] == [True]
        bare = PeerSettings(hosts=names, own_host=names[1], timeout_seconds=0.5)
        heard = Peers(ServiceSettings(folder=tmp_path, peers=bare)).ask(
            names[0], Operation.HOST_CLAIM, claim
        )
        assert heard.answer is None
        assert not heard.is_down


def test_a_host_that_refuses_is_heard(shared: Daemon, tmp_path: Path) -> None:
    hosts = (str(shared.client), "127.0.0.1:1")
    settings = ServiceSettings(folder=tmp_path, peers=PeerSettings(hosts=hosts, own_host=hosts[1]))
    heard = Peers(settings).ask(hosts[0], Operation.HOST_CLAIM, HostClaim())
    assert heard.is_refused
    assert "NOT_ALLOWED" in heard.error
