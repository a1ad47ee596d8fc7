"""The report in a real browser, opened from disk."""

import json
import time

import pytest
from map_samples import (
    HOSTILE_TITLES,
    SITE,
    chain,
    findings,
    hostile,
    hostile_findings,
    large,
    page,
    realistic,
    site_map_of,
)

from gossamer.site.formats import html
from gossamer.site.model import AssetCheck, is_error, no_assets

VIEWS = ["overview", "findings", "tree", "pages", "assets", "broken", "redirects", "duplicates"]
VIEWS += ["weight"]

# Texts on what is behind them, as a reader sees it: the ratio of WCAG 2.2, 1.4.3.
CONTRAST = """
(() => {
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => c / 255)
      .map((c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const parts = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  let worst = [99, ''];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility()) continue;
    if (element.closest('svg, :disabled, script, style')) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(parts(style.color).slice(0, 3)), light(behind(element))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 80)];
  }
  return worst;
})()
"""


@pytest.fixture
def shown(tab, tmp_path):
    """Write a report, open it, and see in the end that it asked and complained about nothing."""
    path = tmp_path / "report.html"

    def show(site_map, found=(), view="overview"):
        with path.open("wb") as file:
            html.write(site_map, file, found)
        tab.open(f"{path.as_uri()}#{view}")
        tab.wait_for(f"document.getElementById('view-{view}')")
        return tab

    yield show
    assert tab.requested() == [path.as_uri()]
    assert tab.complaints() == []


def go(tab, view):
    tab.run(f"location.hash = '{view}'")
    tab.wait_for(f"document.getElementById('view-{view}')")


def texts(tab, selector) -> list[str]:
    query = f"[...document.querySelectorAll({json.dumps(selector)})]"
    return tab.run(f"{query}.map((one) => one.textContent)")


def click(tab, selector, text=None):
    query = f"[...document.querySelectorAll({json.dumps(selector)})]"
    chosen = f".find((one) => one.textContent.startsWith({json.dumps(text)}))" if text else "[0]"
    tab.run(f"{query}{chosen}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")


def press(tab, key):
    for kind in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)


def search(tab, text):
    tab.run(
        "(() => { const input = document.querySelector('.view .search input');"
        f" input.value = {json.dumps(text)}; input.dispatchEvent(new Event('input'));"
        # The page itself waits for a pause in typing: what is set after that ends after it.
        " return new Promise((done) => setTimeout(done, 200)); })()"
    )


def test_every_view_is_there(shown):
    site_map = realistic()
    tab = shown(site_map, findings(site_map))
    assert tab.run("document.title") == "Site report: docs.example.org"
    assert texts(tab, "h1") == ["docs.example.org"]
    assert len(texts(tab, "#side nav a")) == len(VIEWS)
    for view in VIEWS:
        go(tab, view)
        assert len(texts(tab, "h1")) == 1
        assert len(tab.run("document.getElementById('main').innerText")) > 100


def test_charts_are_drawn(shown):
    tab = shown(realistic())
    tab.wait_for("document.querySelectorAll('.chart svg').length === 6")
    titles = texts(tab, ".charts h2")
    assert titles == [
        "Status codes",
        "Findings",
        "Depth",
        "Response times",
        "Content types",
        "Asset weight",
    ]
    drawn = tab.run(
        "[...document.querySelectorAll('.chart')].every((one) =>"
        " [...one.querySelectorAll('.fill')].some((fill) => fill.getBBox().width > 3))"
    )
    assert drawn


def test_a_click_on_a_bar_shows_its_pages(shown):
    site_map = realistic()
    tab = shown(site_map)
    tab.wait_for("document.querySelectorAll('.chart svg').length === 6")
    click(tab, ".mark.active", "404")
    tab.wait_for("document.getElementById('view-pages')")
    expected = sum(one.status == 404 for one in site_map.pages)
    assert set(texts(tab, "tbody td:first-child")) == {"404"}
    assert len(texts(tab, "tbody tr")) == expected
    click(tab, ".facet.picked")
    assert len(texts(tab, "tbody tr")) == 100


