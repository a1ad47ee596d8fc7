"""The finer points of the rules."""

import pytest
from audit_maps import at, copies, finding, found, gone, numbered, page, redirect, site

from gossamer.site.audit.audit import MAX_DETAIL, audit
from gossamer.site.audit.case import MAX_WHERE
from gossamer.site.model import AssetCheck
from gossamer.urlserver.exits import untried


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (404, "http.4xx"),
        (410, "http.4xx"),
        (500, "http.5xx"),
        (0, "net.timeout.headers"),
        (0, "dns.nxdomain"),
        (0, "tls.expired"),
        (301, "redir.bad"),
        (302, "redir.none"),
        (200, "body.decode"),
    ],
)
def test_whatever_a_visitor_cannot_see_is_a_broken_link(status, outcome):
    broken = page("/x", status, "it fails", outcome=outcome)
    assert found("broken-link", site(broken)) == {"/x": ["/"]}


@pytest.mark.parametrize(
    "outcome",
    ["policy.trap", "policy.budget", "parse.failed", "store.full", "internal", "redir.scope"],
)
def test_what_we_did_ourselves_is_no_broken_link(outcome):
    assert found("broken-link", site(page("/x", 0, "not fetched", outcome=outcome))) == {}


def test_what_nobody_asked_for_because_its_server_went_away_is_no_broken_link():
    """Where a server can never be spoken to it is one."""
    words = untried("https://a.test")
    left = page("/x", 0, "not tried", outcome="net.refused", detail=words)
    assert found("broken-link", site(left, complete=False)) == {}
    dead = page("/x", 0, "not tried", outcome="tls.expired", detail=words)
    assert found("broken-link", site(dead)) == {"/x": ["/"]}


def test_a_broken_link_says_what_is_wrong_and_how_many_pages_link_to_it():
    """A page knows only the first of those that link to it; the number is of all."""
    from_pages = [at(path) for path in numbered(MAX_WHERE)]
    result = finding("broken-link", site(gone("/x", linked_from=from_pages, linked_count=1234)))
    assert result.where[at("/x")] == from_pages
    assert result.details[at("/x")] == "404 Not Found, linked from 1,234 URLs in all"


def test_a_picture_that_is_missing_everywhere_lists_the_first_hundred_pages():
    picture = at("/no.png")
    pages = [page(path, assets={"img": [picture], "other": [picture]}) for path in numbered(150)]
    broken = {picture: AssetCheck(picture, 404, "404 Not Found")}
    result = finding("broken-asset", site(*pages, checked=broken))
    assert result.where[picture] == [each.url for each in pages[:MAX_WHERE]]
    assert result.details[picture] == "404 Not Found, used by 150 URLs in all"


@pytest.mark.parametrize("linked_from", [[], ["/x"]])
def test_a_frame_whose_page_fails_is_told_once(linked_from):
    """A frame counts as a link of its page; a link elsewhere is one more thing to repair."""
    places = [at(path) for path in linked_from]
    framed = gone("/frame", linked_from=places, linked_count=len(places))
    framing = page("/x", assets={"iframe": [framed.url]}, links=[framed.url] if places else [])
    findings = audit(site(framing, framed))
    told = [each.rule for each in findings if framed.url in each.urls]
    assert told == ["broken-asset"]
    framed.facts.linked_from.append(at("/"))
    framed.facts.linked_count += 1
    assert found("broken-link", site(framing, framed)) == {"/frame": ["/"]}


@pytest.mark.parametrize(
    ("is_checked", "rule"), [(True, "refused-asset"), (False, "forbidden-link")]
)
def test_a_frame_that_is_not_open_is_told_once(is_checked, rule):
    closed = page("/frame", 403, "403 Forbidden", outcome="http.4xx", linked_from=[at("/x")])
    check = AssetCheck(closed.url, 403, closed.error, outcome="http.4xx")
    framing = page("/x", assets={"iframe": [closed.url]}, links=[closed.url])
    findings = audit(site(framing, closed, checked={closed.url: check} if is_checked else {}))
    assert [each.rule for each in findings if closed.url in each.urls] == [rule]


