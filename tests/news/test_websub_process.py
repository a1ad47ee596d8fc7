"""Which hubs are asked and how; and the process that asks and listens: its start and its end."""

import socket
import ssl
import subprocess
import sys

import msgspec
import pytest
import trustme
from hub_rig import Hub, Newsroom, settings_for, until
from msgspec.structs import replace

from gossamer.catalog.pushes import PushState
from gossamer.errors import InputError, WorkspaceError
from gossamer.news.websub import listen, start

DAY = 86_400.0


@pytest.fixture
def hub():
    with Hub() as made:
        yield made


@pytest.fixture
def room(tmp_path):
    with Newsroom(tmp_path) as made:
        yield made


def is_subscribed(room, feed_id=1):
    return lambda: room.row(feed_id).state is PushState.SUBSCRIBED and not room.row(feed_id).asked


def test_no_hub_at_a_private_address_is_asked_unless_the_settings_allow_it(room, hub):
    room.settings = replace(room.settings, url=replace(room.settings.url, allow_private=False))
    with room.serving(hub):
        feed_id = room.add_feed(hub.url)
        until(lambda: room.row(feed_id).state is PushState.REFUSED, "refused")
        assert "127.0.0.1" in room.row(feed_id).detail
        assert hub.forms == []


def test_a_redirect_does_not_lead_to_a_forbidden_address(room, hub):
    url = replace(room.settings.url, allow_private=False, allow_networks=("127.0.0.1/32",))
    room.settings = replace(room.settings, url=url)
    with Hub() as other, room.serving(hub):
        hub.status = 307
        hub.answer_headers = {"Location": other.url.replace("127.0.0.1", "127.0.0.2")}
        feed_id = room.add_feed(hub.url)
        until(lambda: room.row(feed_id).state is PushState.REFUSED, "refused")
        assert len(hub.forms) == 1
        assert "127.0.0.2" in room.row(feed_id).detail


@pytest.mark.parametrize("trusted", [True, False])
def test_a_secret_is_sent_only_to_a_hub_whose_certificate_is_good(room, tmp_path, trusted):
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    if trusted:
        file = tmp_path / "authority.pem"
        authority.cert_pem.write_to_path(str(file))
        spider = replace(room.settings.spider, ca_file=str(file))
        room.settings = replace(room.settings, spider=spider)
    with Hub(tls) as hub, room.serving(hub):
        feed_id = room.add_feed(hub.url)
        if trusted:
            until(is_subscribed(room, feed_id), "subscribed")
        else:
            until(lambda: room.row(feed_id).detail != "", "failed")
            assert hub.forms == []
            assert room.row(feed_id).next_at == room.now + 60


def test_a_secret_never_goes_from_https_to_http(room, hub, tmp_path):
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    room.settings = replace(room.settings, spider=replace(room.settings.spider, ca_file=str(file)))
    with Hub(tls) as safe, room.serving(hub):
        safe.status, safe.answer_headers = 308, {"Location": hub.url}
        feed_id = room.add_feed(safe.url)
        until(lambda: room.row(feed_id).state is PushState.REFUSED, "refused")
        assert (len(safe.forms), len(hub.forms)) == (1, 0)


@pytest.mark.parametrize("hub_url", ["http://127.0.0.1:25/", "ftp://hub.example/", "nonsense"])
def test_a_hub_that_may_not_be_asked_is_refused(room, hub_url):
    with room.serving():
        feed_id = room.add_feed(hub_url)
        until(lambda: room.row(feed_id).state is PushState.REFUSED, "refused")


def test_an_endless_answer_of_a_hub_is_cut(room, hub):
    hub.status, hub.body = 202, b"x" * 5_000_000
    with room.serving(hub):
        feed_id = room.add_feed(hub.url)
        until(lambda: bool(hub.forms), "asked")
        until(lambda: room.row(feed_id).asked > 0, "noted")
        assert room.row(feed_id).detail == ""


def test_the_process_starts_listens_and_ends(room, hub):
    handle = start(room.directory, room.settings, room.clock)
    try:
        assert handle.running()
        # First the way back: the hub may be asked, and ask back, as soon as there is a feed.
        hub.listener = (handle.host, handle.port)
        feed_id = room.add_feed(hub.url)
        until(lambda: bool(hub.confirmed), "the hub asked back")
        assert hub.confirmed[0].status == 200
        # The clock of the test is years ahead: the process was told by how much.
        assert abs((room.row(feed_id).lease_until or 0) - room.now - 10 * DAY) < 600
    finally:
        handle.stop()
        handle.stop()
    assert not handle.running()


ORPHAN = """
import sys, time, msgspec, pathlib
from gossamer.config.settings import Settings
from gossamer.news.websub import start
settings = msgspec.json.decode(sys.argv[2], type=Settings)
print(start(pathlib.Path(sys.argv[1]), settings).port, flush=True)
time.sleep(60)
"""


def test_the_process_ends_with_its_parent_however_that_dies(room):
    settings = msgspec.json.encode(room.settings).decode()
    command = [sys.executable, "-c", ORPHAN, str(room.directory), settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        port = int(parent.stdout.readline())
        socket.create_connection(("127.0.0.1", port), 10).close()
        parent.kill()

    def is_free() -> bool:
        try:
            listen(f"127.0.0.1:{port}").close()
        except InputError:
            return False
        return True

    until(is_free, "the port is free")


def test_a_port_that_is_taken_is_told_at_once(room):
    with listen("127.0.0.1:0") as taken:
        text = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InputError, match="callback_listen"):
            start(room.directory, settings_for(callback_listen=text))


@pytest.mark.parametrize("url", ["", "news.example", "ftp://x/", "http://", "http://x/?a=1"])
def test_a_callback_url_that_no_hub_could_call_is_refused(room, url):
    with pytest.raises(InputError, match="callback_url"):
        start(room.directory, settings_for(callback_url=url))


@pytest.mark.parametrize("text", ["", "127.0.0.1", ":80", "a b:80", "127.0.0.1:99999", "x:1/p"])
def test_an_address_to_listen_at_that_makes_no_sense_is_refused(text):
    with pytest.raises(InputError, match="callback_listen"):
        listen(text)


def test_without_a_workspace_nothing_is_started(tmp_path):
    with pytest.raises((InputError, WorkspaceError), match="workspace"):
        start(tmp_path / "nowhere", settings_for())
