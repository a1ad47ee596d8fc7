"""Decides what is answered to each request; sends nothing itself."""

from typing import Final

from gossamer.fakeweb import robots
from gossamer.fakeweb.graph import Graph, Kind, Place
from gossamer.fakeweb.oddities import ROOT, Oddities
from gossamer.fakeweb.pages import Writer, css, is_picture, png
from gossamer.fakeweb.reply import Asked, Exchange, Reply, Script
from gossamer.fakeweb.scripts import LONGEST_SECONDS

_DATE: Final = "Thu, 01 Jan 2026 00:00:00 GMT"
_NOT_FOUND: Final = b"<!DOCTYPE html>\n<title>Not found</title>\n<p>There is no such page.\n"
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_SITEMAP_URLS: Final = 50_000
_PLAIN: Final = "text/plain; charset=utf-8"


class Site:
    """All hosts of one fake web."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._writer = Writer(graph)
        self._oddities = Oddities()

    def answer(self, asked: Asked) -> Reply | Script:
        """Return the answer to a request: a reply, or a script that takes over the connection."""
        host = self._graph.hosts.number(asked.host)
        path = asked.target.partition("?")[0]
        if path.startswith(ROOT):
            if path == ROOT + "robots-hop/0":
                return self._rules(host)
            return self._oddities.answer(asked)
        if path == "/robots.txt":
            return self._robots(host)
        if host is None:
            return Reply(404, _NOT_FOUND)
        place = self._graph.find(host, asked.target)
        return self._other(host, path) if place is None else self._place(place, asked)

    def _place(self, place: Place, asked: Asked) -> Reply:
        kind, number = place
        if kind is Kind.REDIRECT:
            target = self._graph.url(self._graph.redirect_target(number))
            status = _REDIRECTS[number % len(_REDIRECTS)]
            return Reply(status, b"<p>Moved.", headers=(("Location", target),))
        if kind is Kind.GONE:
            return Reply(410 if number % 2 else 404, _NOT_FOUND)
        tag = f'"{self._graph.options.seed}-{kind.name.lower()}-{number}"'
        headers = (("ETag", tag), ("Last-Modified", _DATE))
        if asked.header("if-none-match") == tag:
            return Reply(304, headers=headers)
        return Reply(200, self._writer.html(place), headers=headers)

    def _other(self, host: int, path: str) -> Reply:
        if path == "/static/style.css":
            return Reply(200, css(), "text/css")
        if is_picture(path):
            return Reply(200, png(), "image/png")
        if path == "/sitemap.xml" and self._graph.options.sitemap_pages:
            return Reply(200, self._sitemap(host), "application/xml")
        return Reply(404, _NOT_FOUND)

    def _sitemap(self, host: int) -> bytes:
        urls = "".join(
            f"<url><loc>{self._graph.url(place)}</loc></url>\n"
            for place in self._graph.sitemap(host, 0, _SITEMAP_URLS)
        )
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        start = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{space}">\n'
        return f"{start}{urls}</urlset>\n".encode()

    def _rules(self, host: int | None) -> Reply:
        return Reply(200, b"" if host is None else robots.text(self._graph, host), _PLAIN)

    def _robots(self, host: int | None) -> Reply | Script:
        variant = "empty" if host is None else self._graph.options.robots_of(host)
        if variant == "rules":
            return self._rules(host)
        if variant.isdigit():
            return Reply(int(variant), b"<p>No robots.txt.")
        if variant in _SCRIPTS:
            return _SCRIPTS[variant]
        if variant.startswith("redirects-"):
            hops = int(variant.removeprefix("redirects-"))
            return Reply(302, headers=(("Location", f"{ROOT}robots-hop/{hops - 1}"),))
        if variant == "huge" and host is not None:
            return Reply(200, robots.huge(self._graph, host), _PLAIN)
        return _FIXED[variant]


async def _timeout(exchange: Exchange, _asked: Asked) -> int:
    await exchange.sleep(LONGEST_SECONDS)
    return 0


async def _reset(exchange: Exchange, _asked: Asked) -> int:
    exchange.reset()
    return 0


async def _short(exchange: Exchange, _asked: Asked) -> int:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 500\r\n\r\n"
    await exchange.send(head + b"User-agent: *\nDisallow: /pri")
    return 200


_SCRIPTS: Final[dict[str, Script]] = {"timeout": _timeout, "reset": _reset, "short": _short}
_FIXED: Final[dict[str, Reply]] = {
    "empty": Reply(200, b"", _PLAIN),
    "html": Reply(200, b"<!DOCTYPE html>\n<title>Home</title>\n<p>Welcome to our site."),
    "disallow-all": Reply(200, b"User-agent: *\nDisallow: /\n", _PLAIN),
}
