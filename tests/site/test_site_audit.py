"""`gossamer site --audit` on a site that has every fault there is: each is found, and where."""

import json
import ssl
import time

import pytest
import trustme
from site_rig import Asked, Reply, Site, moved, run_site

from gossamer.site.audit.rules import RULES

WORDS = " ".join(f"Sentence {number} of a long text." for number in range(400))


def written(head: str = "", body: str = "", *, title: str = "", description: str = "") -> str:
    """Return a page with a title and a description of its own unless told otherwise."""
    shown = f"<title>{title}</title>" if title else ""
    about = f"<meta name=description content='{description}'>" if description else ""
    return f"<!DOCTYPE html>{shown}{about}{head}<body>{body}"


def fine(name: str, head: str = "", body: str = "") -> str:
    return written(head, f"{name} {body}", title=f"Title of {name}", description=f"About {name}")


def canonical(path: str) -> str:
    return f"<link rel=canonical href={path}>"


def slow(asked: Asked) -> str:
    time.sleep(3.1)
    return fine("slow")


def sitemap(asked: Asked) -> Reply:
    origin = f"https://{asked.headers['host']}"
    listed = ("/", "/sitemap-only-gone", "/orphan", "/hidden")
    places = "".join(f"<url><loc>{origin}{path}</loc></url>" for path in listed)
    text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'
    return Reply(text.encode(), headers={"Content-Type": "application/xml"})


FAULTS = {
    "/fine": fine("fine"),
    "/to-gone": moved("/gone-too"),
    "/loop": moved("/loop/on"),
    "/loop/on": moved("/loop"),
    "/canonical-gone": fine("canonical gone", canonical("/gone")),
    "/insecure": fine(
        "insecure",
        body="<script src=http://127.0.0.9:1/x.js></script><img src=http://127.0.0.9:1/x.png>",
    ),
    "/forbidden": Reply(b"", 403),
    "/pictures": fine("pictures", body="<img src=/missing.png><img src=/refused.png>"),
    "/refused.png": Reply(b"", 403),
    "/chain": moved("/chain/on"),
    "/chain/on": moved("/fine"),
    "/copy/1": fine("copy"),
    "/copy/2": fine("copy"),
    "/untitled": written(body="untitled", description="About untitled"),
    "/title/1": written(body="1", title="The same", description="About title 1"),
    "/title/2": written(body="2", title="The same", description="About title 2"),
    "/canonical-redirect": fine("canonical redirect", canonical("/chain/on")),
    "/canonical-chain": fine("canonical chain", canonical("/canonical-end")),
    "/canonical-end": fine("canonical end", canonical("/fine")),
    "/canonical-hidden": fine("canonical hidden", canonical("/hidden")),
    "/hidden": fine("hidden", "<meta name=robots content=noindex>"),
    "/languages": fine(
        "languages",
        "<link rel=alternate hreflang=de href=/gone><link rel=alternate hreflang=fr href=/fine>",
    ),
    "/in-headers": Reply(
        fine("in headers").encode(),
        headers={
            "Content-Type": "text/html",
            "Link": "</gone>; rel=canonical, </fine>; rel=alternate; hreflang=fr",
        },
    ),
    "/orphan": fine("orphan"),
    "/large": fine("large", body="x" * 2_100_000),
    "/slow": slow,
    "/near/1": fine("near one", body=WORDS),
    "/near/2": fine("near two", body=WORDS),
    "/long-title": written(body="lt", title="Long " * 20, description="About long title"),
    "/no-description": written(body="nd", title="No description"),
    "/description/1": written(body="d1", title="Description 1", description="The same"),
    "/description/2": written(body="d2", title="Description 2", description="The same"),
    "/long-description": written(body="ld", title="LD", description="long " * 40),
    "/canonical-away": fine("canonical away", canonical("https://elsewhere.invalid/")),
    "/private": fine("private"),
    "/too-often": Reply(b"", 429),
}
UNLINKED = {"/orphan", "/refused.png", "/loop/on", "/chain/on"}