def test_a_frame_whose_page_fails_is_a_broken_asset():
    """Nothing links to it, so it is no broken link."""
    framed = gone("/frame", linked_from=[], linked_count=0)
    site_map = site(page("/x", assets={"iframe": [framed.url]}), framed)
    assert found("broken-asset", site_map) == {"/frame": ["/x"]}
    assert found("broken-link", site_map) == {}


@pytest.mark.parametrize(
    ("status", "error", "outcome", "rule"),
    [
        (404, None, "http.4xx", "broken-asset"),
        (0, "no such host", "dns.nxdomain", "broken-asset"),
        (403, None, "http.4xx", "refused-asset"),
        (999, None, "ok", "refused-asset"),
        (0, "blocked by robots.txt", "policy.robots", None),
        (200, None, "ok", None),
    ],
)
def test_an_asset_is_missing_or_refused_or_was_not_asked_for(status, error, outcome, rule):
    url = "https://elsewhere.test/x.js"
    checked = {url: AssetCheck(url, status, error, outcome=outcome)}
    site_map = site(page("/x", assets={"js": [url]}), checked=checked)
    for name in ("broken-asset", "refused-asset"):
        assert found(name, site_map) == ({url: ["/x"]} if name == rule else {})


def test_a_chain_is_told_from_where_visitors_enter_it():
    """The second hop is an entrance of its own only if a page links to it."""
    hops = [redirect("/a", "/b"), redirect("/b", "/c"), redirect("/c", "/d"), page("/d")]
    hops[1].facts.linked_from = [at("/a")]
    hops[2].facts.linked_from = [at("/b")]
    assert found("redirect-chain", site(*hops)) == {"/a": ["/b", "/c", "/d"]}
    hops[1].facts.linked_from = [at("/a"), at("/d")]
    assert list(found("redirect-chain", site(*hops))) == ["/a", "/b"]


def test_a_long_chain_lists_its_first_hundred_hops():
    pages = [redirect(f"/{number}", f"/{number + 1}", linked_from=[]) for number in range(150)]
    result = finding("redirect-chain", site(*pages, page("/150")))
    assert result.urls == [at("/0")]
    assert result.where[at("/0")] == [at(f"/{number}") for number in range(1, MAX_WHERE + 1)]
    assert result.details[at("/0")] == "150 hops, leads to 150 URLs in all"


def test_a_chain_that_leaves_the_site_is_a_chain():
    chain = [redirect("/a", "/b"), redirect("/b", "https://b.test/")]
    assert found("redirect-chain", site(*chain))["/a"] == ["/b", "https://b.test/"]


def test_a_redirect_to_itself_is_a_loop():
    assert found("redirect-loop", site(redirect("/a", "/a"))) == {"/a": ["/a"]}


def test_what_leads_into_a_loop_is_a_broken_redirect_and_no_chain():
    pages = [redirect("/in", "/a"), redirect("/a", "/b"), redirect("/b", "/a")]
    site_map = site(*pages)
    assert found("redirect-loop", site_map) == {"/a": ["/b", "/a"]}
    assert found("broken-redirect", site_map) == {"/in": ["/"]}
    assert found("redirect-chain", site_map) == {}


def test_a_loop_that_only_the_fetcher_saw_is_told():
    looping = page("/x", 302, "redirects to itself", outcome="redir.loop")
    assert found("redirect-loop", site(looping)) == {"/x": []}
    assert found("broken-link", site(looping)) == {}


def test_a_chain_of_which_the_fetcher_had_enough_is_told():
    endless = page("/x", 302, "too many redirects", outcome="redir.too_many")
    assert found("redirect-chain", site(endless)) == {"/x": []}


def test_a_broken_redirect_says_where_it_ends():
    pages = [redirect("/a", "/b"), redirect("/b", "/c", linked_from=[at("/a")]), gone("/c")]
    result = finding("broken-redirect", site(*pages))
    assert result.details[at("/a")] == f"leads to {at('/c')}: 404 Not Found"


