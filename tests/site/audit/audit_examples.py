"""For each rule a map in which it fires, what it finds there, and a map in which it does not."""

from typing import NamedTuple

from audit_maps import at, copies, gone, page, redirect, site

from gossamer.site.model import AssetCheck, SiteMap

INSECURE = "http://a.test/x.js"
PICTURE = "http://a.test/x.png"


class Example(NamedTuple):
    fires: SiteMap
    finds: dict[str, list[str]]
    """URL -> what is listed with it; paths of the site."""
    quiet: SiteMap


def asset(path: str, status: int, error: str | None = None, outcome: str = "ok"):
    return {at(path): AssetCheck(at(path), status, error, outcome=outcome)}


def languages(**versions: str) -> dict[str, str]:
    return {language: at(path) for language, path in versions.items()}


EXAMPLES = {
    "broken-link": Example(
        site(gone("/x", linked_from=[at("/"), at("/y")], linked_count=2), page("/y")),
        {"/x": ["/", "/y"]},
        site(page("/x", linked_from=[at("/")])),
    ),
    "broken-page": Example(
        site(gone("/", linked_from=[], linked_count=0)),
        {"/": []},
        site(gone("/x")),
    ),
    "broken-asset": Example(
        site(
            page("/x", assets={"img": [at("/no.png"), at("/yes.png")]}),
            page("/y", assets={"img": [at("/no.png")]}),
            checked=asset("/no.png", 404) | asset("/yes.png", 200),
        ),
        {"/no.png": ["/x", "/y"]},
        site(
            page("/x", assets={"img": [at("/yes.png"), at("/unknown.png")]}),
            checked=asset("/yes.png", 200) | asset("/unused.png", 404),
        ),
    ),
    "broken-redirect": Example(
        site(redirect("/x", "/y"), gone("/y", linked_count=0)),
        {"/x": ["/"]},
        site(redirect("/x", "/y"), page("/y")),
    ),
    "redirect-loop": Example(
        site(redirect("/x", "/y"), redirect("/y", "/z"), redirect("/z", "/x")),
        {"/x": ["/y", "/z", "/x"]},
        site(redirect("/x", "/y"), redirect("/y", "/z"), page("/z")),
    ),
    "canonical-to-error": Example(
        site(page("/x", canonical=at("/y")), gone("/y")),
        {"/x": ["/y"]},
        site(page("/x", canonical=at("/y")), page("/y")),
    ),
    "mixed-content-blocked": Example(
        site(page("/x", assets={"js": [INSECURE]}, insecure_assets=[INSECURE])),
        {"/x": [INSECURE]},
        site(page("/x", assets={"img": [PICTURE], "js": [at("/s")]}, insecure_assets=[PICTURE])),
    ),
    "forbidden-link": Example(
        site(page("/x", 403, "403 Forbidden", outcome="http.4xx")),
        {"/x": ["/"]},
        site(gone("/x")),
    ),
    "refused-asset": Example(
        site(page("/x", assets={"css": [at("/s.css")]}), checked=asset("/s.css", 429)),
        {"/s.css": ["/x"]},
        site(page("/x", assets={"css": [at("/s.css")]}), checked=asset("/s.css", 404)),
    ),
    "redirect-chain": Example(
        site(redirect("/x", "/y"), redirect("/y", "/z", linked_from=[at("/x")]), page("/z")),
        {"/x": ["/y", "/z"]},
        site(redirect("/x", "/z"), redirect("/y", "/z"), page("/z")),
    ),
    "duplicate-page": Example(
        site(*copies("/x", "/x?a", "/x?b")),
        {"/x": ["/x?a", "/x?b"]},
        site(*copies("/x", "/x?a", canonical=at("/x"))),
    ),
    "title-missing": Example(
        site(page("/x", title=" \n")),
        {"/x": []},
        site(page("/x", title="X"), page("/y.pdf", title="", content_type="application/pdf")),
    ),
    "title-duplicate": Example(
        site(page("/x", title="Same"), page("/y", title="Other"), page("/z", title=" Same ")),
        {"/x": ["/z"]},
        site(page("/x", title="Same"), page("/y", title="Same", canonical=at("/x"))),
    ),
    "canonical-to-redirect": Example(
        site(page("/x", canonical=at("/y")), redirect("/y", "/z"), page("/z")),
        {"/x": ["/y", "/z"]},
        site(page("/x", canonical=at("/z")), page("/z")),
    ),
    "canonical-chain": Example(
        site(page("/x", canonical=at("/y")), page("/y", canonical=at("/z")), page("/z")),
        {"/x": ["/y", "/z"]},
        site(page("/x", canonical=at("/y")), page("/y", canonical=at("/y"))),
    ),
    "canonical-to-hidden": Example(
        site(
            page("/x", canonical=at("/y")),
            page("/y", noindex=True),
            page("/z", canonical=at("/w")),
            robots_blocked=[at("/w")],
        ),
        {"/x": ["/y"], "/z": ["/w"]},
        site(page("/x", canonical=at("/y")), page("/y"), page("/z", noindex=True)),
    ),
    "hreflang-broken": Example(
        site(
            page("/x", hreflang=languages(en="/x", de="/y", fr="/z")),
            gone("/y"),
            redirect("/z", "/x"),
        ),
        {"/x": ["/y", "/z"]},
        site(page("/x", hreflang=languages(en="/x", de="/y", fr="/unknown")), page("/y")),
    ),
    "hreflang-no-return": Example(
        site(
            page("/x", hreflang=languages(en="/x", de="/y", fr="/z")),
            page("/y", hreflang=languages(en="/x", de="/y")),
            page("/z"),
        ),
        {"/x": ["/z"]},
        site(
            page("/x", hreflang=languages(en="/x", de="/y")),
            page("/y", hreflang=languages(en="/x", de="/y")),
        ),
    ),
    "orphan": Example(
        site(page("/x", in_sitemap=True, linked_from=[], linked_count=0)),
        {"/x": []},
        site(page("/x", in_sitemap=True), page("/y", linked_from=[], linked_count=0)),
    ),
    "sitemap-unsuitable": Example(
        site(
            page("/", in_sitemap=True),
            gone("/gone", in_sitemap=True),
            redirect("/moved", "/", in_sitemap=True),
            page("/hidden", in_sitemap=True, noindex=True),
            page("/other", in_sitemap=True, canonical=at("/")),
        ),
        {"/gone": [], "/moved": [], "/hidden": [], "/other": []},
        site(page("/x", in_sitemap=True, canonical=at("/x")), gone("/y"), page("/z", noindex=True)),
    ),
    "mixed-content": Example(
        site(page("/x", assets={"img": [PICTURE]}, insecure_assets=[PICTURE])),
        {"/x": [PICTURE]},
        site(page("/x", assets={"js": [INSECURE]}, insecure_assets=[INSECURE])),
    ),
    "page-large": Example(
        site(page("/x", bytes=2_000_001)),
        {"/x": []},
        site(
            page("/x", bytes=2_000_000), page("/y", bytes=9_000_000, content_type="application/zip")
        ),
    ),
    "page-slow": Example(
        site(page("/x", milliseconds=3_001)),
        {"/x": []},
        site(page("/x", milliseconds=3_000)),
    ),
    "near-duplicate-page": Example(
        site(page("/x", simhash=0b0111), page("/y", simhash=0xFF << 40), page("/z", simhash=0)),
        {"/x": ["/z"]},
        site(page("/x", simhash=0b1111), page("/y", simhash=0), page("/z")),
    ),
    "title-long": Example(
        site(page("/x", title="x" * 61)),
        {"/x": []},
        site(page("/x", title="x" * 60)),
    ),
    "description-missing": Example(
        site(page("/x", description=None), page("/y", description=" ")),
        {"/x": [], "/y": []},
        site(page("/x", description="About"), page("/y", description=None, noindex=True)),
    ),
    "description-duplicate": Example(
        site(page("/x", description="Same"), page("/y", description="Same")),
        {"/x": ["/y"]},
        site(page("/x", description=None), page("/y", description=None)),
    ),
    "description-long": Example(
        site(page("/x", description="x" * 161)),
        {"/x": []},
        site(page("/x", description="x" * 160)),
    ),
    "canonical-off-site": Example(
        site(page("/x", canonical="https://b.test/")),
        {"/x": ["https://b.test/"]},
        site(page("/x", canonical="http://a.test/x")),
    ),
    "not-in-sitemap": Example(
        site(page("/", in_sitemap=True), page("/x")),
        {"/x": []},
        site(page("/x")),
    ),
    "robots-blocked": Example(
        site(page("/x", links=[at("/y"), at("/z")]), robots_blocked=[at("/z"), at("/w")]),
        {"/z": ["/x"], "/w": []},
        site(page("/x", links=[at("/y")])),
    ),
    "rate-limited": Example(
        site(page("/x", 429, "429 Too Many Requests", outcome="http.429")),
        {"/x": []},
        site(page("/x", 503, "503 Service Unavailable", outcome="http.5xx")),
    ),
}