# For each rule: what it finds, and of each what belongs to it.
EXPECTED = {
    "broken-link": {"/gone": ["/", "/canonical-gone", "/languages", "/in-headers"]},
    "broken-page": {"/gone-too": [], "/sitemap-only-gone": []},
    "broken-asset": {"/missing.png": ["/pictures"]},
    "broken-redirect": {"/to-gone": ["/"]},
    "redirect-loop": {"/loop": ["/loop/on", "/loop"]},
    "canonical-to-error": {"/canonical-gone": ["/gone"], "/in-headers": ["/gone"]},
    "mixed-content-blocked": {"/insecure": ["http://127.0.0.9:1/x.js"]},
    "forbidden-link": {"/forbidden": ["/"]},
    "refused-asset": {"/refused.png": ["/pictures"]},
    "redirect-chain": {"/chain": ["/chain/on", "/fine"]},
    "duplicate-page": {"/copy/1": ["/copy/2"]},
    "title-missing": {"/untitled": []},
    "title-duplicate": {"/title/1": ["/title/2"]},
    "canonical-to-redirect": {"/canonical-redirect": ["/chain/on", "/fine"]},
    "canonical-chain": {"/canonical-chain": ["/canonical-end", "/fine"]},
    "canonical-to-hidden": {"/canonical-hidden": ["/hidden"]},
    "hreflang-broken": {"/languages": ["/gone"]},
    "hreflang-no-return": {"/languages": ["/fine"], "/in-headers": ["/fine"]},
    "orphan": {"/orphan": []},
    "sitemap-unsuitable": {"/sitemap-only-gone": [], "/hidden": []},
    "mixed-content": {"/insecure": ["http://127.0.0.9:1/x.png"]},
    "page-large": {"/large": []},
    "page-slow": {"/slow": []},
    "near-duplicate-page": {"/near/1": ["/near/2"]},
    "title-long": {"/long-title": []},
    "description-missing": {"/no-description": []},
    "description-duplicate": {"/description/1": ["/description/2"]},
    "description-long": {"/long-description": []},
    "canonical-off-site": {"/canonical-away": ["https://elsewhere.invalid/"]},
    "robots-blocked": {"/private": ["/"]},
    "rate-limited": {"/too-often": []},
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Audit the site once; return the findings as JSON, the text, the exit code and the site."""
    folder = tmp_path_factory.mktemp("audit")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    linked = [path for path in FAULTS if path not in UNLINKED]
    answers = FAULTS | {
        "/robots.txt": "User-agent: *\nDisallow: /private\n",
        "/sitemap.xml": sitemap,
        "/": fine("start", body="".join(f"<a href={path}>x</a>" for path in ("/gone", *linked))),
    }
    with Site(answers, context) as site:
        flags = ["--set", f"spider.ca_file={folder / 'ca.pem'}", "--check-assets"]
        result = run_site(
            site.url(), *flags, "--audit", "--fail-on", "error", "-o", str(folder / "site.json")
        )
        return json.loads((folder / "site.json").read_bytes())["audit"], result, site


def test_every_fault_is_found_where_it_is(audited):
    audit, _, site = audited
    found = {
        finding["rule"]: {
            url.removeprefix(site.url()[:-1]): [
                each.removeprefix(site.url()[:-1]) for each in finding["where"].get(url, [])
            ]
            for url in finding["urls"]
        }
        for finding in audit["findings"]
    }
    # Every listed page but the start page; the rule has tests of its own.
    assert "/fine" in found.pop("not-in-sitemap")
    assert found == EXPECTED


def test_every_rule_has_its_fault_here():
    assert {rule.name for rule in RULES} == {*EXPECTED, "not-in-sitemap"}


def test_each_finding_has_severity_and_explanation_in_text_and_json(audited):
    audit, result, _ = audited
    assert result.returncode == 1
    for finding in audit["findings"]:
        assert f"{finding['severity']}: {finding['title']}" in result.stdout
        assert finding["explanation"] in result.stdout
        for url in finding["urls"][:20]:
            assert url in result.stdout
    counts = audit["counts"]
    assert f"Audit: {counts['error']} errors, {counts['warning']} warnings" in result.stdout