def test_empty_pages_and_downloads_are_no_duplicates():
    empty = [page(path, bytes=0, checksum="e3b0") for path in ("/x", "/y")]
    files = [page(path, checksum="f", content_type="image/png") for path in ("/1", "/2")]
    assert found("duplicate-page", site(*empty, *files)) == {}


def test_a_redirect_to_a_page_is_no_duplicate_of_it():
    target = page("/x")
    alias = page("/y", 301, checksum=target.checksum, alias_of=target.url, redirect_to=target.url)
    assert found("duplicate-page", site(target, alias)) == {}


def test_near_duplicates_stand_with_the_first_of_their_group():
    pages = [page(path, simhash=value) for path, value in (("/a", 0), ("/b", 1), ("/c", 0))]
    far = page("/far", simhash=(1 << 64) - 1)
    assert found("near-duplicate-page", site(*pages, far)) == {"/a": ["/b", "/c"]}


def test_pages_near_to_a_page_without_own_group_stand_with_its_leader():
    """Equal to one that is near to the leader is near to the leader."""
    pages = [page(path, simhash=value) for path, value in (("/a", 0), ("/b", 7), ("/c", 7))]
    assert found("near-duplicate-page", site(*pages)) == {"/a": ["/b", "/c"]}


def test_pages_that_are_not_to_be_listed_are_no_near_duplicates():
    pages = [page("/a", simhash=0), page("/b", simhash=0, noindex=True)]
    pages.append(page("/c", simhash=0, canonical=at("/a")))
    assert found("near-duplicate-page", site(*pages)) == {}


def test_a_title_of_a_million_characters_does_not_fill_the_report():
    result = finding("title-long", site(page("/x", title="x" * 1_000_000)))
    assert len(result.details[at("/x")]) == MAX_DETAIL
    assert result.details[at("/x")].startswith("1,000,000 characters: xxx")


def test_a_page_that_could_not_be_understood_is_not_blamed_for_its_title():
    assert found("title-missing", site(page("/x", title="", outcome="parse.failed"))) == {}


@pytest.mark.parametrize("status", [204, 205])
def test_an_answer_without_content_is_not_blamed_for_its_title(status):
    assert audit(site(page("/x", status, title="", description=None, bytes=0, checksum=""))) == []


def test_an_alias_is_not_blamed_for_what_its_page_has():
    assert found("title-missing", site(*copies("/x", "/y"))) == {}
    assert found("title-duplicate", site(*copies("/x", "/y"))) == {}


def test_a_canonical_link_from_a_copy_to_its_page_is_no_conflict():
    """The copy was parsed first and names the other, of which nothing else is known."""
    first, other = copies("/x?a", "/x", canonical=at("/x"))
    site_map = site(first, other)
    for rule in ("canonical-chain", "canonical-to-error", "canonical-to-redirect"):
        assert found(rule, site_map) == {}


def test_a_subdomain_that_is_in_the_map_belongs_to_the_site():
    docs = page("https://docs.a.test/", canonical="https://docs.a.test/x")
    assert found("canonical-off-site", site(docs)) == {}


def test_two_pages_that_name_each_other_as_canonical_are_both_told():
    pages = [page("/x", canonical=at("/y")), page("/y", canonical=at("/x"))]
    assert found("canonical-chain", site(*pages)) == {"/x": ["/y", "/x"], "/y": ["/x", "/y"]}


def test_a_return_link_may_name_any_url_of_a_page():
    english = copies("/en", "/en/index", hreflang={"en": at("/en"), "de": at("/de")})
    german = page("/de", hreflang={"en": at("/en/index"), "de": at("/de")})
    assert found("hreflang-no-return", site(*english, german)) == {}


def test_a_version_that_is_a_copy_speaks_by_the_page_that_was_parsed():
    german = copies("/de", "/de/index", hreflang={"en": at("/en"), "de": at("/de")})
    english = page("/en", hreflang={"de": at("/de/index"), "en": at("/en")})
    assert found("hreflang-no-return", site(*german, english)) == {}


