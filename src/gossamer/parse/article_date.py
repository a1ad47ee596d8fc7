"""When an article was published: all that hints at it is gathered, the best is believed.

A source of dates has a confidence of its own. A second source that names the same day raises it,
one that names another day lowers it. A day without a time of day takes the time from a source that
names the same day. A time without a zone is taken for UTC.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec
from turbohtml import Document as Tree

from gossamer.parse.article_marks import Marks, values_of
from gossamer.parse.feed_dates import moment_of
from gossamer.parse.feed_text import on_one_line
from gossamer.parse.places import text_of

EARLIEST: Final = 631_152_000
"""1990: nothing on the web was published before; what says so is a mistake, or no such date."""
LATEST: Final = 4_102_444_800  # 2100
_DAY: Final = 86_400
# A clock that is wrong by more says nothing.
_MAX_AHEAD: Final = _DAY
_SAME: Final = 1.5 * _DAY
_FAR: Final = 3 * _DAY
_AGREED: Final = 0.04
_CONTRADICTED: Final = 0.15
_MAX_CONFIDENCE: Final = 0.99
_MAX_CANDIDATES: Final = 64

_SURE_METAS: Final = (
    "article:published_time", "article:published", "og:article:published_time", "og:published_time",
    "datepublished", "parsely-pub-date", "sailthru.date", "pubdate", "publishdate", "publish-date",
    "publish_date", "publication_date", "published_date", "publicationdate", "dc.date.issued",
    "dcterms.issued", "dc.issued", "cxenseparse:recs:publishtime", "cxenseparse:publishtime",
    "article.published", "ptime", "bt:pubdate", "vr:published_time", "rnews:datepublished",
    "date.published", "article_date_original", "citation_publication_date",
    "shareaholic:article_published_time",
)  # fmt: skip
_MAYBE_METAS: Final = (
    "date", "dc.date", "dcterms.date", "dcterms.created", "dc.date.created", "created",
    "datecreated", "og:pubdate", "article:post_date", "citation_date", "search_date",
)  # fmt: skip
_IN_URL: Final = re.compile(
    r"[/._-]((?:19|20)\d\d)[/._-]?(0[1-9]|1[0-2])[/._-]?(0[1-9]|[12]\d|3[01])(?![0-9])"
    r"|/((?:19|20)\d\d)/([1-9]|1[0-2])/([1-9]|[12]\d|3[01])/"
)
_NAMED_IN_URL: Final = re.compile(
    r"/((?:19|20)\d\d)/(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}/(\d{1,2})/"
)
_MONTH_IN_URL: Final = re.compile(r"/((?:19|20)\d\d)/(0[1-9]|1[0-2])/")
_PUBLISHED_NAME: Final = re.compile(
    r"publi|posted|entry-date|dateline|created|release", re.IGNORECASE
)
_CHANGED_NAME: Final = re.compile(r"modif|updat|comment|event", re.IGNORECASE)
_URL_LOOKED_AT: Final = 2_048
_TEXT_LOOKED_AT: Final = 4_000
_IN_TEXT: Final = re.compile(
    r"\b(?:(?:19|20)\d\d-\d\d-\d\d|\d{1,2}\. ?\d{1,2}\. ?(?:19|20)\d\d"
    r"|(?:(?:19|20)\d\d)/\d\d/\d\d"
    r"|\d{1,2}(?:st|nd|rd|th|\.)? (?:de )?[^\W\d_]{3,12}\.?,? (?:de )?(?:19|20)\d\d"
    r"|[^\W\d_]{3,12}\.? \d{1,2},? (?:19|20)\d\d)\b"
    r"(?:[T,]? ?(?:at |um |- )?\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\.?)?"
    r"(?: ?[A-Z]{2,4}| ?[+-]\d\d:?\d\d|Z)?)?",
    re.IGNORECASE,
)
_DATED: Final = (
    "[itemprop~=datePublished], :is(span, div, p, li, em, small, a, b, i, font, abbr, dd)"
    ":is([class*=date i], [class*=time i], [class*=publi i], [class*=posted i],"
    " [class*=created i], [id*=date i])"
)
_MAX_DATED: Final = 8
_LINE: Final = 160
_EAST_ASIAN: Final = re.compile(r"((?:19|20)\d\d)年 ?(\d{1,2})月 ?(\d{1,2})日")


class Published(msgspec.Struct, frozen=True):
    """A date, where it is from and how sure it is."""

    moment: float | None = None
    how: str = ""
    confidence: float = 0.0


class Beginning(msgspec.Struct, frozen=True):
    """What stands around the beginning of an article."""

    datelines: tuple[str, ...] = ()
    text: str = ""


class _Candidate(msgspec.Struct):
    moment: float
    how: str
    confidence: float
    has_time: bool


def datelines_of(tree: Tree, marks: Marks) -> tuple[str, ...]:
    """Return the texts of elements that say by name that they hold a date, if they are needed."""
    if any("datePublished" in node for node in marks.nodes[:4]) or marks.meta(*_SURE_METAS):
        return ()
    lines = (on_one_line(each.text[:_LINE]) for each in tree.select(_DATED)[:_MAX_DATED])
    return tuple(line for line in lines if line)


def published_of(
    marks: Marks, url: str, text: Beginning, feed: float | None, fetched_at: float | None
) -> Published:
    """Return when an article was published."""
    latest = LATEST if fetched_at is None else min(LATEST, fetched_at + _MAX_AHEAD)
    candidates: list[_Candidate] = []
    for how, confidence, said in _said(marks, url, text):
        moment = moment_of(said)
        if moment is not None and EARLIEST <= moment <= latest:
            candidates.append(_Candidate(moment, how, confidence, ":" in said))
            if len(candidates) == _MAX_CANDIDATES:
                break
    if feed is not None and EARLIEST <= feed <= latest:
        candidates.append(_Candidate(feed, "feed", 0.9, has_time=True))
    return _best(candidates)


def _said(marks: Marks, url: str, beginning: Beginning) -> Iterator[tuple[str, float, str]]:
    """Yield where a date stands, how good such dates are, and the date as it is written."""
    for node in marks.nodes[:4]:
        for name, confidence in (
            ("datePublished", 0.95), ("uploadDate", 0.8), ("dateCreated", 0.8),
            ("dateModified", 0.4),
        ):  # fmt: skip
            for value in values_of(node.get(name)):
                yield "json-ld", confidence, value
    for names, confidence in ((_SURE_METAS, 0.93), (_MAYBE_METAS, 0.75)):
        for name in names:
            for value in marks.metas.get(name, ())[:4]:
                yield "meta", confidence, value
    yield from _said_in_times(marks)
    yield from _said_in_url(url)
    for name in ("article:modified_time", "og:updated_time", "last-modified", "datemodified"):
        for value in marks.metas.get(name, ())[:2]:
            yield "meta", 0.4, value
    for number, line in enumerate(beginning.datelines):
        for said in _dates_in(line):
            yield "text", 0.6 if number < 2 and not _CHANGED_NAME.search(line) else 0.4, said
    for said in _dates_in(beginning.text[:_TEXT_LOOKED_AT]):
        yield "text", 0.35, said


def _dates_in(text: str) -> Iterator[str]:
    for found in _IN_TEXT.finditer(text):
        yield found[0]
    for found in _EAST_ASIAN.finditer(text):
        yield _iso(found[1], found[2], found[3])


def _said_in_times(marks: Marks) -> Iterator[tuple[str, float, str]]:
    for number, element in enumerate(marks.times[:16]):
        said = text_of(element, "datetime") or element.text
        if text_of(element, "itemprop") == "datePublished" or "pubdate" in element.attrs:
            yield "microdata", 0.88, said
            continue
        names = f"{text_of(element, 'class')[:256]} {text_of(element, 'itemprop')[:64]}"
        if _CHANGED_NAME.search(names):
            yield "time", 0.35, said
        elif _PUBLISHED_NAME.search(names):
            yield "time", 0.8, said
        else:
            # The first stands under the headline, the others under links to other articles.
            yield "time", 0.65 if number == 0 else 0.3, said


def _said_in_url(url: str) -> Iterator[tuple[str, float, str]]:
    url = url[:_URL_LOOKED_AT].lower()
    if found := _IN_URL.search(url):
        year, month, day = found.groups()[:3] if found[1] else found.groups()[3:]
        yield "url", 0.8, _iso(year, month, day)
    elif found := _NAMED_IN_URL.search(url):
        yield "url", 0.8, f"{found[3]} {found[2]} {found[1]}"
    elif found := _MONTH_IN_URL.search(url):
        yield "url", 0.3, f"{found[1]}-{found[2]}-01"


def _iso(year: str, month: str, day: str) -> str:
    return f"{year}-{int(month):02}-{int(day):02}"


def _best(candidates: list[_Candidate]) -> Published:
    if not candidates:
        return Published()
    best = max(candidates, key=lambda each: each.confidence)
    others = [each for each in candidates if each.how != best.how]
    agreeing = [each for each in others if abs(each.moment - best.moment) <= _SAME]
    confidence = best.confidence
    if agreeing:
        confidence = min(_MAX_CONFIDENCE, confidence + _AGREED * len({e.how for e in agreeing}))
    elif any(abs(e.moment - best.moment) > _FAR and e.confidence >= 0.6 for e in others):
        confidence -= _CONTRADICTED
    moment = best.moment
    if not best.has_time:
        same_day = [e for e in candidates if e.has_time and 0 <= e.moment - best.moment < _DAY]
        if same_day:
            moment = max(same_day, key=lambda each: each.confidence).moment
    return Published(moment, best.how, round(confidence, 2))
