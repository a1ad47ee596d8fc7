import math
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.describe import rows, to_toml, toml_value
from gossamer.config.load import Loaded, load, load_with_origins, parse_assignment
from gossamer.config.schema import tables
from gossamer.config.secrets import secrets_in, without_secrets
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError


def write(folder: Path, text: str) -> Path:
    path = folder / "gossamer.toml"
    path.write_text(text)
    return path


def complaint(overrides: dict[str, object]) -> str:
    with pytest.raises(ConfigError) as caught:
        load(None, overrides)
    return str(caught.value)


def load_or_complaint(overrides: dict[str, dict[str, object]]) -> str:
    try:
        return repr(load(None, overrides))
    except ConfigError as error:
        return str(error)


def test_without_a_file_every_setting_has_its_default():
    assert load(None, {}) == Settings()


def test_a_file_sets_a_value_and_a_flag_wins_over_it(tmp_path):
    path = write(tmp_path, "[crawl]\nmax_pages = 7\nmax_depth = 3\n")
    settings = load(path, {"crawl": {"max_pages": 9}})
    assert (settings.crawl.max_pages, settings.crawl.max_depth) == (9, 3)


def test_origins_name_the_file_and_the_command_line(tmp_path):
    path = write(tmp_path, "[crawl]\nmax_pages = 7\nmax_depth = 3\n")
    loaded = load_with_origins(path, {"crawl": {"max_pages": 9}})
    assert loaded.origins == {
        ("crawl", "max_pages"): "command line",
        ("crawl", "max_depth"): str(path),
    }


@pytest.mark.req("S0.8", "S0.9", "S0.10", "S1.10", "S1.11", "S1.12", "S1.13", "S1.14")
def test_names_of_the_source_documents_are_accepted_as_written_there(tmp_path):
    path = write(
        tmp_path,
        """
        [urlserver]
        Timeout_Spider_Status = 100
        Queue_Count = 11
        Queue_Len = 12
        Req_Host_Concurrent = 3
        Req_Host_Per_Sec = 4.5
        Max_Urls_Per_IP = 13
        Max_Retries = 4
        [spider]
        Timeout_Update = 5000
        Timeout_Req = 6000
        Max_Doc_Size = 7000
        Max_Redirects = 5
        """,
    )
    settings = load(path, {})
    urlserver, spider = settings.urlserver, settings.spider
    assert urlserver.timeout_spider_status_seconds == 100
    assert (urlserver.queue_count, urlserver.queue_len) == (11, 12)
    assert (urlserver.host_concurrent, urlserver.host_per_second) == (3, 4.5)
    assert (urlserver.max_urls_per_address, urlserver.max_retries) == (13, 4)
    assert (spider.timeout_update_ms, spider.timeout_request_ms) == (5000, 6000)
    assert (spider.max_doc_bytes, spider.max_redirects) == (7000, 5)


def test_both_spellings_of_one_setting_at_once_are_refused(tmp_path):
    path = write(tmp_path, "[urlserver]\nQueue_Count = 1\nqueue_count = 1\n")
    with pytest.raises(ConfigError, match="Queue_Count and queue_count are one setting"):
        load(path, {})


