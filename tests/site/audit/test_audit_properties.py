"""What holds for the audit of any map."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import msgspec
from audit_maps import at, numbered, page, redirect, site
from hypothesis import given
from hypothesis import strategies as st

from gossamer.site.audit.audit import audit
from gossamer.site.audit.case import MAX_WHERE
from gossamer.site.audit.routes import Routes
from gossamer.site.findings import SEVERITIES, Finding, counts_of, fails
from gossamer.site.model import AssetCheck, Facts, Page, SiteMap, no_assets

URLS = [at(path) for path in ("/", *numbered(5))] + ["https://b.test/", "http://a.test/x.js"]
urls = st.sampled_from(URLS)
maybe_url = st.none() | urls
some_urls = st.lists(urls, max_size=4)
words = st.text(max_size=5)
facts = st.builds(
    Facts,
    outcome=st.sampled_from(["ok", "http.4xx", "http.429", "redir.loop", "policy.trap"]),
    description=st.none() | words,
    canonical=maybe_url,
    hreflang=st.dictionaries(words, urls, max_size=3),
    redirect_to=maybe_url,
    simhash=st.none() | st.integers(0, 2**64 - 1) | st.integers(0, 15),
    noindex=st.booleans(),
    in_sitemap=st.booleans(),
    linked_from=some_urls,
    linked_count=st.integers(0, 5),
    insecure_assets=some_urls,
)
pages = st.builds(
    Page,
    url=urls,
    parent=st.none(),
    depth=st.just(0),
    status=st.sampled_from([0, 200, 301, 403, 404, 429, 500]),
    content_type=st.sampled_from(["text/html", "image/png", ""]),
    checksum=st.sampled_from(["", "a", "b"]),
    alias_of=maybe_url,
    aliases=some_urls,
    assets=st.fixed_dictionaries(dict.fromkeys(no_assets(), some_urls)),
    links=some_urls,
    title=words,
    bytes=st.sampled_from([0, 10, 3_000_000]),
    milliseconds=st.sampled_from([5, 5_000]),
    error=st.none() | words,
    facts=facts,
)
checks = st.builds(
    AssetCheck, url=urls, status=st.sampled_from([0, 200, 404]), error=st.none() | words
)
maps = st.builds(
    SiteMap,
    start_url=st.just(URLS[0]),
    site=st.just("a.test"),
    pages=st.lists(pages, max_size=8, unique_by=lambda each: each.url),
    seconds=st.just(1.0),
    complete=st.booleans(),
    robots_blocked=some_urls,
    checked=st.dictionaries(urls, checks, max_size=4),
)


@given(maps)
def test_findings_have_their_form_whatever_the_map(site_map):
    before = msgspec.json.encode(site_map)
    findings = audit(site_map)
    assert msgspec.json.encode(site_map) == before, "the map was changed"
    for finding in findings:
        assert finding.urls
        assert len(set(finding.urls)) == len(finding.urls)
        assert set(finding.where) <= set(finding.urls)
        assert set(finding.details) <= set(finding.urls)
        assert all(0 < len(places) <= MAX_WHERE for places in finding.where.values())
        assert bool(finding.relation) == bool(finding.where)
    order = [SEVERITIES.index(finding.severity) for finding in findings]
    assert order == sorted(order)
    assert audit(site_map) == findings


@given(maps)
def test_urls_stand_in_the_order_of_the_map(site_map):
    order = {each.url: number for number, each in enumerate(site_map.pages)}
    for finding in audit(site_map):
        if finding.rule not in ("broken-asset", "refused-asset", "robots-blocked"):
            positions = [order[url] for url in finding.urls]
            assert positions == sorted(positions), finding.rule


numbers = st.integers(0, 7).map(str)


@given(st.dictionaries(numbers, numbers))
def test_routes_are_what_following_each_redirect_gives(redirects):
    routes = Routes(redirects)
    for start in redirects:
        path = [start]
        while path[-1] in redirects and len(path) <= len(redirects) + 1:
            path.append(redirects[path[-1]])
        if path[-1] not in redirects:
            assert routes.ends[start] == (path[-1], len(path) - 1)
            assert routes.path(start) == path[1:]
        elif start in path[1:]:
            assert set(routes.circles[start]) == set(path)
        else:
            assert start in routes.lost
    assert len(routes.ends) + len(routes.circles) + len(routes.lost) == len(redirects)


@given(st.lists(st.sampled_from(SEVERITIES)), st.sampled_from(SEVERITIES))
def test_a_threshold_is_reached_by_what_is_as_bad_or_worse(severities, threshold):
    findings = [Finding(severity, "r", "t", "e", ["u", "v"], {}) for severity in severities]
    worse = SEVERITIES[: SEVERITIES.index(threshold) + 1]
    assert fails(findings, threshold) == bool(set(worse) & set(severities))
    assert counts_of(findings) == {each: 2 * severities.count(each) for each in SEVERITIES}


def test_the_order_does_not_depend_on_how_strings_are_hashed():
    """Each process hashes otherwise; the examples of all rules have the same findings in both."""
    script = (
        "import sys; from audit_examples import EXAMPLES; from gossamer.site.audit import audit, "
        "writing; [writing.write_json(audit.audit(each.fires), sys.stdout.buffer) "
        "for each in EXAMPLES.values()]"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parent)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
    assert b"broken-link" in outputs.pop()


def test_fifty_thousand_pages_are_audited_within_seconds():
    """All of them in one long redirect, or alike, or in thirty languages, or sharing all else."""
    count = 50_000
    paths = numbered(count)
    chance = random.Random(4)
    blocked = at("/blocked")
    pages = []
    for number, path in enumerate(paths):
        if number % 2:
            pages.append(redirect(path, paths[(number + 2) % count]))
            continue
        group = number // 60 * 60
        versions = paths[group : group + 60 : 2]
        pages.append(
            page(
                path,
                title=f"Title {number % 500}",
                checksum=str(number // 4),
                simhash=chance.getrandbits(24) << 20,
                hreflang={f"l{place}": at(other) for place, other in enumerate(versions)},
                assets={"img": [at("/no.png")]},
                links=[blocked],
            )
        )
    checked = {at("/no.png"): AssetCheck(at("/no.png"), 404, None)}
    site_map = site(*pages, robots_blocked=[blocked], checked=checked)
    start = time.process_time()
    findings = {finding.rule: finding for finding in audit(site_map)}
    # Generous, for a loaded machine; what is quadratic takes minutes.
    assert time.process_time() - start < 20
    assert findings["duplicate-page"].urls[0] == at("/0")
    assert len(findings["duplicate-page"].urls) == 12_500
    assert len(findings["redirect-loop"].urls) == 1
    assert len(findings["title-duplicate"].urls) == 250
    assert "hreflang-no-return" not in findings