def test_pages_are_sorted_searched_filtered_and_turned(shown):
    site_map = realistic()
    tab = shown(site_map, view="pages")
    assert "1–100 of 300" in texts(tab, ".steps")[0]  # noqa: RUF001
    click(tab, "th button", "Time")
    assert tab.run("document.querySelector('th[aria-sort]').ariaSort") == "descending"
    slowest = max(site_map.pages, key=lambda one: one.milliseconds)
    assert slowest.url.removeprefix(SITE) in texts(tab, "tbody tr")[0]
    click(tab, "th button", "Time")
    assert tab.run("document.querySelector('th[aria-sort]').ariaSort") == "ascending"
    click(tab, "button[aria-label='Next rows']")
    assert "101–200 of 300" in texts(tab, ".steps")[0]  # noqa: RUF001
    search(tab, "BLOG release")
    found = [one for one in site_map.pages if "/blog/release" in one.url]
    assert len(texts(tab, "tbody tr")) == len(found) > 0
    search(tab, "no such page anywhere")
    assert texts(tab, "tbody tr") == ["Nothing matches."]
    search(tab, "")
    click(tab, ".facet", "Errors")
    assert len(texts(tab, "tbody tr")) == sum(map(is_error, site_map.pages))


def test_the_tree_opens_closes_and_finds(shown):
    site_map = realistic()
    tab = shown(site_map, view="tree")
    before = len(texts(tab, ".row"))
    click(tab, ".row.page[aria-expanded='false'] .toggle")
    opened = len(texts(tab, ".row"))
    assert opened > before
    click(tab, ".facet", "Close all")
    assert len(texts(tab, ".row")) == 3
    click(tab, ".facet", "Open all")
    while "Show more" in texts(tab, ".tree > .more"):
        click(tab, ".tree > .more")
    assert len(texts(tab, ".row.page")) == 300
    search(tab, "settings-34.html")
    rows = texts(tab, ".row.page")
    assert rows[0].startswith(SITE + "/")
    assert rows[-1].startswith("/reference/settings-34.html")
    levels = tab.run("[...document.querySelectorAll('.row')].map((one) => Number(one.ariaLevel))")
    assert levels == list(range(1, len(levels) + 1))


def test_the_tree_shows_the_assets_of_a_page(shown):
    site_map = realistic()
    tab = shown(site_map, view="tree")
    click(tab, ".row.assets .toggle")
    expected = [url for urls in site_map.pages[0].assets.values() for url in urls]
    shown_assets = texts(tab, ".row.asset")
    assert len(shown_assets) == len(expected)
    assert all(
        url.removeprefix(SITE) in row for url, row in zip(expected, shown_assets, strict=True)
    )


def test_the_tree_is_walked_by_keys(shown):
    """As trees are everywhere: up, down, right to open, left to close and to go up a level."""
    tab = shown(realistic(), view="tree")

    def here() -> str:
        return tab.run("document.activeElement.closest('.row').querySelector('.link').textContent")

    tab.run("document.querySelector('.row .toggle').focus()")
    start = here()
    press(tab, "ArrowDown")
    press(tab, "ArrowDown")
    below = here()
    assert below != start
    for key, is_open in (("ArrowRight", "true"), ("ArrowLeft", "false")):
        press(tab, key)
        assert here() == below
        assert tab.run("document.activeElement.closest('.row').ariaExpanded") == is_open
    press(tab, "ArrowLeft")
    assert here() == start


def test_keys_go_on_where_more_of_the_tree_is_shown(shown):
    tab = shown(large(1_000), view="tree")
    click(tab, ".facet", "Open all")
    tab.run("document.querySelector('.tree > .more').click()")
    rows = "[...document.querySelectorAll('.row')]"
    assert tab.run(f"{rows}.indexOf(document.activeElement.closest('.row'))") == 400


def test_keys_go_on_where_more_places_are_shown(shown):
    tab = shown(realistic(), view="broken")
    tab.run("document.querySelector('.places .more').click()")
    item = "document.activeElement.closest('li')"
    assert tab.run(f"[...{item}.parentElement.children].indexOf({item})") == 3


def test_the_menu_is_skipped_without_leaving_the_view(shown):
    tab = shown(realistic(), view="pages")
    tab.run("document.querySelector('.skip').click()")
    assert tab.run("document.activeElement.id") == "main"
    assert tab.run("location.hash") == "#pages"
    assert tab.run("document.querySelector('.view').id") == "view-pages"


def test_broken_links_name_the_pages_that_link_to_them(shown):
    site_map = realistic()
    tab = shown(site_map, view="broken")
    rows = texts(tab, "tbody tr")
    targets = texts(tab, "tbody td:nth-child(2) .place")
    for one in filter(is_error, site_map.pages):
        row = rows[targets.index(one.url.removeprefix(SITE))]
        for url in one.facts.linked_from[:3]:
            assert url.removeprefix(SITE) in row
    assert any("-7.webp" in row and "img" in row for row in rows)
    hidden = next(one for one in site_map.pages if is_error(one) and one.facts.linked_count > 3)
    search(tab, hidden.url.removeprefix(SITE))
    click(tab, "tbody .more")
    row = texts(tab, "tbody tr")[0]
    assert all(url.removeprefix(SITE) in row for url in hidden.facts.linked_from)


