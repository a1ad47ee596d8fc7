"""The table of rules: what each is called, how bad it is, and what it means for people.

Names and severities are an interface: scripts depend on them (docs/reference/audit.md).
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from gossamer.site.audit import (
    canonicals,
    copies,
    delivery,
    languages,
    links,
    redirects,
    sitemaps,
    texts,
)
from gossamer.site.audit.case import Case
from gossamer.site.audit.view import View
from gossamer.site.findings import Severity


class Rule(NamedTuple):
    """One rule."""

    name: str
    severity: Severity
    find: Callable[[View], Iterator[Case]]
    title: str
    explanation: str
    relation: str = ""
    """What the URLs that are listed with a URL are to it."""


ERRORS: Final = (
    Rule(
        "broken-link",
        "error",
        links.broken_links,
        "Broken links",
        "Pages link to these URLs, and who follows the link gets an error. Correct the links, or "
        "bring the pages back.",
        "linked from",
    ),
    Rule(
        "broken-page",
        "error",
        links.broken_pages,
        "Pages that fail",
        "These URLs are the start page, come from a sitemap or from a redirect, and end in an "
        "error. Bring the pages back, or stop naming them.",
    ),
    Rule(
        "broken-asset",
        "error",
        links.broken_assets,
        "Broken assets",
        "Pages load these pictures, style sheets, scripts or frames, and they are not there. "
        "Correct the references, or bring the files back.",
        "used by",
    ),
    Rule(
        "broken-redirect",
        "error",
        redirects.broken_redirects,
        "Redirects to an error",
        "These URLs redirect, and at the end there is an error or no end. Let them lead to a page "
        "that is there.",
        "linked from",
    ),
    Rule(
        "redirect-loop",
        "error",
        redirects.loops,
        "Redirect loops",
        "These redirects lead back to where they began, so browsers give up. Let one of the URLs "
        "answer with a page.",
        "leads to",
    ),
    Rule(
        "canonical-to-error",
        "error",
        canonicals.to_errors,
        "Canonical links to an error",
        "These pages say that another URL is the right one for them, and it ends in an error; "
        "search engines may then list neither. Name a URL that is there.",
        "names",
    ),
    Rule(
        "mixed-content-blocked",
        "error",
        delivery.mixed_and_blocked,
        "Insecure parts that browsers block",
        "These pages come over https and load style sheets, scripts, fonts or frames over http; "
        "browsers refuse that, and the page is incomplete. Load them over https.",
        "loads",
    ),
)

WARNINGS: Final = (
    Rule(
        "forbidden-link",
        "warning",
        links.forbidden_links,
        "Links to pages that are not open",
        "The server answers these URLs with 401, 403, 407 or 451. That is right for pages that "
        "need a login; otherwise open them, or take the links out.",
        "linked from",
    ),
    Rule(
        "refused-asset",
        "warning",
        links.refused_assets,
        "Assets that were refused",
        "The servers of these assets did not want to show them to this program. Look whether a "
        "browser gets them.",
        "used by",
    ),
    Rule(
        "redirect-chain",
        "warning",
        redirects.chains,
        "Redirect chains",
        "These URLs redirect to another redirect. Each hop costs visitors a round trip: let the "
        "first lead to the last at once.",
        "leads to",
    ),
    Rule(
        "duplicate-page",
        "warning",
        copies.duplicates,
        "Duplicate pages",
        "The same page is there under several URLs, and none is named as the right one. Redirect "
        "to one of them, or name it in a canonical link.",
        "same as",
    ),
    Rule(
        "title-missing",
        "warning",
        texts.missing_titles,
        "Missing titles",
        "These pages have no title, or an empty one. It is what tabs, bookmarks and search "
        "results show.",
    ),
    Rule(
        "title-duplicate",
        "warning",
        texts.duplicate_titles,
        "Duplicate titles",
        "Several pages have the same title, so nobody can tell them apart in a list. Give each "
        "its own.",
        "same title as",
    ),
    Rule(
        "canonical-to-redirect",
        "warning",
        canonicals.to_redirects,
        "Canonical links to a redirect",
        "These pages name a URL as the right one that leads elsewhere. Name the URL at its end.",
        "names",
    ),
    Rule(
        "canonical-chain",
        "warning",
        canonicals.chains,
        "Canonical links that contradict each other",
        "These pages name another page as the right one, which itself names yet another. Let all "
        "name the same.",
        "names",
    ),
    Rule(
        "canonical-to-hidden",
        "warning",
        canonicals.to_hidden,
        "Canonical links to a page that is not to be listed",
        "These pages name a page as the right one that search engines may not list (noindex) or "
        "not read (robots.txt). Then none of them is found.",
        "names",
    ),
    Rule(
        "hreflang-broken",
        "warning",
        languages.broken,
        "Versions in other languages that are not there",
        "These pages name versions in other languages (hreflang) that end in an error or "
        "redirect. Search engines ignore such versions.",
        "names",
    ),
    Rule(
        "hreflang-no-return",
        "warning",
        languages.without_return,
        "Versions in other languages without a return link",
        "These pages name versions in other languages (hreflang) that do not name them in turn. "
        "Search engines then ignore both.",
        "names",
    ),
    Rule(
        "orphan",
        "warning",
        sitemaps.orphans,
        "Orphan pages",
        "The sitemap names these pages, and no links lead to them from the start page, so visitors "
        "do not find them. Link to them, or take them out.",
    ),
    Rule(
        "sitemap-unsuitable",
        "warning",
        sitemaps.unsuitable,
        "URLs that do not belong into the sitemap",
        "The sitemap names these URLs, which end in an error, redirect, or say themselves that "
        "they are not to be listed. Take them out.",
    ),
    Rule(
        "mixed-content",
        "warning",
        delivery.mixed,
        "Insecure pictures, sound or films",
        "These pages come over https and load other parts over http; browsers try https instead "
        "or warn. Load them over https.",
        "loads",
    ),
    Rule(
        "page-large",
        "warning",
        delivery.large,
        "Very large pages",
        "The HTML of these pages has more than 2 MB, before any picture. Divide them.",
    ),
    Rule(
        "page-slow",
        "warning",
        delivery.slow,
        "Slow pages",
        "The server took more than 3 seconds for these pages. Measured once, during this crawl.",
    ),
)

NOTICES: Final = (
    Rule(
        "near-duplicate-page",
        "notice",
        copies.near_duplicates,
        "Nearly the same pages",
        "The text of these pages differs in little. If they are versions of one page, name the "
        "right one in a canonical link.",
        "near to",
    ),
    Rule(
        "title-long",
        "notice",
        texts.long_titles,
        "Long titles",
        f"These titles have more than {texts.MAX_TITLE} characters; search results cut them off.",
    ),
    Rule(
        "description-missing",
        "notice",
        texts.missing_descriptions,
        "Missing descriptions",
        "These pages have no meta description, so search engines choose some text of theirs.",
    ),
    Rule(
        "description-duplicate",
        "notice",
        texts.duplicate_descriptions,
        "Duplicate descriptions",
        "Several pages have the same meta description. Give each its own, or none.",
        "same description as",
    ),
    Rule(
        "description-long",
        "notice",
        texts.long_descriptions,
        "Long descriptions",
        f"These descriptions have more than {texts.MAX_DESCRIPTION} characters; search results "
        "cut them off.",
    ),
    Rule(
        "canonical-off-site",
        "notice",
        canonicals.off_site,
        "Canonical links to another site",
        "These pages say that the right URL for them is on another site. Right for copies of "
        "somebody else's text; otherwise this site will not be listed.",
        "names",
    ),
    Rule(
        "not-in-sitemap",
        "notice",
        sitemaps.left_out,
        "Pages that the sitemap does not name",
        "Links lead to these pages, and the sitemap does not name them. Add them.",
    ),
    Rule(
        "robots-blocked",
        "notice",
        links.robots_blocked,
        "Blocked by robots.txt",
        "robots.txt forbids these URLs, so they were not fetched, and search engines do not read "
        "them either.",
        "linked from",
    ),
    Rule(
        "rate-limited",
        "notice",
        links.rate_limited,
        "Pages refused because of too many requests",
        "The server answered 429, so nothing is known about these pages. Crawl it more slowly.",
    ),
)

RULES: Final = (*ERRORS, *WARNINGS, *NOTICES)
"""In the order in which findings are shown: the worst first."""
