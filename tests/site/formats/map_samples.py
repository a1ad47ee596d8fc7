"""Maps to be written: one as a real site gives it, one by an enemy, one of any size."""

import hashlib
import random
from collections.abc import Iterator

from gossamer.site.findings import Finding
from gossamer.site.model import AssetCheck, Facts, Page, SiteMap, no_assets

SITE = "https://docs.example.org"
SCRIPT = "</script><script>document.title='owned'</script>"
IMAGE = "<img src=x onerror=\"document.title='owned'\">"
HOSTILE_TITLES = [
    SCRIPT,
    IMAGE,
    "<!--<script>",
    "\x1b[31mred\x1b]0;owned\x07\x1b[2J",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1:A9)",
    "\t=1+1",
    "a\r\nb\n\nc",
    "| pipe | `code` | **bold** | [link](javascript:alert(1)) |",
    "\u202egnp.exe\u2028\u2029\ufeff",
    '"quotes" and \\backslash\\ and \\N and &lt; &amp;amp;',
    "x" * 100_000,
    "Tïtlé 😀 日本語 العربية",
    "",
    "]]>",
    "${7*7} {{7*7}}",
    "\U000e0041tag",
]
HOSTILE_PATHS = [
    "/?q=%22%3E%3Cscript%3E",
    "/a'b\"c",
    "/x?a=1&b=2&copy;=3&lt;",
    "/back\\slash?\\N",
    "/-->?]]>",
    "/" + "long/" * 800,
    "/(paren)[bracket]*star*_under_|pipe|",
    "/%0d%0aSet-Cookie:x",
]
SECTIONS = {
    "guide": ["Getting started", "Installing", "First crawl", "Being polite", "Going further"],
    "reference": ["Settings", "Outcomes", "Command line", "Wire protocol", "Workspace"],
    "blog": ["Release notes", "How we test", "Benchmarks", "A year of crawling", "Postmortem"],
    "products": ["Compass", "Lantern", "Sextant", "Telescope", "Barometer"],
}


def page(path: str, **fields) -> Page:
    """Return a page of the site with plausible values for all that is not said."""
    url = fields.pop("url", SITE + path)
    facts = fields.pop("facts", Facts())
    values = {
        "parent": SITE + "/",
        "depth": 1,
        "status": 200,
        "content_type": "text/html",
        "checksum": hashlib.sha256(url.encode()).hexdigest(),
        "alias_of": None,
        "aliases": [],
        "assets": no_assets(),
        "links": [],
        "title": f"Title of {path}",
        "bytes": 12_345,
        "milliseconds": 42,
        "error": None,
    }
    return Page(url=url, facts=facts, **(values | fields))


def site_map_of(pages: list[Page], **fields) -> SiteMap:
    values = {
        "start_url": SITE + "/",
        "site": "docs.example.org",
        "seconds": 4.25,
        "complete": True,
    }
    return SiteMap(pages=pages, **(values | fields))


def small() -> SiteMap:
    """Five pages: a start, one below it, an alias, a redirect and an error."""
    assets = no_assets() | {
        "css": [SITE + "/style.css"],
        "img": [SITE + "/logo.svg", "https://cdn.example.net/a.png"],
    }
    start = page(
        "/",
        parent=None,
        depth=0,
        title="Welcome",
        assets=assets,
        aliases=[SITE + "/index.html"],
        links=[SITE + "/about", SITE + "/index.html", SITE + "/old", SITE + "/gone"],
    )
    about = page(
        "/about", title="About us", assets=no_assets() | {"js": [SITE + "/app.js"]}, links=[SITE]
    )
    gone = Facts(outcome="http.4xx", linked_from=[SITE + "/", SITE + "/about"], linked_count=7)
    return site_map_of(
        [
            start,
            about,
            page("/index.html", alias_of=SITE + "/", title="Welcome", checksum=start.checksum),
            page(
                "/old",
                status=301,
                alias_of=SITE + "/about",
                title="",
                facts=Facts(redirect_to=SITE + "/about"),
            ),
            page("/gone", status=404, error="404 Not Found", title="", facts=gone),
        ]
    )


def hostile() -> SiteMap:
    """Everything a site can say to break what is written of it."""
    pages = [page("/", parent=None, depth=0, title=SCRIPT)]
    for number, title in enumerate(HOSTILE_TITLES):
        assets = no_assets() | {"img": [f"{SITE}/'\"{number}.png", f"data:image/png,{SCRIPT}"]}
        pages.append(page(f"/title/{number}", title=title, assets=assets))
    pages += [page(path, title=IMAGE) for path in HOSTILE_PATHS]
    pages.append(
        page(
            "/failed",
            status=0,
            error=f"{SCRIPT}\x1b[31m\n| a | b |",
            content_type=SCRIPT,
            facts=Facts(outcome="net.reset", linked_from=[SITE + HOSTILE_PATHS[1]], linked_count=1),
        )
    )
    pages.append(page("/type", content_type=f"text/{IMAGE}\x1b[0m"))
    pages.append(page("/js", status=302, facts=Facts(redirect_to="javascript:alert(1)")))
    return site_map_of(pages, notes=[SCRIPT], complete=False, stopped_by=SCRIPT)


