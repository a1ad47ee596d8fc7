"""The configuration file: found, read, and refused with a message that says what is allowed."""

from pathlib import Path

import pytest
from service_rig import EXAMPLES, write_ini

from gossamer.errors import ConfigError
from gossamer.service import ini
from gossamer.service.settings import ServiceSettings


def load(folder: Path, **sections: dict[str, str]) -> ServiceSettings:
    return ini.load(write_ini(folder / "some.ini", sections))


def test_the_sample_holds_every_setting_with_its_default_and_a_comment():
    """Run `python -m gossamer.service.ini > examples/service/dc-daemon.ini` after a change."""
    assert (EXAMPLES / "dc-daemon.ini").read_text() == ini.sample()
    assert ini.load(EXAMPLES / "dc-daemon.ini") == ServiceSettings(folder=EXAMPLES.absolute())
    for attribute in ini.sections().values():
        for name, key in ini.keys(attribute).items():
            assert key.description, name


def test_the_defaults_are_those_of_the_origin():
    settings = ServiceSettings()
    assert (settings.server.admin_port, settings.server.client_port) == (5503, 5504)
    assert settings.server.host == "127.0.0.1"
    assert settings.client.timeout_seconds == 90
    assert (settings.crawling.period_seconds, settings.crawling.batch_size) == (20, 5)
    assert (settings.crawling.max_batches, settings.crawling.task_ttl_seconds) == (2, 900)
    assert (settings.returning.period_seconds, settings.returning.max_urls) == (600, 500)
    assert (settings.recrawl.period_seconds, settings.recrawl.max_threads) == (60, 2)
    assert settings.incremental.period_seconds == 0
    assert (settings.aging.period_seconds, settings.aging.max_urls) == (120, 10_000)
    assert (settings.purge.period_seconds, settings.purge.max_urls_per_site) == (120, 100)
    assert (settings.realtime.max_urls, settings.realtime.threads) == (10, 6)
    assert (settings.guard.max_cpu_percent, settings.guard.tries) == (60, 20)
    assert not settings.fetch.allow_private
    assert not settings.sql.sql_custom


def test_values_are_read_in_their_types(tmp_path):
    settings = load(
        tmp_path,
        Crawling={"period_seconds": "0.25", "batch_size": "7"},
        Fetch={"allow_private": "yes"},
        Client={"hosts": "127.0.0.1:1, [::1]:2"},
        Application={"data_dir": "some/place"},
    )
    assert settings.crawling.period_seconds == 0.25
    assert settings.crawling.batch_size == 7
    assert settings.fetch.allow_private
    assert settings.client.hosts == ("127.0.0.1:1", "[::1]:2")
    assert settings.data_dir == tmp_path / "some" / "place"


@pytest.mark.parametrize(
    ("section", "key", "value", "expected"),
    [
        ("Server", "client_port", "many", "whole number, 0 to 65535"),
        ("Server", "client_port", "65536", "whole number, 0 to 65535"),
        ("Crawling", "period_seconds", "-1", "number, 0.0 to 86400.0"),
        ("Crawling", "period_seconds", "nan", "number, 0.0 to 86400.0"),
        ("Crawling", "batch_size", "2.5", "whole number, 1 to 100000"),
        ("Storage", "content_storage_type", "3", "whole number, 0 to 2"),
        ("Fetch", "allow_private", "perhaps", "true or false"),
        ("Application", "log_level", "loud", "one of debug, info, warning, error"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(tmp_path, section, key, value, expected):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, **{section: {key: value}})
    message = str(caught.value)
    assert f"[{section}] {key} = {value}" in message
    assert expected in message


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"Servers": {"host": "::1"}}, ["[Servers]", "did you mean Server?", "Crawling"]),
        ({"Server": {"prot": "1"}}, ["prot", "[Server]"]),
        ({"Server": {"client_prot": "1"}}, ["did you mean client_port?"]),
        ({"Server": {"host": "0.0.0.0"}}, ["[Server] host = 0.0.0.0", "insecure = 1"]),
        ({"Server": {"host": "example.org"}}, ["other machines can reach it"]),
        ({"Server": {"curve_secret_key_file": "x"}}, ["belong together"]),
        ({"Client": {"curve_server_key_file": "x"}}, ["belong together"]),
        ({"Client": {"hosts": "nowhere"}}, ["[Client] hosts = nowhere", "HOST:PORT"]),
        ({"Client": {"hosts": "127.0.0.1:0"}}, ["[Client] hosts = 127.0.0.1:0", "1 to 65535"]),
        ({"Client": {"admin_host": "[::1]:0"}}, ["[Client] admin_host = [::1]:0"]),
        ({"Client": {"hosts": ""}}, ["[Client] hosts is empty"]),
        ({"Server": {"instantiateSequence": "URLManager"}}, ["instantiateSequence = URLManager"]),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(tmp_path, sections, words):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, **sections)
    for word in words:
        assert word in str(caught.value)


def test_listening_for_everybody_needs_an_explicit_word(tmp_path):
    assert load(tmp_path, Server={"host": "0.0.0.0", "insecure": "1"}).server.insecure
    keys = {"curve_secret_key_file": "server.key_secret", "curve_clients_dir": "clients"}
    assert load(tmp_path, Server={"host": "0.0.0.0", **keys}).server.host == "0.0.0.0"


def test_the_start_sequence_can_be_set(tmp_path):
    names = list(ServiceSettings().server.instantiate_sequence)
    other = [names[0], names[4], names[3], names[2], names[1]]
    settings = load(tmp_path, Server={"instantiateSequence": ", ".join(other)})
    assert settings.server.instantiate_sequence == tuple(other)
    with pytest.raises(ConfigError, match="AdminInterfaceServer first"):
        load(tmp_path, Server={"instantiateSequence": ", ".join(reversed(other))})


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"no section",
        b"[Server]\nhost = ::1\nhost = ::1\n",
        b"[Server\n",
        b"x" * ((1 << 20) + 1),
        b"[Server]\n[Server]\n",
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path, content):
    path = tmp_path / "some.ini"
    path.write_bytes(content)
    with pytest.raises(ini.UnreadableError, match=str(path)):
        ini.load(path)


@pytest.mark.req("S3.180")
def test_the_configuration_is_looked_for_here_and_then_below_the_system_folder(
    tmp_path, monkeypatch
):
    here, system = tmp_path / "here", tmp_path / "etc"
    here.mkdir()
    monkeypatch.chdir(here)
    with pytest.raises(ini.UnreadableError, match=r"dc-daemon\.ini"):
        ini.find("dc-daemon", system)
    (system / "dc-daemon").mkdir(parents=True)
    (system / "dc-daemon" / "dc-daemon.ini").touch()
    assert ini.find("dc-daemon", system) == system / "dc-daemon" / "dc-daemon.ini"
    (here / "dc-daemon.ini").touch()
    assert ini.find("dc-daemon", system) == Path("dc-daemon.ini")
    assert Path("/etc") == ini.SYSTEM_FOLDER
