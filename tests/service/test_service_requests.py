"""How requests of sites are made, judged by the log of the web and by what is kept."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from request_rig import CrawledSite, page

from gossamer.errors import ConfigError
from gossamer.fakeweb import judge
from gossamer.fakeweb.process import FakeWeb
from gossamer.objects.enumerations import CrawlStatus, URLState
from gossamer.objects.error_mask import ErrorBit
from gossamer.service.engine_settings import engine_settings_of
from gossamer.service.settings import FetchSettings, ServiceSettings, StorageSettings
from press import Press, Reply, Request, press

MONDAY = "Mon, 02 Nov 2026 10:00:00 GMT"
TUESDAY = "Tue, 03 Nov 2026 10:00:00 GMT"


@pytest.fixture
def paper() -> Iterator[Press]:
    with press() as served:
        yield served


def asked(paper: Press, path: str) -> list[Request]:
    return [request for request in paper.log if request.path == path]


def detect(**fields: int) -> dict[str, str]:
    return {"DETECT_MODIFIED": json.dumps(fields)}


def conditional(paper: Press, path: str, etag: str = '"1"', modified: str = MONDAY) -> None:
    """Serve a page that answers conditions with 304."""

    def answer(request: Request) -> Reply:
        fields = {"Content-Type": "text/html", "ETag": etag, "Last-Modified": modified}
        known = request.headers.get("if-none-match") or request.headers.get("if-modified-since")
        if known in (etag, modified):
            return 304, fields, b""
        return 200, fields, b"<p>The page as it is."

    paper.routes[path] = answer


# ------------------------------------------------------- requests and what they bring


@pytest.mark.req("S3.56", "S3.57")
def test_robots_txt_counts_for_the_name_that_a_site_asks_with_and_for_our_own(
    tmp_path: Path, paper: Press
) -> None:
    text = b"User-agent: ExampleBot\nDisallow: /for-others\n\nUser-agent: gossamer\nDisallow: /x\n"
    paper.routes["/robots.txt"] = (200, {"Content-Type": "text/plain"}, text)
    paths = ("/for-others", "/x", "/free")
    for path in paths:
        page(paper, path)
    urls = [paper.url(path) for path in paths]
    named = {"HTTP_HEADERS": '{"User-Agent": "ExampleBot/2.0 (+https://example.org/bot)"}'}
    site = CrawledSite(tmp_path / "named", *urls, properties=named)
    site.crawl()
    assert [each.path for each in paper.log if each.path != "/robots.txt"] == ["/free"]
    for url in urls[:2]:
        assert site.member(url, "error_mask") == 1 << ErrorBit.ROBOTS
    site.close()
    paper.log.clear()
    plain = CrawledSite(tmp_path / "plain", *urls)
    plain.crawl()
    asked_for = {each.path for each in paper.log if each.path != "/robots.txt"}
    assert asked_for == {"/for-others", "/free"}
    plain.close()


@pytest.mark.req("S3.51", "S3.52")
def test_sites_without_headers_have_those_of_the_files_that_the_configuration_names(
    tmp_path: Path, paper: Press
) -> None:
    text = b"User-agent: filebot\nDisallow: /private\n"
    paper.routes["/robots.txt"] = (200, {"Content-Type": "text/plain"}, text)
    for path in ("/open", "/private"):
        page(paper, path)
    (tmp_path / "headers.txt").write_text('{"User-Agent": "FileBot/1.0", "X-From": "a file"}')
    (tmp_path / "cookie.txt").write_text("taste=plain")
    fetch = FetchSettings(allow_private=True, headers_file="headers.txt", cookie_file="cookie.txt")
    engine = engine_settings_of(ServiceSettings(fetch=fetch, folder=tmp_path))
    urls = [paper.url(path) for path in ("/open", "/private")]
    site = CrawledSite(tmp_path / "w", *urls, settings=engine)
    site.crawl()
    (request,) = [each for each in paper.log if each.path != "/robots.txt"]
    assert request.path == "/open"
    assert request.headers["user-agent"] == "FileBot/1.0"
    assert request.headers["x-from"] == "a file"
    assert request.headers["cookie"] == "taste=plain"
    site.close()


def test_a_default_agent_without_a_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "headers.txt").write_text('{"User-Agent": "(nobody)"}')
    settings = ServiceSettings(fetch=FetchSettings(headers_file="headers.txt"), folder=tmp_path)
    with pytest.raises(ConfigError, match="must begin with a name"):
        engine_settings_of(settings)


@pytest.mark.req("S3.38")
def test_a_request_is_made_as_the_site_wants_and_what_it_brings_is_downloaded(
    tmp_path: Path, paper: Press
) -> None:
    """The request: URL, headers, cookie, log-in; the download: the bytes of the server."""
    body = bytes(range(256)) * 40
    paper.routes["/data"] = (200, {"Content-Type": "application/octet-stream"}, body)
    properties = {
        "HTTP_HEADERS": '{"User-Agent": "the site", "X-Mark": "7"}',
        "HTTP_COOKIE": "taste=good",
        "HTTP_AUTH_NAME": "me",
        "HTTP_AUTH_PWD": "hidden",
        "REFERER_SELF_URL": "1",
    }
    site = CrawledSite(tmp_path / "w", paper.url("/data"), properties=properties)
    site.crawl()
    (request,) = asked(paper, "/data")
    assert request.method == "GET"
    assert request.headers["user-agent"] == "the site"
    assert request.headers["x-mark"] == "7"
    assert request.headers["cookie"] == "taste=good"
    assert request.headers["authorization"] == "Basic bWU6aGlkZGVu"
    assert request.headers["referer"] == paper.url("/data")
    assert site.files(paper.url("/data"))["bin"] == body
    kept = site.files(paper.url("/data"))["request.txt"].decode()
    assert kept.startswith("GET /data HTTP/1.1\r\nHost: ")
    assert kept.count("User-Agent:") == kept.count("User-Agent: the site\r\n") == 1
    assert "X-Mark: 7\r\n" in kept
    # What is secret is not written down.
    assert "taste" not in kept
    assert "Authorization" not in kept
    site.close()


@pytest.mark.req("S3.39")
def test_a_response_is_understood_and_told(tmp_path: Path, paper: Press) -> None:
    """Code, type, charset, size, checksum, validators and links come from the response."""
    text = "<html><title>Ü</title><a href='/x'>x</a><a href='http://other.test/'>y</a>"
    body = text.encode("latin-1")
    fields = {
        "Content-Type": "text/html; charset=iso-8859-1",
        "ETag": '"e1"',
        "Last-Modified": MONDAY,
    }
    paper.routes["/"] = (203, fields, body)
    site = CrawledSite(tmp_path / "w", paper.url("/"))
    site.crawl()
    url = paper.url("/")
    told = {
        name: site.member(url, name)
        for name in ("http_code", "content_type", "charset", "size", "etag", "links_i", "links_e")
    }
    assert told == {
        "http_code": 203,
        "content_type": "text/html",
        "charset": "windows-1252",
        "size": len(body),
        "etag": '"e1"',
        "links_i": 1,
        "links_e": 1,
    }
    assert site.member(url, "raw_content_md5") == hashlib.md5(body).hexdigest()
    assert site.member(url, "last_modified") == 1_793_613_600.0
    assert site.files(url)["headers.txt"].startswith(b"HTTP/1.1 203 ")
    site.close()


@pytest.mark.req("S3.36")
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html", b"<p>A page."),
        ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(40)),
        ("application/pdf", b"%PDF-1.7\n" + bytes(40)),
        ("application/json", b'{"a": 1}'),
        ("video/mp4", b"\x00\x00\x00\x18ftypmp42" + bytes(40)),
    ],
)
def test_a_resource_of_any_type_is_kept_with_its_type(
    tmp_path: Path, paper: Press, content_type: str, body: bytes
) -> None:
    paper.routes["/it"] = (200, {"Content-Type": content_type}, body)
    site = CrawledSite(tmp_path / "w", paper.url("/it"))
    site.crawl()
    assert site.member(paper.url("/it"), "content_type") == content_type
    assert site.member(paper.url("/it"), "content_mask") == 1
    assert site.member(paper.url("/it"), "error_mask") == 0
    assert site.files(paper.url("/it"))["bin"] == body
    site.close()


def test_only_types_that_the_site_names_are_kept(tmp_path: Path, paper: Press) -> None:
    page(paper, "/")
    paper.routes["/i"] = (200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n" + bytes(40))
    properties = {"MIME_TYPE_STORE_ON_DISK": "text/html, text/plain"}
    site = CrawledSite(tmp_path / "w", paper.url("/"), paper.url("/i"), properties=properties)
    site.crawl()
    assert "bin" in site.files(paper.url("/"))
    assert site.files(paper.url("/i")) == {}
    assert site.member(paper.url("/"), "content_mask") == 1
    assert site.member(paper.url("/i"), "content_mask") == 0
    assert site.member(paper.url("/i"), "error_mask") == 0
    site.close()


def test_types_have_the_aliases_of_the_site(tmp_path: Path, paper: Press) -> None:
    paper.routes["/i"] = (200, {"Content-Type": "application/x-story"}, b"\x00\x01 words")
    properties = {
        "CONTENT_TYPE_MAP": '{"application/x-story": "text/html"}',
        "ALLOWED_CTYPES": "text/html",
        "MIME_TYPE_STORE_ON_DISK": "text/html",
    }
    site = CrawledSite(tmp_path / "w", paper.url("/i"), properties=properties)
    site.crawl()
    assert site.member(paper.url("/i"), "content_type") == "text/html"
    assert site.member(paper.url("/i"), "error_mask") == 0
    assert "bin" in site.files(paper.url("/i"))
    site.close()


def test_a_head_is_asked_for_if_the_url_says_so(tmp_path: Path, paper: Press) -> None:
    page(paper, "/", "/a")
    site = CrawledSite(tmp_path / "w", paper.url("/"))
    site.rig.query("UPDATE member SET http_method = 'head'")
    site.crawl()
    assert [request.method for request in asked(paper, "/")] == ["HEAD"]
    assert site.member(paper.url("/"), "http_code") == 200
    assert site.member(paper.url("/"), "error_mask") == 0
    assert site.member(paper.url("/"), "status") == CrawlStatus.CRAWLED
    assert site.member(paper.url("/"), "content_mask") == 0
    assert site.crawl() == 0
    site.close()


# ------------------------------------------------------------------------------ cookies


@pytest.mark.parametrize("is_on", [True, False])
def test_cookies_of_responses_are_kept_if_the_site_wants_them(
    tmp_path: Path, paper: Press, is_on: bool
) -> None:
    page(paper, "/", Set_Cookie="a=1; Path=/")
    site = CrawledSite(
        tmp_path / "w", paper.url("/"), properties={"STORE_COOKIES": "1" if is_on else "0"}
    )
    site.crawl()
    expected = b"a=1; Path=/\n" if is_on else None
    assert site.files(paper.url("/")).get("cookies.txt") == expected
    site.again()
    assert all("cookie" not in request.headers for request in paper.log)
    site.close()


def test_cookies_go_with_the_requests_of_their_stage(tmp_path: Path, paper: Press) -> None:
    paper.routes["/old"] = (302, {"Location": "/new"}, b"")
    page(paper, "/new")
    rules = {
        "/old$": {"cookie": "first=1", "stage": 1},
        "/new": {"cookie": "then=2", "stage": 2},
        "*": {"cookie": "always=3"},
        "/never": {"cookie": "no=4"},
    }
    properties = {"HTTP_COOKIE": json.dumps(rules)}
    site = CrawledSite(tmp_path / "w", paper.url("/old"), properties=properties)
    site.crawl()
    assert asked(paper, "/old")[0].headers["cookie"] == "first=1; always=3"
    assert asked(paper, "/new")[0].headers["cookie"] == "then=2; always=3"
    site.close()


def test_what_is_secret_does_not_follow_a_redirect_to_another_host(
    tmp_path: Path, paper: Press
) -> None:
    with press("127.0.0.2") as other:
        page(other, "/")
        paper.routes["/"] = (302, {"Location": other.url("/")}, b"")
        properties = {
            "HTTP_HEADERS": '{"Authorization": "Bearer x", "X-Mark": "1"}',
            "HTTP_COOKIE": "taste=good",
            "HTTP_AUTH_NAME": "me",
        }
        site = CrawledSite(tmp_path / "w", paper.url("/"), properties=properties)
        site.crawl()
        (there,) = asked(other, "/")
    assert {"cookie", "authorization", "x-mark"} <= set(asked(paper, "/")[0].headers)
    assert "cookie" not in there.headers
    assert "authorization" not in there.headers
    assert there.headers["x-mark"] == "1"
    site.close()


# ----------------------------------------------------------------------------- headers


def test_user_agents_come_in_turn_from_a_file_of_the_service(tmp_path: Path, paper: Press) -> None:
    urls = [paper.url(f"/{number}") for number in range(4)]
    for number in range(4):
        page(paper, f"/{number}")
    site = CrawledSite(tmp_path / "w", *urls, properties={"HTTP_HEADERS": "file:agents.txt"})
    (site.directory / "files").mkdir()
    (site.directory / "files" / "agents.txt").write_text("Agent: One/1.0 (a; b)\nTwo/2.0\n\n")
    site.crawl()
    sent = [each.headers["user-agent"] for each in paper.log if each.path != "/robots.txt"]
    assert sorted(sent) == ["Agent: One/1.0 (a; b)"] * 2 + ["Two/2.0"] * 2
    site.close()


# ---------------------------------------------------------------------- frequency limits


def test_over_its_frequency_a_url_is_new_again(tmp_path: Path, paper: Press) -> None:
    urls = [paper.url(f"/{number}") for number in range(4)]
    for number in range(4):
        page(paper, f"/{number}")
    limits = {"\\.example$": {"max_freq": 0.001}, "^127\\.": {"max_freq": 5, "max_delay": 0.3}}
    properties = {"HTTP_FREQ_LIMITS": json.dumps(limits)}
    site = CrawledSite(tmp_path / "w", *urls, properties=properties)
    assert site.crawl() == 4
    # One at once, one after a wait that is short enough.
    assert sum(paper.asked(f"/{number}") for number in range(4)) == 2
    states = [
        (site.member(url, "status"), site.member(url, "state"), site.member(url, "error_mask"))
        for url in urls
    ]
    assert sorted(states) == [
        (CrawlStatus.NEW, URLState.ENABLED, 1 << ErrorBit.NO_TIME_WINDOW),
        (CrawlStatus.NEW, URLState.ENABLED, 1 << ErrorBit.NO_TIME_WINDOW),
        (CrawlStatus.CRAWLED, URLState.ENABLED, 0),
        (CrawlStatus.CRAWLED, URLState.ENABLED, 0),
    ]
    while site.crawl():
        pass
    assert {site.member(url, "error_mask") for url in urls} == {0}
    pages = sorted(request.at for request in paper.log if request.path != "/robots.txt")
    assert len(pages) == 4
    site.close()


def test_a_generous_frequency_does_not_shorten_the_delay(tmp_path: Path) -> None:
    properties = {"HTTP_FREQ_LIMITS": '{"*": {"max_freq": 1000, "max_delay": 10}}'}
    with FakeWeb(pages=20, hosts=1) as web:
        urls = list(web.truth()["pages"])[:4]
        site = CrawledSite(tmp_path / "w", *urls, properties=properties, request_delay=200)
        site.crawl()
        # By when they reached the web, however late that came to look at them.
        assert len(web.log().requests) == 5
        assert judge.gap_violations(web.log(), 0.2) == []
    site.close()


# --------------------------------------------------------------------- what has not changed


def test_what_has_not_changed_stays_as_it_was(tmp_path: Path, paper: Press) -> None:
    conditional(paper, "/")
    site = CrawledSite(tmp_path / "w", paper.url("/"))
    url = paper.url("/")
    site.crawl()
    names = ("size", "charset", "etag", "last_modified", "raw_content_md5", "content_mask")
    before = [site.member(url, name) for name in names]
    site.again()
    assert site.member(url, "http_code") == 304
    assert [site.member(url, name) for name in names] == before
    assert site.member(url, "mrate") == 0.5
    assert site.member(url, "mrate_counter") == 2
    site.again()
    assert site.member(url, "mrate") == pytest.approx(1 / 3)
    assert [len(each.headers.get("if-none-match", "")) for each in asked(paper, "/")] == [0, 3, 3]
    site.close()


def test_a_site_that_does_not_have_a_document_gets_all_of_it(tmp_path: Path, paper: Press) -> None:
    """What another site has is no reason to ask only for what is new."""
    conditional(paper, "/")
    site = CrawledSite(tmp_path / "w", paper.url("/"))
    site.crawl()
    other = site.rig.site(paper.url("/"))
    site.crawl()
    assert site.member(paper.url("/"), "http_code", other) == 200
    assert site.member(paper.url("/"), "size", other) > 0
    site.close()


@pytest.mark.parametrize(
    ("wish", "sent"),
    [
        ({"mode": 0}, set()),
        ({"mode": 1}, {"if-none-match", "if-modified-since"}),
        ({"mode": 2}, set()),
        ({"algorithm": 1}, {"if-none-match"}),
        ({"algorithm": 2}, {"if-modified-since"}),
    ],
)
def test_conditions_are_sent_as_the_site_wants(
    tmp_path: Path, paper: Press, wish: dict[str, int], sent: set[str]
) -> None:
    conditional(paper, "/")
    site = CrawledSite(tmp_path / "w", paper.url("/"), properties=detect(**wish))
    site.crawl()
    site.again()
    conditions = {"if-none-match", "if-modified-since"}
    assert conditions & set(asked(paper, "/")[1].headers) == sent
    assert site.member(paper.url("/"), "mrate") == (0.5 if sent else 1.0)
    site.close()


def test_root_urls_may_be_left_out(tmp_path: Path, paper: Press) -> None:
    conditional(paper, "/")
    site = CrawledSite(tmp_path / "w", paper.url("/"), properties=detect(mode=2))
    site.crawl()
    site.rig.query("UPDATE member SET parent_md5 = 'x'")
    site.again()
    assert site.member(paper.url("/"), "http_code") == 304
    site.close()


@pytest.mark.parametrize(
    ("compare", "second", "is_same"),
    [
        (0, (MONDAY, b"<p>the same length"), False),
        (1, (MONDAY, b"<p>another text by far"), True),
        (1, (TUESDAY, b"<p>the same length"), False),
        (2, (TUESDAY, b"<p>the very length"), True),
        (2, (MONDAY, b"<p>the same length"), False),
        (3, (TUESDAY, b"<p>the same length"), True),
        (3, (MONDAY, b"<p>another text by far"), False),
    ],
)
def test_what_shows_that_nothing_has_changed(
    tmp_path: Path, paper: Press, compare: int, second: tuple[str, bytes], is_same: bool
) -> None:
    """A server that knows no conditions: date, md5 or length decide."""
    fields = {"Content-Type": "text/html", "Last-Modified": MONDAY}
    paper.routes["/"] = (200, fields, b"<p>the very length")
    site = CrawledSite(tmp_path / "w", paper.url("/"), properties=detect(compare=compare))
    site.crawl()
    modified, body = second
    paper.routes["/"] = (200, fields | {"Last-Modified": modified}, body)
    site.again()
    assert site.member(paper.url("/"), "mrate") == (0.5 if is_same else 1.0)
    assert site.member(paper.url("/"), "http_code") == (304 if is_same else 200)
    site.close()


@pytest.mark.parametrize(
    ("behavior", "status", "code", "stays"),
    [
        (0, CrawlStatus.CRAWLED, 304, False),
        (1, CrawlStatus.PROCESSED, 304, False),
        (2, CrawlStatus.CRAWLED, 200, False),
        (3, CrawlStatus.PROCESSED, 304, True),
    ],
)
def test_what_becomes_of_a_url_that_has_not_changed(
    tmp_path: Path, paper: Press, behavior: int, status: int, code: int, stays: bool
) -> None:
    conditional(paper, "/")
    site = CrawledSite(tmp_path / "w", paper.url("/"), properties=detect(behavior=behavior))
    site.crawl()
    site.rig.query("UPDATE member SET processed = 1, udate = 77")
    site.again()
    url = paper.url("/")
    assert site.member(url, "status") == status
    assert site.member(url, "http_code") == code
    assert (site.member(url, "udate") == 77) is stays
    site.close()


def test_the_head_is_asked_first_and_the_whole_only_after_a_change(
    tmp_path: Path, paper: Press
) -> None:
    fields = {"Content-Type": "text/html", "Last-Modified": MONDAY}
    paper.routes["/"] = (200, fields, b"<p>first")
    site = CrawledSite(tmp_path / "w", paper.url("/"), properties=detect(algorithm=3, compare=1))
    site.crawl()
    site.again()
    assert [each.method for each in asked(paper, "/")] == ["GET", "HEAD"]
    assert site.member(paper.url("/"), "http_code") == 304
    assert site.member(paper.url("/"), "size") == 8
    paper.routes["/"] = (200, fields | {"Last-Modified": TUESDAY}, b"<p>second")
    site.again()
    assert [each.method for each in asked(paper, "/")] == ["GET", "HEAD", "HEAD", "GET"]
    assert site.member(paper.url("/"), "http_code") == 200
    assert site.member(paper.url("/"), "size") == 9
    assert b"<p>second" in site.files(paper.url("/"))["bin"]
    assert site.member(paper.url("/"), "mrate_counter") == 3
    assert site.member(paper.url("/"), "mrate") == pytest.approx(2 / 3)
    site.close()


# --------------------------------------------------------------- several sites, one URL


def test_sites_that_ask_alike_share_one_request(tmp_path: Path, paper: Press) -> None:
    page(paper, "/")
    site = CrawledSite(tmp_path / "w", paper.url("/"))
    other = site.rig.site(paper.url("/"))
    site.crawl()
    assert paper.asked("/") == 1
    assert site.member(paper.url("/"), "http_code", other) == 200
    assert len(list(site.raw.glob("*/*/*/*.bin"))) == 2
    site.close()


def test_what_one_site_gets_with_its_log_in_is_not_for_another(
    tmp_path: Path, paper: Press
) -> None:
    def private(request: Request) -> Reply:
        known = "authorization" in request.headers
        body = b"<p>for members" if known else b"<p>for everybody"
        return 200, {"Content-Type": "text/html"}, body

    paper.routes["/"] = private
    site = CrawledSite(
        tmp_path / "w", paper.url("/"), properties={"HTTP_AUTH_NAME": "me", "HTTP_AUTH_PWD": "x"}
    )
    other = site.rig.site(paper.url("/"))
    assert site.crawl() == 2
    assert paper.asked("/") == 2
    assert site.files(paper.url("/"))["bin"] == b"<p>for members"
    site.set_id = other
    assert site.files(paper.url("/"))["bin"] == b"<p>for everybody"
    site.close()


@pytest.mark.parametrize("keeps", [True, False])
def test_earlier_versions_of_a_page_are_kept_if_the_configuration_says_so(
    tmp_path: Path, paper: Press, keeps: bool
) -> None:
    url = paper.url("/page")
    settings = ServiceSettings(
        fetch=FetchSettings(allow_private=True),
        storage=StorageSettings(keep_old_resources=keeps),
        folder=tmp_path,
    )
    site = CrawledSite(tmp_path / "w", url, settings=engine_settings_of(settings))
    for text in (b"first", b"second"):
        paper.routes["/page"] = (200, {"Content-Type": "text/html"}, b"<p>The %s." % text)
        site.again()
    bodies = sorted(path.read_bytes() for path in site.raw.rglob("*.bin"))
    assert bodies == ([b"<p>The first."] if keeps else []) + [b"<p>The second."]
    site.close()