def hostile_findings() -> list[Finding]:
    return [
        Finding(
            "error",
            "broken-link",
            SCRIPT,
            IMAGE,
            [SITE + "/failed", "javascript:alert(1)"],
            {SITE + "/failed": [SITE + HOSTILE_PATHS[1]]},
            relation=IMAGE,
            details={SITE + "/failed": SCRIPT},
        )
    ]


def chain(length: int) -> SiteMap:
    """Return a site whose every page leads to one more."""
    pages = [page("/0", parent=None, depth=0)]
    pages += [page(f"/{n}", parent=f"{SITE}/{n - 1}", depth=n) for n in range(1, length)]
    return site_map_of(pages)


def large(count: int) -> SiteMap:
    """Return a site of so many pages, with assets that all of them share and some of their own."""
    shared = [f"{SITE}/static/{n}.png" for n in range(12)]
    pages = [page("/", parent=None, depth=0)]
    for number in range(1, count):
        above = (number - 1) // 20
        assets = no_assets() | {
            "img": [*shared, f"{SITE}/img/{number}.jpg"],
            "css": [f"{SITE}/static/site.css"],
            "js": [f"{SITE}/static/app.js"],
        }
        parent = pages[above]
        pages.append(
            page(
                f"/section-{above}/page-{number}.html",
                parent=parent.url,
                depth=parent.depth + 1,
                title=f"Page {number} about something that has a name",
                assets=assets,
                bytes=number * 7919 % 90_000,
                milliseconds=number * 31 % 900,
                facts=Facts(linked_from=[parent.url], linked_count=1),
            )
        )
    return site_map_of(pages, seconds=31.0)


def realistic(count: int = 300) -> SiteMap:
    """Return a site as one meets them: errors, redirects, aliases, and some hostile text."""
    chance = random.Random(4)
    pages = list(_content(count - 45, chance))
    contents = [one.url for one in pages]
    for one in pages:
        one.links = chance.sample(contents, min(len(contents), chance.randint(4, 30)))
    pages += _aliases(pages)
    redirects = list(_redirects(contents))
    for one in redirects:
        chance.choice(pages[:40]).links.append(one.url)
    pages += redirects
    pages += _errors(contents, chance)
    pages += _orphans()
    pages += [page(f"/odd/{n}", title=title) for n, title in enumerate(HOSTILE_TITLES[:6])]
    pages.sort(key=lambda one: one.depth)
    _count_links(pages)
    return site_map_of(
        pages,
        seconds=6.8,
        complete=False,
        stopped_by="max-pages",
        robots_blocked=[SITE + "/private/", SITE + "/cgi-bin/search"],
        checked=_checks(pages, chance),
        notes=["robots.txt was set aside for docs.example.org"],
    )


def _content(count: int, chance: random.Random) -> Iterator[Page]:
    yield page(
        "/", parent=None, depth=0, title="Example documentation", assets=_assets("", 1, chance)
    )
    for name in SECTIONS:
        yield page(f"/{name}/", title=name.capitalize(), assets=_assets(name, 1, chance))
    names = list(SECTIONS)
    parents = {name: [f"{SITE}/{name}/"] for name in names}
    depths = {f"{SITE}/{name}/": 1 for name in names}
    for number in range(count - 1 - len(names)):
        name = chance.choice(names)
        parent = chance.choice(parents[name][-12:])
        topic = chance.choice(SECTIONS[name])
        slug = topic.lower().replace(" ", "-")
        url = f"{SITE}/{name}/{slug}-{number}.html"
        depths[url] = depths[parent] + 1
        if depths[url] < 6:
            parents[name].append(url)
        is_file = chance.random() < 0.06
        yield page(
            "",
            url=url.replace(".html", ".pdf") if is_file else url,
            parent=parent,
            depth=depths[url],
            title=f"{topic}, part {number}",
            content_type="application/pdf" if is_file else "text/html",
            bytes=int(chance.lognormvariate(10, 1.1)) * (12 if is_file else 1),
            milliseconds=int(chance.lognormvariate(4.6, 1.0)),
            assets=no_assets() if is_file else _assets(name, number, chance),
            facts=Facts(noindex=chance.random() < 0.05),
        )
        if is_file and url in parents[name]:
            parents[name].remove(url)


def _assets(name: str, number: int, chance: random.Random) -> dict[str, list[str]]:
    images = [
        f"{SITE}/img/{name}-{chance.randint(1, 60)}.webp" for _ in range(chance.randint(0, 6))
    ]
    return no_assets() | {
        "img": list(dict.fromkeys([f"{SITE}/img/logo.svg", *images])),
        "css": [f"{SITE}/css/site.css", f"{SITE}/css/{name or 'home'}.css"],
        "js": [f"{SITE}/js/app.js", "https://cdn.example.net/lib/highlight.min.js"],
        "font": [f"{SITE}/fonts/inter.woff2"],
        "video": [f"{SITE}/video/tour.mp4"] if number % 17 == 0 else [],
        "audio": [f"{SITE}/audio/episode-{number}.mp3"] if number % 41 == 0 else [],
        "iframe": ["https://player.example.net/embed/42"] if number % 23 == 0 else [],
        "other": [f"{SITE}/favicon.ico"],
    }