def test_a_flag_in_one_spelling_wins_over_a_file_in_the_other(tmp_path):
    path = write(tmp_path, "[urlserver]\nQueue_Count = 1\n")
    assert load(path, {"urlserver": {"queue_count": 2}}).urlserver.queue_count == 2


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"urlserver": {"queue_cuont": 1}}, ["queue_cuont", "[urlserver]", "queue_count"]),
        ({"urlserver": {"Queue_Cuont": 1}}, ["Queue_Cuont", "queue_count"]),
        ({"urlserver": {"max_pages": 1}}, ["max_pages", "belongs in [crawl]"]),
        ({"urlserver": {"xyzzy": 1}}, ["xyzzy", "gossamer config"]),
        ({"urlsrver": {}}, ["[urlsrver]", "did you mean [urlserver]"]),
        ({"Queue_Count": 1}, ["Queue_Count", "below [urlserver]"]),
        ({"crawl": 4}, ["[crawl]", "4"]),
        ({"crawl": {"scope": "host\n"}}, ["scope", "'host\\n'", "host, domain, prefix, any"]),
        ({"spider": {"robots_agent": "me\n"}}, ["robots_agent", "'me\\n'"]),
        ({"crawl": {"scope": "planet"}}, ["scope", "planet", "host, domain, prefix, any"]),
        ({"urlserver": {"Queue_Count": 0}}, ["Queue_Count", "= 0", "1 to 1000000"]),
        ({"urlserver": {"queue_count": True}}, ["queue_count", "true", "whole number"]),
        ({"urlserver": {"queue_count": "many"}}, ["queue_count", "many", "whole number"]),
        ({"urlserver": {"host_per_second": math.nan}}, ["host_per_second", "nan", "0 to 1000000"]),
        ({"crawl": {"patience_seconds": math.inf}}, ["patience_seconds", "inf", "0 to 1000000000"]),
        ({"crawl": {"max_pages": 10**23}}, ["max_pages", "1000000", "0 to 1000000000000"]),
        ({"crawl": {"include": "x"}}, ["include", "'x'", "list of texts"]),
        ({"crawl": {"include": ["("]}}, ["include", "'('", "regular expression"]),
        ({"url": {"allow_networks": ["10.0.0.1/8"]}}, ["allow_networks", "10.0.0.1/8"]),
        ({"urlserver": {"dns_servers": ["ns.example"]}}, ["dns_servers", "ns.example"]),
        ({"urlserver": {"dns_servers": ["192.0.2.1:99999"]}}, ["dns_servers", "99999"]),
        ({"spider": {"allowed_ports": [0]}}, ["allowed_ports", "1 to 65535"]),
        ({"spider": {"headers": {"Host": "x"}}}, ["headers", "Host"]),
        ({"spider": {"headers": {"X-A": "a\r\nB: c"}}}, ["headers", "X-A", "control character"]),
        ({"spider": {"headers": {"X A": "a"}}}, ["headers", "X A"]),
        ({"spider": {"user_agent": "a\nb"}}, ["user_agent", "control character"]),
        ({"spider": {"proxy": "http://"}}, ["proxy", "'http://'", "http://proxy.example:3128"]),
        ({"spider": {"proxy": "ftp://u:p@a.example"}}, ["proxy", "'ftp://a.example'"]),
        ({"handlers": {"use": ["module"]}}, ["use", "module:function"]),
        ({"urlserver": {"robots_ignore": {"a.example": " "}}}, ["robots_ignore", "a.example"]),
        (
            {"urlserver": {"dns_min_ttl_seconds": 20, "dns_max_ttl_seconds": 10}},
            ["dns_min_ttl_seconds", "20", "10"],
        ),
        (
            {"catalog": {"recrawl_min_seconds": 10_000_000.0}},
            ["recrawl_min_seconds", "recrawl_first_seconds", "recrawl_max_seconds"],
        ),
    ],
)
def test_a_complaint_names_the_key_the_value_and_what_is_allowed(overrides, words):
    text = complaint(overrides)
    assert "\n" not in text
    for word in words:
        assert word in text


@pytest.mark.req("S1.33")
@pytest.mark.parametrize("name", ["host_per_second", "address_per_second"])
@pytest.mark.parametrize("rate", [5e-324, 1e-320, 1e-300, 1.157e-5])
def test_a_rate_is_none_or_one_request_a_day_at_least(name, rate):
    """Less is a slip of the pen, and so little that nothing would ever be fetched."""
    with pytest.raises(ConfigError) as caught:
        load(None, {"urlserver": {name: rate}})
    assert f"[urlserver] {name} = {rate}" in str(caught.value)
    assert "one request a day" in str(caught.value)
    for allowed in (0.0, 1 / 86_400):
        load(None, {"urlserver": {name: allowed}})


def test_the_status_time_out_must_be_twice_the_update_timer():
    """Reading A5: Timeout_Spider_Status * 1000 >= 2 * Timeout_Update, or a refusal to start."""
    text = complaint(
        {"urlserver": {"Timeout_Spider_Status": 9}, "spider": {"Timeout_Update": 5000}}
    )
    assert "timeout_spider_status_seconds = 9" in text
    assert "10 seconds or more" in text
    load(None, {"urlserver": {"Timeout_Spider_Status": 10}, "spider": {"Timeout_Update": 5000}})


@pytest.mark.parametrize(
    "proxy",
    [
        "proxy.example:3128",
        "http://proxy.example",
        "https://me:a:b@proxy.example:3128/",
        "SOCKS5h://[::1]:1080",
        "socks4a://127.0.0.1",
    ],
)
def test_proxies_are_what_libcurl_takes_for_one(proxy):
    assert load(None, {"spider": {"proxy": proxy}}).spider.proxy == proxy


@pytest.mark.parametrize("server", ["192.0.2.1", "192.0.2.1:53", "2001:db8::1", "[2001:db8::1]:53"])
def test_name_servers_may_have_a_port(server):
    assert load(None, {"urlserver": {"dns_servers": [server]}}).urlserver.dns_servers == (server,)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"[crawl\n", "TOML"),
        (b"\xff", "TOML"),
        (b"a = " + b"[" * 100_000, "TOML"),
        (b"#" * 2_000_000, "larger"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, word):
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=word) as caught:
        load(path, {})
    assert str(path) in str(caught.value)


