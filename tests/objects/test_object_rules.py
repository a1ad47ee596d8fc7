"""Ids, folders, properties, headers and cookies of the service."""

import hashlib
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.objects.enumerations import ModesFlag
from gossamer.objects.headers import next_values, parse_cookies, parse_headers
from gossamer.objects.normal import (
    identified_site,
    identified_url,
    root_urls_of,
    site_id_of,
    site_of_url,
    url_md5,
)
from gossamer.objects.paths import path_of
from gossamer.objects.problems import ObjectError, UnsupportedError
from gossamer.objects.properties import (
    SUPPORTED,
    UNSUPPORTED,
    check_properties,
    is_on,
    modes_of,
    value_of,
    values_of,
)
from gossamer.objects.site import Property, Site, SiteURL, default_properties
from gossamer.objects.url import URL


def properties(**values: str) -> list[Property]:
    return [Property(name=name, value=value) for name, value in values.items()]


@pytest.mark.req("S3.37")
def test_the_id_of_a_resource_is_the_md5_of_its_normalised_url():
    expected = hashlib.md5(b"http://example.org/a").hexdigest()
    for spelling in (
        "http://example.org/a",
        "HTTP://EXAMPLE.org:80/x/../a#top",
        " http://example.org/%61 ",
    ):
        assert url_md5(spelling) == expected
    assert identified_url(URL(url="HTTP://Example.org/a")).url_md5 == expected
    assert url_md5("http://example.org/A") != expected


def test_the_id_of_a_site_agrees_with_that_of_its_canonical_url():
    """SITE_NEW with a root URL, and URL_NEW that looks for its site, name the same site."""
    site = identified_site(Site(urls=["http://Example.org"]))
    assert site.id == site_id_of(site_of_url("http://example.org/deep/page?x=1"))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.org/a/b?c#d", "http://example.org/"),
        ("https://Example.ORG:443/a", "https://example.org/"),
        ("http://example.org:8080", "http://example.org:8080/"),
        ("http://user:pass@example.org/a", "http://example.org/"),
        ("http://[::1]:81/a", "http://[::1]:81/"),
    ],
)
def test_the_canonical_url_of_a_site_is_scheme_netloc_and_slash(url, expected):
    assert site_of_url(url) == expected


@pytest.mark.parametrize(
    "url", ["", "x", "ftp://a.example/", "http://", "javascript:1", "http://a b/"]
)
def test_what_is_no_url_of_the_web_is_named(url):
    for function in (url_md5, site_id_of, site_of_url):
        with pytest.raises(ObjectError, match=r"URL\.url: an http or https URL"):
            function(url)


def test_root_urls_are_texts_or_objects():
    site = Site(id="s", urls=["http://A.example", SiteURL(url="http://b.example", user_id=5)])
    first, second = root_urls_of(site)
    assert (first.url, first.site_id, first.parent_md5) == ("http://a.example/", "s", "")
    assert (second.user_id, second.url_md5) == (5, url_md5("http://b.example/"))


def test_the_folder_of_a_resource_is_two_and_thirty_digits():
    assert path_of("0123456789abcdef0123456789abcdef") == "01/23456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    "md5",
    [
        "",
        "..",
        "../../../../etc/passwd",
        "0" * 31,
        "0" * 33,
        "0" * 31 + "g",
        "A" * 32,
        "0" * 32 + "\n",
        "../" + "0" * 29,
        "/" + "0" * 31,
        "0" * 31 + "\0",
        "\uff10" * 32,
    ],
)
def test_nothing_but_an_md5_names_a_folder(md5):
    with pytest.raises(ObjectError, match="urlMd5"):
        path_of(md5)


@given(st.text(max_size=40) | st.text("0123456789abcdef./", min_size=30, max_size=34))
def test_no_text_leads_out_of_the_data_folder(text):
    try:
        parts = PurePosixPath(path_of(text)).parts
    except ObjectError:
        return
    assert len(parts) == 2
    assert not {"..", ".", "/"} & set(parts)