def _aliases(pages: list[Page]) -> Iterator[Page]:
    for number, one in enumerate(pages[5:17]):
        url = f"{one.url}?utm_source=newsletter"
        one.aliases.append(url)
        twin = f"/print/{number}"
        one.aliases.extend([SITE + twin] if number % 4 == 0 else [])
        same = {"checksum": one.checksum, "alias_of": one.url, "title": one.title}
        yield page("", url=url, depth=2, parent=one.url, **same)
        if number % 4 == 0:
            yield page(twin, depth=3, parent=one.url, **same)


def _redirects(contents: list[str]) -> Iterator[Page]:
    def hop(path: str, target: str, final: str | None, status: int = 301) -> Page:
        error = None if final else "redirect loop"
        facts = Facts(redirect_to=target, outcome="ok" if final else "policy.redirect_loop")
        return page(
            path, status=status, alias_of=final, title="", bytes=0, error=error, facts=facts
        )

    for number in range(5):
        yield hop(f"/old/{number}", contents[20 + number], contents[20 + number])
    yield hop("/v1/", SITE + "/v2/", contents[3])
    yield hop("/v2/", SITE + "/v3/", contents[3], 302)
    yield hop("/v3/", contents[3], contents[3], 308)
    yield hop("/round", SITE + "/and-round", None, 302)
    yield hop("/and-round", SITE + "/round", None, 302)
    yield hop("/shop", "https://shop.example.com/", "https://shop.example.com/", 302)


def _errors(contents: list[str], chance: random.Random) -> Iterator[Page]:
    kinds = [
        (404, "404 Not Found", "http.4xx"),
        (404, "404 Not Found", "http.4xx"),
        (410, "410 Gone", "http.4xx"),
        (500, "500 Internal Server Error", "http.5xx"),
        (503, "503 Service Unavailable", "http.5xx"),
        (0, "timed out after 30 s", "net.timeout.total"),
    ]
    for number in range(11):
        status, error, outcome = kinds[number % len(kinds)]
        where = chance.sample(contents, chance.choice([1, 2, 3, 9]))
        yield page(
            f"/missing/page-{number}.html",
            parent=where[0],
            depth=2,
            status=status,
            error=error,
            title="",
            bytes=512 if status else 0,
            facts=Facts(outcome=outcome, linked_from=where, linked_count=len(where)),
        )


def _orphans() -> Iterator[Page]:
    for number in range(2):
        yield page(f"/landing/{number}", parent=None, depth=1, facts=Facts(in_sitemap=True))


def _count_links(pages: list[Page]) -> None:
    by_url = {one.url: one for one in pages}
    for one in pages:
        for url in one.links:
            target = by_url[url]
            target.facts.linked_count += 1
            if len(target.facts.linked_from) < 100:
                target.facts.linked_from.append(one.url)


def _checks(pages: list[Page], chance: random.Random) -> dict[str, AssetCheck]:
    weights = {"img": 90_000, "css": 30_000, "js": 140_000, "video": 9_000_000, "audio": 3_000_000}
    checks = {}
    for one in pages:
        for kind, urls in one.assets.items():
            for url in urls:
                size = int(weights.get(kind, 20_000) * chance.uniform(0.2, 2))
                broken = url.endswith(("-7.webp", "-31.webp"))
                checks[url] = (
                    AssetCheck(url, 404, "404 Not Found")
                    if broken
                    else AssetCheck(url, 200, None, size, "application/octet-stream")
                )
    return checks


def findings(site_map: SiteMap) -> list[Finding]:
    """Return what an audit might say of this map, by hand."""
    broken = [one for one in site_map.pages if one.error]
    content = [one for one in site_map.pages if not one.error and one.alias_of is None]
    return [
        Finding(
            "error",
            "broken-link",
            "Links that lead nowhere",
            "Visitors who follow these links meet an error. Correct the links, or bring the pages "
            "back.",
            [one.url for one in broken],
            {one.url: one.facts.linked_from for one in broken},
            relation="linked from",
            details={one.url: one.error or "" for one in broken},
        ),
        Finding(
            "warning",
            "title-long",
            "Titles longer than 60 characters",
            "Search engines cut long titles. Say the most important thing first.",
            [one.url for one in content if len(one.title) > 20],
            {},
            details={one.url: f"{len(one.title)} characters" for one in content},
        ),
        Finding(
            "notice",
            "blocked-by-robots",
            "Blocked by robots.txt",
            "These were not fetched because robots.txt forbids it.",
            site_map.robots_blocked,
            {},
        ),
    ]
