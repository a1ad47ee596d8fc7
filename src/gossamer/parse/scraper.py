"""A stored page becomes contents: by templates, by general extraction, as a feed, or as it is.

`scrape` is the whole of processing that needs no database: it takes a page and the properties of
its site and says what was found, which bits of the error mask are to be set, and when the content
was published. It never raises for what a page or a property contains.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from gossamer.clock import Clock, SystemClock
from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.processors import PAGE_TYPES
from gossamer.parse.article import Hints, extract
from gossamer.parse.scraper_dates import (
    FEED_DATE_HEADER,
    date_reading,
    publication_date,
    read_date,
)
from gossamer.parse.scraper_feed import read_contents, read_links
from gossamer.parse.scraper_measure import content_hash, metrics_of, thresholds_of
from gossamer.parse.scraper_records import (
    MAX_CONTENTS,
    FeedLink,
    Job,
    Metrics,
    Problems,
    Scraped,
    Tags,
    tags_mask_of,
)
from gossamer.parse.scraper_rules import TemplateResult, apply_templates
from gossamer.parse.scraper_template import read_templates
from gossamer.parse.scraper_values import Surroundings, date_text
from gossamer.url.canonical import Joiner

DEADLINE_SECONDS: Final = 20.0
DEFAULT_TYPES: Final = "text/html"
MAX_STORED: Final = 8 << 20
"""Bytes of a page that is stored as it is."""
_ALGORITHMS: Final = {
    "": "", "regular": "", "metric_based": "metric_based", "feed_parser": "FEED_PARSER",
    "raw-data": "STORE",
}  # fmt: skip
_PROCESSORS: Final = frozenset(("", "metric_based", "STORE", "FEED_PARSER", "RSS", "NONE"))
_SAYS_SOMETHING: Final = frozenset(("title", "description", "content_encoded"))
_TEXT_TYPES: Final = ("text/", "application/xhtml", "application/xml", "application/json")
_METRICS: Final = frozenset(("words", "sentences", "readability"))
_CACHE_BYTES: Final = 1 << 16
_CLOCK: Final = SystemClock()
_Entry = TypeVar("_Entry", Tags, FeedLink)


class _Found(Struct, frozen=True):
    how: str
    contents: list[Tags] = []
    links: list[FeedLink] = []
    output: str = ""


def scrape(
    page_body: bytes,
    content_type: str,
    charset: str,
    url: str,
    properties: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
    *,
    deadline_seconds: float = DEADLINE_SECONDS,
    max_urls_from_page: int = 0,
    clock: Clock = _CLOCK,
) -> Scraped:
    """Return what processing finds on a page; 0 URLs at most means no limit. Never raises.

    `headers` are those of the stored response, with what a feed said about the URL among them.
    """
    problems = Problems()
    lowered = {name.lower(): value for name, value in (headers or {}).items()}
    job = Job(page_body, content_type, charset, url, properties, lowered, deadline_seconds, clock)
    found = _process(job, problems)
    contents = _limited(found.contents[:MAX_CONTENTS], max_urls_from_page, problems)
    links = _limited(found.links, max_urls_from_page, problems)
    links = [each for each in links if each.content < len(contents)]
    best: Tags = max(contents, key=len, default={})
    pdate, pdate_how = None, ""
    if found.how in ("template", "regular", "store") and best:
        pdate, pdate_how = publication_date(properties, url, lowered, best, clock.time(), problems)
    mask = 0
    for content in contents:
        mask |= tags_mask_of(content)
    return Scraped(
        contents=contents,
        tags_mask=mask,
        tags_count=len(best),
        pdate=pdate,
        pdate_how=pdate_how,
        links=tuple(links),
        how=found.how,
        output=found.output,
        content_hash=content_hash(properties, best, problems),
        metrics=metrics_of(best, thresholds_of(properties, problems)),
        errors=problems.mask,
        messages=problems.messages,
    )


def is_processable(content_type: str, properties: Mapping[str, str]) -> bool:
    """Whether a content type is among those of the property PROCESS_CTYPES (a list with commas)."""
    listed = properties.get("PROCESS_CTYPES", DEFAULT_TYPES).split(",")
    wanted = content_type.partition(";")[0].strip().lower()
    return any(wanted == each.strip().lower() or each.strip() == "*" for each in listed)


def _process(job: Job, problems: Problems) -> _Found:
    name = processor_of(job.properties, problems)
    if name is None:
        return _Found("")
    if name == "NONE":
        return _Found("none")
    if name == "STORE":
        return _Found("store", _stored(job, problems))
    if name == "FEED_PARSER":
        contents, links = read_contents(job.body, job.content_type, job.charset, job.url, problems)
        return _Found("feed", contents, links)
    if name == "RSS":
        noted = Problems()
        links = read_links(job.body, job.content_type, job.charset, job.url, noted)
        if not links and job.content_type.partition(";")[0].strip().lower() in PAGE_TYPES:
            # An entry of the feed, which was fetched: a page like others.
            return _scraped(job, problems, compete=False)
        problems.take(noted)
        return _Found("rss", [], links)
    return _scraped(job, problems, compete=name == "metric_based")


def processor_of(properties: Mapping[str, str], problems: Problems) -> str | None:
    """Return which way of processing the properties ask for; None if it is not known here.

    PROCESSOR_NAME_REPLACE maps names to others; PROCESSOR_PROPERTIES may name an algorithm of the
    scraper.
    """
    name = properties.get("PROCESSOR_NAME", "").strip()
    replaced = _json_map(properties, "PROCESSOR_NAME_REPLACE", problems).get(name)
    if isinstance(replaced, str):
        name = replaced.strip()
    if not name:
        algorithm = _json_map(properties, "PROCESSOR_PROPERTIES", problems).get("algorithm")
        asked = algorithm.get("algorithm_name", "") if isinstance(algorithm, dict) else ""
        name = _ALGORITHMS.get(asked, asked) if isinstance(asked, str) else "?"
    if name not in _PROCESSORS:
        problems.add(ErrorBit.SCRAPER, f"processor {name[:40]!r} is not supported")
        return None
    return name


def _json_map(properties: Mapping[str, str], name: str, problems: Problems) -> dict[str, object]:
    text = properties.get(name, "").strip()
    if not text:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError) as error:
        problems.add(ErrorBit.SCRAPER, f"{name}: {error}")
        return {}


def _scraped(job: Job, problems: Problems, *, compete: bool) -> _Found:
    """Scrape by templates where the site has some, else by general extraction."""
    source = job.properties.get("TEMPLATE_SOURCE", "").strip()
    if source not in ("", "0"):
        problems.add(ErrorBit.TEMPLATE_SOURCE, f"TEMPLATE_SOURCE {source[:40]!r} is not supported")
    text = job.properties.get("template", "").strip()
    if not text:
        return _Found("regular", _regular(job))
    by_template = _by_templates(job, text, problems)
    if compete:
        regular = _regular(job)
        if regular and _quality(job, regular[0]) > _quality(job, by_template.content):
            return _Found("regular", regular)
    if not by_template.content:
        return _Found("template")
    return _Found("template", [by_template.content], [], by_template.output)


def _by_templates(job: Job, text: str, problems: Problems) -> TemplateResult:
    templates = read_templates(text, job.url, problems)
    reading = date_reading(job.properties, job.url, problems)
    joiner = Joiner(None, _CACHE_BYTES)
    around = Surroundings(
        lambda reference: joiner.join(job.url, reference), reading, _deadline(job)
    )
    return apply_templates(job, templates, around, _measure(job, problems), problems)


def _deadline(job: Job) -> Callable[[], bool]:
    end = job.clock.monotonic() + job.deadline_seconds
    return lambda: job.clock.monotonic() >= end


def _measure(job: Job, problems: Problems) -> Callable[[Tags], float] | None:
    """Return by which figure templates compete (DEFAULT_METRIC), None if by none."""
    metric = job.properties.get("DEFAULT_METRIC", "").strip().lower()
    if not metric:
        return None
    if metric not in _METRICS:
        problems.add(ErrorBit.SCRAPER, f"DEFAULT_METRIC {metric[:40]!r} is not known")
        return None
    return lambda tags: float(getattr(_metrics(job, tags), metric))


def _regular(job: Job) -> list[Tags]:
    """Return what general extraction finds, under the standard tags."""
    feed_date = read_date(job.headers.get(FEED_DATE_HEADER.lower(), ""))
    article = extract(
        job.body,
        job.url,
        charset=job.charset,
        hints=Hints(published=feed_date, fetched_at=job.clock.time()),
    )
    tags = {
        "title": article.title,
        "description": article.description,
        "content_encoded": article.text,
        "pubdate": "" if article.published is None else date_text(article.published),
        "author": ",".join(article.authors),
        "keywords": ",".join(article.tags),
        "media": article.image,
        "html_lang": article.language,
        "link": article.canonical_url or job.url,
    }
    filled = {tag: value for tag, value in tags.items() if value}
    return [filled] if not _SAYS_SOMETHING.isdisjoint(filled) else []


def _stored(job: Job, problems: Problems) -> list[Tags]:
    """Return a page as it is: text as text, all else in base64."""
    if len(job.body) > MAX_STORED:
        problems.add(ErrorBit.SCRAPER, f"more than {MAX_STORED} bytes cannot be stored as they are")
        return []
    if not job.body:
        return []
    text = _decoded(job)
    if text is not None:
        return [{"content_encoded": text}]
    return [{"content_encoded": base64.b64encode(job.body).decode(), "encoding": "base64"}]


def _decoded(job: Job) -> str | None:
    """Return a page as text if it is one and no byte of it is lost."""
    if not job.content_type.strip().lower().startswith(_TEXT_TYPES):
        return None
    for codec in ("utf-8", f"whatwg-{job.charset.strip().lower()[:40]}"):
        try:
            return job.body.decode(codec)
        except (LookupError, ValueError):
            continue
    return None


def _metrics(job: Job, content: Tags) -> Metrics:
    return metrics_of(content, thresholds_of(job.properties, Problems()))


def _quality(job: Job, content: Tags) -> tuple[int, int]:
    metrics = _metrics(job, content)
    return metrics.rank, metrics.words


def _limited(listed: list[_Entry], most: int, problems: Problems) -> list[_Entry]:
    if 0 < most < len(listed):
        problems.add(
            ErrorBit.MAX_URLS_FROM_PAGE, f"only {most} of {len(listed)} entries were taken"
        )
        return listed[:most]
    return listed