def test_versions_that_were_not_fetched_are_not_judged():
    english = page("/en", hreflang={"de": "https://a.de/", "fr": at("/unknown")})
    assert found("hreflang-no-return", site(english)) == {}


def test_a_page_that_leaves_itself_out_of_an_agreed_set_is_judged_by_it():
    """Both others name the same set, and the page that is not in it is told."""
    both = {"en": at("/en"), "de": at("/de")}
    pages = [page("/en", hreflang=both), page("/de", hreflang=both), page("/fr", hreflang=both)]
    assert found("hreflang-no-return", site(*pages)) == {"/fr": ["/en", "/de"]}


def test_a_page_that_links_only_to_itself_is_an_orphan():
    alone = page("/x", in_sitemap=True, linked_from=[at("/x")], linked_count=1)
    assert found("orphan", site(alone)) == {"/x": []}


def test_pages_that_only_orphans_link_to_are_orphans():
    linked = {"in_sitemap": True, "parent": None, "linked_count": 1}
    pages = (
        page("/x", linked_from=[at("/y")], **linked),
        page("/y", linked_from=[at("/x")], **linked),
    )
    assert found("orphan", site(*pages)) == {"/x": [], "/y": []}
    begun = page("/z", parent=at("/"))
    assert found("orphan", site(begun, page("/x", linked_from=[at("/z")], **linked))) == {}


def test_a_large_section_that_only_links_to_itself_is_all_orphans():
    names = [f"/{number}" for number in range(120)]
    linked = {"in_sitemap": True, "parent": None, "linked_count": len(names)}
    section = [
        page(name, linked_from=[at(each) for each in names[:100]], **linked) for name in names
    ]
    assert len(found("orphan", site(*section))) == len(names)


def test_a_page_whose_other_url_is_linked_is_no_orphan():
    named, linked = copies("/x", "/index", in_sitemap=True, linked_from=[], linked_count=0)
    assert found("orphan", site(named, linked)) == {}


def test_nothing_is_called_an_orphan_before_all_is_fetched():
    alone = page("/x", in_sitemap=True, linked_from=[], linked_count=0)
    assert found("orphan", site(alone, complete=False, stopped_by="max-pages")) == {}


def test_a_page_is_in_the_sitemap_if_one_of_its_urls_is():
    first, other = copies("/x", "/y")
    other.facts.in_sitemap = True
    site_map = site(page("/", in_sitemap=True), first, other)
    assert found("not-in-sitemap", site_map) == {}


@pytest.mark.parametrize("fields", [{"noindex": True}, {"canonical": "https://a.test/"}])
def test_a_page_that_is_not_to_be_listed_need_not_be_in_the_sitemap(fields):
    assert found("not-in-sitemap", site(page("/", in_sitemap=True), page("/x", **fields))) == {}


def test_insecure_parts_are_told_apart_by_what_browsers_do():
    script, picture = "http://a.test/x.js", "http://a.test/x.png"
    both = page(
        "/x",
        assets={"js": [script], "img": [picture]},
        insecure_assets=[picture, script, picture],
    )
    assert found("mixed-content-blocked", site(both)) == {"/x": [script]}
    assert found("mixed-content", site(both)) == {"/x": [picture]}


def test_a_page_larger_than_what_is_fetched_is_large_and_not_broken():
    huge = page("/x", 200, "larger than 64 MB", outcome="body.too_large", bytes=0)
    assert found("page-large", site(huge)) == {"/x": []}
    assert found("broken-link", site(huge)) == {}


def test_large_and_slow_pages_say_how_large_and_how_slow():
    site_map = site(page("/x", bytes=3_400_000, milliseconds=4_200))
    assert finding("page-large", site_map).details == {at("/x"): "3.4 MB"}
    assert finding("page-slow", site_map).details == {at("/x"): "4.2 s"}


def test_a_url_that_robots_txt_forbids_twice_is_told_once():
    assert found("robots-blocked", site(robots_blocked=[at("/x"), at("/x")])) == {"/x": []}