def test_a_file_may_come_from_windows(tmp_path):
    path = tmp_path / "gossamer.toml"
    path.write_bytes(b"\xef\xbb\xbf[crawl]\r\nmax_pages = 7\r\n")
    assert load(path, {}).crawl.max_pages == 7


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.toml: No such file"):
        load(tmp_path / "absent.toml", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spider.http2=false", ("spider", "http2", False)),
        ("crawl.scope=domain", ("crawl", "scope", "domain")),
        ("spider.user_agent=007", ("spider", "user_agent", "007")),
        ('spider.user_agent="a b"', ("spider", "user_agent", "a b")),
        ("urlserver.Queue_Count=5", ("urlserver", "Queue_Count", 5)),
        ("crawl.exclude=[?]a=b", ("crawl", "exclude", ["[?]a=b"])),
        ('crawl.exclude=["a", "b"]', ("crawl", "exclude", ["a", "b"])),
        ("urlserver.host_per_second=1e3", ("urlserver", "host_per_second", 1000.0)),
        ('spider.headers={From = "a"}', ("spider", "headers", {"From": "a"})),
    ],
)
def test_an_assignment_on_the_command_line_is_toml_or_plain_text(text, expected):
    table, name, value = expected
    assert parse_assignment(text) == expected
    load(None, {table: {name: value}})


@pytest.mark.parametrize(
    "text", ["", "crawl", "crawl.scope", "scope=host", ".=", "crawl.=1", "no.x=1"]
)
def test_an_assignment_that_is_none_is_refused(text):
    with pytest.raises(ConfigError):
        parse_assignment(text)


@given(st.text(), st.text())
def test_an_assignment_is_refused_or_read_whatever_is_typed(place, value):
    for text in (f"{place}={value}", f"crawl.{place}={value}"):
        with suppress(ConfigError):
            table, name, read = parse_assignment(text)
            load_or_complaint({table: {name: read}})


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=3))
def test_any_value_is_accepted_or_refused_with_its_key_named(value):
    for key in ("scope", "include", "max_pages", "patience_seconds", "sitemaps"):
        assert key in load_or_complaint({"crawl": {key: value}})


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_written_as_toml_reads_back_and_prints_on_one_line(text):
    written = toml_value(text)
    assert written.isprintable()
    assert tomllib.loads(f"value = {written}") == {"value": text}


def test_the_printed_settings_are_a_file_that_gives_the_same_settings(tmp_path):
    overrides = {
        "crawl": {"include": ["a\\b", 'c"d'], "max_pages": 5},
        "spider": {"headers": {"From": "someone@example.org", "X.Y": "ü"}, "http2": False},
        "urlserver": {"robots_ignore": {"intranet.example": "our own"}, "Queue_Count": 9},
    }
    first = load_with_origins(None, overrides)
    path = write(tmp_path, to_toml(rows(first)))
    assert load(path, {}) == first.settings


def test_every_setting_has_a_description_and_accepts_its_own_default():
    for table, keys in tables().items():
        for key in keys.values():
            assert key.description.endswith("."), f"[{table}] {key.name}"
            assert key.convert(key.default) == key.default


def test_every_number_has_a_largest_value_that_can_be_stored_and_be_a_moment():
    century_in_seconds = 3_200_000_000
    for keys in tables().values():
        for key in keys.values():
            if key.type in {"whole number", "number"}:
                too_much = century_in_seconds if key.name.endswith("_seconds") else 2**63
                with pytest.raises(ValueError, match="<="):
                    key.convert(too_much)


def test_source_names_are_unique():
    names = [key.source_name for keys in tables().values() for key in keys.values()]
    given_names = [name for name in names if name]
    assert len(given_names) == len(set(given_names)) >= 11


def test_what_may_be_secret_is_not_written_down():
    """Not even by its name in the file: only whoever asks is told what there was."""
    spider = {
        "headers": {"X-Key": "k3y"},
        "credentials": {"example.org": "me:h1dden"},
        "proxy": "http://user:pa55@proxy.example:3128",
    }
    settings = load(None, {"spider": spider})
    kept = without_secrets(settings)
    text = to_toml(rows(Loaded(kept, {})))
    assert not any(secret in text for secret in ("k3y", "h1dden", "pa55"))
    assert kept.spider.proxy == "http://proxy.example:3128"
    assert secrets_in(settings) == [
        "the header X-Key",
        "the password for example.org",
        "the log-in at the proxy",
    ]
    assert secrets_in(kept) == []
    assert without_secrets(Settings()) == Settings()


@pytest.mark.parametrize(
    ("proxy", "kept"),
    [
        ("http://user:p@55@proxy.example:3128", "http://proxy.example:3128"),
        ("user:pa55@proxy.example:3128", "proxy.example:3128"),
        ("proxy.example:3128", "proxy.example:3128"),
    ],
)
def test_no_part_of_the_log_in_at_a_proxy_is_written_down(proxy, kept):
    settings = load(None, {"spider": {"proxy": proxy}})
    assert without_secrets(settings).spider.proxy == kept
    assert bool(secrets_in(settings)) == (proxy != kept)