def test_a_frame_that_fails_is_one_broken_link(shown):
    gone = page("/frame", status=404, error="HTTP 404 Not Found")
    gone.facts.linked_from.append(SITE + "/")
    start = page("/", parent=None, depth=0, assets=no_assets() | {"iframe": [gone.url]})
    checks = {gone.url: AssetCheck(gone.url, 404, gone.error)}
    tab = shown(site_map_of([start, gone], checked=checks), view="broken")
    assert len(texts(tab, "tbody tr")) == 1
    assert texts(tab, "#side a[data-view=broken] b") == ["1"]


def test_redirect_chains_and_loops_are_followed(shown):
    tab = shown(realistic(), view="redirects")
    rows = tab.run(
        "[...document.querySelectorAll('tbody tr')].map((row) =>"
        " [...row.querySelectorAll('.hops li')].map((hop) => hop.textContent))"
    )
    assert ["301 /v1/", "302 /v2/", "308 /v3/", "200 /blog/"] in rows
    assert ["302 /round", "302 /and-round", "loop /round"] in rows
    assert ["302 /shop", "elsewhere https://shop.example.com/"] in rows
    assert len(rows) == 8


def test_duplicates_are_grouped(shown):
    site_map = realistic()
    tab = shown(site_map, view="duplicates")
    groups = [one for one in site_map.pages if one.aliases]
    rows = texts(tab, "tbody tr")
    assert len(rows) == len(groups)
    for group in groups:
        row = next(row for row in rows if f"{group.url.removeprefix(SITE)}{group.title}" in row)
        assert all(url.removeprefix(SITE) in row for url in group.aliases)


def test_slow_and_large_pages_come_first(shown):
    site_map = realistic()
    tab = shown(site_map, view="weight")
    slow, size = (
        max((one for one in site_map.pages if one.status), key=lambda one: getattr(one, field))
        for field in ("milliseconds", "bytes")
    )
    assert slow.url.removeprefix(SITE) in texts(tab, ".card:first-child tbody tr")[0]
    assert size.url.removeprefix(SITE) in texts(tab, ".card:last-child tbody tr")[0]
    assert texts(tab, ".card:first-child .bad-text") == ["4.0 s"]


def test_findings_are_explained_with_their_urls(shown):
    site_map = realistic()
    tab = shown(site_map, findings(site_map), view="findings")
    assert texts(tab, "summary .pill") == ["error", "warning", "notice"]
    tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    tab.wait_for("document.querySelectorAll('.finding .table').length === 3")
    assert "Visitors who follow these links" in texts(tab, ".finding")[0]
    assert "Linked from" in texts(tab, ".finding.error th")[2]
    assert len(texts(tab, ".finding.notice tbody tr")) == 2


def test_a_finding_is_opened_from_the_overview(shown):
    site_map = realistic()
    tab = shown(site_map, findings(site_map))
    name = texts(tab, ".ranking span:not(.pill)")[1]
    tab.run("document.querySelectorAll('.ranking button')[1].click()")
    tab.wait_for("document.querySelector('.finding[open] tbody tr')")
    assert texts(tab, ".finding[open] h2") == [name]


def test_the_details_of_a_page_do_not_stay_over_another_view(shown):
    """As after a step back in the browser."""
    tab = shown(realistic(), view="pages")
    click(tab, "tbody .link")
    assert tab.run("document.querySelector('dialog').open")
    go(tab, "tree")
    assert not tab.run("document.querySelector('dialog').open")


def test_a_page_tells_all_that_is_known_of_it(shown):
    site_map = realistic()
    tab = shown(site_map, view="pages")
    click(tab, "tbody .link", "/guide/")
    assert tab.run("document.querySelector('dialog').open")
    told = tab.run("document.querySelector('dialog').innerText")
    guide = next(one for one in site_map.pages if one.url == SITE + "/guide/")
    assert guide.url in told
    assert f"Linked from ({guide.facts.linked_count})" in told
    assert all(url.removeprefix(SITE) in told for url in guide.assets["css"])
    click(tab, "dialog button[aria-label='Close']")
    assert not tab.run("document.querySelector('dialog').open")


