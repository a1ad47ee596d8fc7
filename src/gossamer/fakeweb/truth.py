"""The ground truth of a fake web: what a right crawl of it fetches, and what it leaves alone."""

import json
from collections.abc import Iterator
from typing import TypedDict

from gossamer.fakeweb.graph import Graph, Kind
from gossamer.fakeweb.pages import assets
from gossamer.fakeweb.robots import patterns


class Truth(TypedDict):
    """All URLs of a fake web by what a crawler that starts at `start_urls` has to do with them."""

    start_urls: list[str]
    pages: list[str]
    """Documents to fetch: reachable, allowed, answered with 200; copies are listed below only."""
    redirects: dict[str, str]
    """Redirects to fetch, each with its target."""
    duplicates: dict[str, str]
    """Exact copies to fetch, each with its original."""
    near_duplicates: dict[str, str]
    gone: list[str]
    """Links to fetch that answer 404 or 410."""
    disallowed: list[str]
    """Linked, but forbidden by robots.txt."""
    nofollow: list[str]
    """Linked only by links that say not to follow them."""
    hidden: list[str]
    """Linked only from disallowed pages: nobody who behaves can know them."""
    assets: list[str]
    """Style sheets and pictures, which a crawler may fetch or not."""
    disallow: dict[str, list[str]]
    """For each authority, what its robots.txt forbids: regular expressions over path and query."""


# The list of the truth that each kind of place belongs to.
_LISTS = {
    Kind.PAGE: "pages",
    Kind.OPEN: "pages",
    Kind.MOVED: "pages",
    Kind.CLOSED: "pages",
    Kind.ONLY: "pages",
    Kind.GONE: "gone",
    Kind.NOFOLLOW: "nofollow",
    Kind.HIDDEN: "hidden",
    Kind.DRAFT: "disallowed",
    Kind.PRIVATE: "disallowed",
}


def ground_truth(graph: Graph) -> Truth:
    """Return the truth about a web; its size grows with the web's."""
    truth = _empty(graph)
    originals = {Kind.COPY: truth["duplicates"], Kind.NEAR: truth["near_duplicates"]}
    lists: dict[str, list[str]] = {
        name: truth[name]  # type: ignore[literal-required]  # the values of _LISTS are keys of Truth
        for name in set(_LISTS.values())
    }
    for place in graph.places():
        kind, url, host = place.kind, graph.url(place), graph.host(place)
        verdict = graph.options.verdict_of(host)
        if verdict == "disallow":
            lists["disallowed"].append(url)
        elif kind is Kind.REDIRECT:
            truth["redirects"][url] = graph.url(graph.redirect_target(place.number))
        elif kind in originals:
            original = place._replace(kind=Kind.PAGE, number=graph.page_of(place))
            originals[kind][url] = graph.url(original)
        elif verdict == "allow" and kind in (Kind.PRIVATE, Kind.DRAFT, Kind.HIDDEN):
            lists["pages"].append(url)
        elif kind is Kind.ONLY and verdict == "allow":
            # No rules were read, so no Sitemap line either: nothing leads there.
            lists["hidden"].append(url)
        else:
            lists[_LISTS[kind]].append(url)
    return truth


def truth_json(graph: Graph) -> Iterator[str]:
    """Yield the truth as JSON text in pieces."""
    return json.JSONEncoder(indent=0).iterencode(ground_truth(graph))


def _empty(graph: Graph) -> Truth:
    hosts = range(graph.options.hosts)
    return Truth(
        start_urls=[graph.home(host) for host in hosts],
        pages=[],
        redirects={},
        duplicates={},
        near_duplicates={},
        gone=[],
        disallowed=[],
        nofollow=[],
        hidden=[],
        assets=[graph.home(host)[:-1] + path for host in hosts for path in assets()],
        disallow={graph.hosts.authority(host): list(patterns(graph, host)) for host in hosts},
    )
