"""The ground truth against the web itself, fetched by a crawl that knows nothing of the graph."""

import re
import urllib.robotparser
from collections import deque
from html.parser import HTMLParser
from http.client import HTTPConnection
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest

from gossamer.fakeweb import FakeWeb
from gossamer.fakeweb.judge import (
    disallowed_requests,
    expected_urls,
    missing,
    nofollow_requests,
    unexpected,
)


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.follow, self.nofollow, self.closed = [], [], False

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "meta" and attributes.get("content") == "nofollow":
            self.closed = True
        if tag == "a":
            into = self.nofollow if attributes.get("rel") == "nofollow" else self.follow
            into.append(attributes["href"])


class Closure:
    """A breadth-first crawl with http.client that obeys robots.txt."""

    def __init__(self):
        self.connections = {}
        self.rules = {}
        self.status = {}
        self.bodies = {}
        self.targets = {}
        self.disallowed, self.nofollow = set(), set()

    def get(self, url):
        parts = urlsplit(url)
        connection = self.connections.setdefault(
            parts.netloc, HTTPConnection(parts.hostname, parts.port, timeout=10)
        )
        connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""))
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    def allows(self, url):
        parts = urlsplit(url)
        if parts.netloc not in self.rules:
            status, _, body = self.get(f"http://{parts.netloc}/robots.txt")
            text = body.decode() if status == 200 and b"User-agent" in body else ""
            self.rules[parts.netloc] = self.pattern(text)
            for sitemap in re.findall(r"^Sitemap: (.*)$", text, re.MULTILINE):
                listed = re.findall(r"<loc>(.*?)</loc>", self.get(sitemap)[2].decode())
                self.waiting.extend(listed)
        return not self.rules[parts.netloc].search(parts.path)

    @staticmethod
    def pattern(text):
        if "Disallow: /\n" in text:
            return re.compile("")
        return re.compile(r"^/private/(?!open)|/draft-.*\.html$" if "Disallow" in text else "$^")

    def run(self, starts):
        self.waiting = deque(starts)
        while self.waiting:
            url = self.waiting.popleft()
            if url in self.status or url in self.disallowed:
                continue
            if not self.allows(url):
                self.disallowed.add(url)
                continue
            self.status[url], headers, body = self.get(url)
            if "Location" in headers:
                self.targets[url] = headers["Location"]
                self.waiting.append(headers["Location"])
            elif self.status[url] == 200:
                self.bodies[url] = body
                self.links(url, body)
        self.close()
        return self

    def close(self):
        for connection in self.connections.values():
            connection.close()

    def links(self, url, body):
        found = Links()
        found.feed(body.decode())
        absolute = [urldefrag(urljoin(url, href)).url for href in found.follow]
        self.nofollow.update(urldefrag(urljoin(url, href)).url for href in found.nofollow)
        if found.closed:
            self.nofollow.update(absolute)
        else:
            self.waiting.extend(absolute)


def of_status(closure, *statuses):
    return {url for url, status in closure.status.items() if status in statuses}


def test_truth_equals_an_independent_crawl():
    """Every list of the truth is what a crawl that obeys robots.txt and nofollow finds, exactly."""
    with FakeWeb(pages=240, hosts=4, seed=5, sitemap_pages=9, duplicates=7, redirects=11) as web:
        truth = web.truth()
        closure = Closure().run(web.start_urls)
        log = web.log()
    copies = {**truth["duplicates"], **truth["near_duplicates"]}
    assert of_status(closure, 200) == {*truth["pages"], *copies}
    assert closure.targets == truth["redirects"]
    assert of_status(closure, 404, 410) == set(truth["gone"])
    assert closure.disallowed == set(truth["disallowed"])
    assert closure.nofollow - set(closure.status) == set(truth["nofollow"])
    assert set(truth["hidden"]).isdisjoint(closure.status)
    for copy, original in truth["duplicates"].items():
        assert closure.bodies[copy] == closure.bodies[original]
    assert len(truth["pages"]) > 240
    assert missing(log, truth) == set()
    assert disallowed_requests(log, truth) == nofollow_requests(log, truth) == []
    assert unexpected(log, truth) == []


def test_the_first_home_alone_leads_to_every_host():
    with FakeWeb(pages=60, hosts=20, seed=2) as web:
        truth = web.truth()
        closure = Closure().run([web.start_url])
    assert set(closure.status) == expected_urls(truth)


def test_hosts_without_readable_rules_are_open_or_shut():
    """404, 403 and HTML allow everything, a 503 and a disallowed root nothing (RFC 9309, 2.3.1)."""
    variants = {0: "404", 1: "503", 2: "html", 3: "disallow-all", 4: "403", 5: "empty"}
    with FakeWeb(pages=180, hosts=6, disallowed=18, sitemap_pages=12, robots=variants) as web:
        truth = web.truth()
        shut = [web.start_urls[1], web.start_urls[3]]
        closure = Closure().run([url for url in web.start_urls if url not in shut])
    allowed = {url for url in closure.status if not url.startswith(tuple(shut))}
    assert allowed == expected_urls(truth)
    assert any("/hidden/" in url for url in allowed)
    assert all(url.startswith(tuple(shut)) for url in truth["disallowed"])


def test_the_robots_file_says_what_the_patterns_say():
    """The judge's regular expressions and the text of robots.txt are two forms of one rule."""
    with FakeWeb(pages=100, hosts=1, disallowed=10) as web:
        truth = web.truth()
        closure = Closure()
        _, _, body = closure.get(web.start_url + "robots.txt")
        closure.close()
    parser = urllib.robotparser.RobotFileParser()
    # The standard library knows neither wildcards nor longest match, so Allow goes first.
    lines = body.decode().splitlines()
    parser.parse([lines[0], lines[2], lines[1]])
    (patterns,) = truth["disallow"].values()
    for url in expected_urls(truth) | set(truth["disallowed"]):
        target = url.removeprefix(web.start_url[:-1])
        forbidden = any(re.search(pattern, target) for pattern in patterns)
        if "/draft-" not in target:
            assert parser.can_fetch("*", url) is not forbidden
        assert forbidden == (url in truth["disallowed"])


@pytest.mark.parametrize("extra", ["redirects", "duplicates", "near_duplicates", "gone"])
def test_an_extra_is_as_many_as_asked_for(extra):
    web = FakeWeb(pages=100, hosts=3, **{extra: 17})
    assert len(web.truth()[extra]) == 17