@pytest.mark.parametrize("view", VIEWS)
def test_crawled_text_is_shown_as_text(shown, view):
    tab = shown(hostile(), hostile_findings(), view=view)
    tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    if view == "tree":
        click(tab, ".facet", "Open all")
    time.sleep(0.1)
    assert tab.run("document.title") == "Site report: docs.example.org"
    assert tab.run("document.scripts.length") == 2
    assert (
        tab.run("document.querySelectorAll('img, iframe, object, embed, base, form').length") == 0
    )
    targets = tab.run("[...document.querySelectorAll('a')].map((one) => one.href)")
    assert all(target.startswith(("https://", "http://", "file://")) for target in targets)
    handlers = tab.run(
        "[...document.querySelectorAll('*')].flatMap((one) => [...one.attributes])"
        ".filter((one) => one.name.startsWith('on')).length"
    )
    assert handlers == 0
    if view == "pages":
        told = " ".join(texts(tab, "tbody tr"))
        assert all(title in told for title in HOSTILE_TITLES[:3])
        assert "\\u202egnp.exe" in told
        assert "\\ue0041tag" in told


def test_a_title_keeps_what_joins_its_letters(shown):
    """Beside ASCII a joiner only hides, and is shown as what it is."""
    title = "\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e pay\u200dpal"
    tab = shown(site_map_of([page("/", parent=None, depth=0, title=title)]), view="pages")
    told = texts(tab, "tbody .title")
    assert told == ["\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e pay\\u200dpal"]


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_text_can_be_read_in_dark_and_in_light(shown, tab, scheme):
    tab.prefer(scheme)
    site_map = realistic()
    shown(site_map, findings(site_map))
    ground = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    assert (tab.run(ground) < 60) == (scheme == "dark")
    for view in VIEWS:
        go(tab, view)
        tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        ratio, what = tab.run(CONTRAST)
        assert ratio >= 4.5, (view, what)
    click(tab, ".theme")
    assert (tab.run(ground) < 60) != (scheme == "dark")
    ratio, what = tab.run(CONTRAST)
    assert ratio >= 4.5, what
    tab.run("localStorage.clear()")


def test_a_narrow_screen_is_enough(shown, tab):
    tab.resize(390, 800)
    site_map = realistic()
    shown(site_map, findings(site_map))
    for view in VIEWS:
        go(tab, view)
        assert tab.run("document.documentElement.scrollWidth") <= 390, view
        left, right = tab.run(
            "(({ left, right }) => [left, right])"
            "(document.querySelector('#side [aria-current]').getBoundingClientRect())"
        )
        assert 0 <= left < right <= 390, view


def test_long_urls_leave_room_for_the_rest_of_a_table(shown):
    """They go on in the next line: nothing is out of sight on a usual screen."""
    slug = "a-rather-long-slug-" * 8
    start, gone = page("/", parent=None, depth=0), page(f"/{slug}gone", status=404, error="gone")
    pages = [page(f"/{slug}{number}") for number in range(3)]
    for number, one in enumerate(pages):
        one.assets = no_assets() | {"img": [f"{SITE}/{slug}{number}.png"]}
    gone.facts.linked_from.append(pages[0].url)
    moved = page(f"/{slug}old", status=301, alias_of=pages[0].url)
    moved.facts.redirect_to = pages[0].url
    copy = page(f"/{slug}copy", alias_of=pages[1].url)
    tab = shown(site_map_of([start, *pages, gone, moved, copy]))
    for view in ("pages", "assets", "broken", "redirects", "duplicates"):
        go(tab, view)
        whole, seen = tab.run(
            "(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])"
            "(document.querySelector('.view .scroll'))"
        )
        assert whole <= seen, view


@pytest.mark.parametrize("make", [lambda: site_map_of([]), lambda: chain(3000)])
def test_odd_maps_are_shown(shown, make):
    tab = shown(make())
    for view in VIEWS:
        go(tab, view)
    go(tab, "tree")
    click(tab, ".facet", "Open all")


def seconds_at_work(tab) -> float:
    metrics = tab.call("Performance.getMetrics")["metrics"]
    return next(each["value"] for each in metrics if each["name"] == "TaskDuration")


@pytest.mark.slow
def test_50_000_pages_are_no_trouble(shown, tab):
    site_map = large(50_000)
    # In seconds of the page's own thread, which others on the machine do not make more.
    tab.call("Performance.enable", timeDomain="threadTicks")
    shown(site_map)
    for view in VIEWS:
        go(tab, view)
    assert 0.1 < seconds_at_work(tab) < 60
    go(tab, "pages")
    search(tab, "page-49999.html")
    tab.wait_for("document.querySelectorAll('tbody tr').length === 1")
    click(tab, "th button", "Size")
    go(tab, "tree")
    search(tab, "page-49999.html")
    tab.wait_for("document.querySelector('.bar .quiet').textContent === '1 page found'")
    assert texts(tab, ".row.page")[-1].startswith("/section-2499/page-49999.html")