def test_properties_that_are_not_supported_are_named_with_the_reason():
    check_properties(default_properties())
    check_properties(properties(**dict.fromkeys(SUPPORTED, ""), USER_COLOUR="red"))
    assert not SUPPORTED & set(UNSUPPORTED)
    for name in (*UNSUPPORTED, "HTTP_POST_FORM_user", "SCRAPER_TEXT_X"):
        with pytest.raises(UnsupportedError, match=f"Property.{name}: it is not supported: .+"):
            check_properties(properties(**{name: ""}))
    for name, value in (("HTTP_HEADERS", "{"), ("HTTP_COOKIE", "no cookie")):
        with pytest.raises(ObjectError, match=name):
            check_properties(properties(**{name: value}))
    with pytest.raises(UnsupportedError, match="there is no such property"):
        check_properties(properties(HTTP_HEADER=""))


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("AGING_URL_CRITERION", "Depth = 3 AND CDate < NOW()", "Nonsense = 3"),
        ("CONNECTION_TIMEOUT", "2.5", "soon"),
        ("CONNECTION_TIMEOUT", "0.001", "-1"),
        ("HTML_REDIRECTS_MAX", "0", "-1"),
        ("HTTP_CODE_STATUS_UPDATE", '{"404": 1, "503": 4}', '{"404": 99}'),
        ("HTTP_CODE_STATUS_UPDATE", "{}", '{"none": 1}'),
        ("HTTP_REDIRECTS_MAX", "12", "abc"),
        ("PDATE_DAY_MONTH_ORDER", '[{"pattern": ".", "order": 1}]', "{}"),
        ("PDATE_SOURCES_MASK", "255", "xx"),
        ("PDATE_SOURCES_MASK_OVERWRITE", "192", "1.5"),
        ("PDATE_TIMEZONES", "[]", "+0100"),
        ("PROCESSOR_NAME_REPLACE", '{"A": "RSS"}', '{"A": 1}'),
        ("PROCESSOR_PROPERTIES", '{"algorithm": {}}', "{bad"),
        ("PROCESS_WHERE_SITES", "NewURLs > 1 AND Id = '%SITE_ID%'", "Depth = 1"),
        ("PROCESS_WHERE_URLS", "ContentType = 'text/html' AND Depth = 0", "DROP TABLE"),
        ("RECRAWL_DELETE_WHERE", "URL LIKE '%/good'", "1 = 1) OR (1 = 1"),
        ("RECRAWL_PERIOD_MAX", "50", "0"),
        ("RECRAWL_PERIOD_MIN", "5", "xx"),
        ("RECRAWL_PERIOD_MODE", "1", "2"),
        ("RECRAWL_PERIOD_STEP", "15", "-15"),
        ("RECRAWL_WHERE", "Status = 4", "1 ="),
        ("SCRAPER_METRICS", '{"words": 5}', "[]"),
        ("template", '{"templates": []}', "{bad"),
    ],
)
def test_values_that_cannot_be_used_are_refused_by_name(name, good, bad):
    check_properties(properties(**{name: good}))
    check_properties(properties(**{name: " "}))
    with pytest.raises(ObjectError, match=rf"cannot use Property\.{name}: .+"):
        check_properties(properties(**{name: bad}))


def test_a_value_of_a_url_goes_before_that_of_its_site():
    known = [
        Property(name="A", value="url", url_md5="m"),
        Property(name="A", value="site"),
        Property(name="B", value="other", url_md5="n"),
    ]
    assert (value_of(known, "A"), value_of(known, "A", url_md5="m")) == ("site", "url")
    assert value_of(known, "B", "none", "m") == "none"


def test_a_property_may_be_there_several_times_and_hold_lists():
    known = [*properties(PROCESS_CTYPES="text/html, text/json,"), *properties(PROCESS_CTYPES="a/b")]
    assert values_of(known, "PROCESS_CTYPES") == ["text/html", "text/json", "a/b"]


def test_switches_are_on_unless_they_are_zero():
    assert not is_on([], "X")
    assert is_on([], "X", default=True)
    assert is_on(properties(X="1"), "X")
    assert not is_on(properties(X=" 0"), "X", default=True)


def test_modes():
    everything = ModesFlag.CRAWLING | ModesFlag.PROCESSING | ModesFlag.RECRAWL | ModesFlag.AGING
    assert modes_of("") == everything
    assert modes_of("3") == ModesFlag.CRAWLING | ModesFlag.PROCESSING
    assert modes_of("0") == ModesFlag(0)
    for text in ("x", "-1", "1.5", "9" * 30, "\u0661"):
        with pytest.raises(ObjectError, match="MODES_FLAG"):
            check_properties(properties(MODES_FLAG=text))


def test_headers_are_a_map_or_lines():
    headers = parse_headers('{"User-Agent": ["a", "b"], "Accept": "*/*"}')
    assert headers == (("User-Agent", ("a", "b")), ("Accept", ("*/*",)))
    assert parse_headers("Accept: */*\r\nX-A: b: c\n") == (("Accept", ("*/*",)), ("X-A", ("b: c",)))
    assert parse_headers(" ") == ()


def test_values_of_a_header_take_turns_by_least_use():
    headers = parse_headers('{"User-Agent": ["a", "b", "c"]}')
    uses: dict[tuple[str, str], int] = {("User-Agent", "a"): 1}
    sent = [next_values(headers, uses)[0][1] for _ in range(5)]
    assert sent == ["b", "c", "a", "b", "c"]


@pytest.mark.parametrize(
    "text",
    [
        '{"A": "b\\r\\nHost: evil"}',
        '{"A\\n": "b"}',
        '{"A": 1}',
        '{"Host": "evil"}',
        '{"Content-Length": "1"}',
        "no colon",
        "{",
        '{"A B": "c"}',
        '{"": "c"}',
        '{"A": "\\u0000"}',
        "A: " + "x" * 9_000,
        "A: " + "x" * 70_000,
        "\n".join(f"A{number}: b" for number in range(200)),
    ],
)
def test_headers_that_cannot_be_sent_are_named(text):
    with pytest.raises(ObjectError, match="HTTP_HEADERS"):
        parse_headers(text)


def test_files_are_not_read_for_clients():
    with pytest.raises(UnsupportedError, match="files"):
        parse_headers("file:/etc/passwd")


def test_cookies_are_pairs_or_a_map():
    assert parse_cookies("a=1; b=x=y;") == (("a", "1"), ("b", "x=y"))
    assert parse_cookies('{"a": "1"}') == (("a", "1"),)
    assert parse_cookies("") == ()
    for text in ("a", "a=b c", '{"a": {"stage": 1}}', "a=\x01", "=b", "{"):
        with pytest.raises(ObjectError, match="HTTP_COOKIE"):
            parse_cookies(text)


@given(st.text(max_size=60))
def test_any_text_is_read_or_named(text):
    for reader in (parse_headers, parse_cookies):
        try:
            reader(text)
        except ObjectError:
            continue
    for name in ("MODES_FLAG", "URL_NORMALIZE", "URL_NORMALIZE_MASK"):
        try:
            check_properties(properties(**{name: text}))
        except ObjectError:
            continue
