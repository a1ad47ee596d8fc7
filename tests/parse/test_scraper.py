"""Scraping by templates and by general extraction, and what a processor's name asks for."""

import json

import pytest

from gossamer.clock import ManualClock
from gossamer.parse.scraper import is_processable, scrape
from gossamer.parse.scraper_records import STANDARD_TAGS

URL = "https://news.example.org/2026/11/16/storm.html"
PAGE = b"""<!doctype html><html lang=en><head><title>Storm | News</title>
<meta name=description content="A storm is coming."></head><body>
<div class=head><h1>Storm &amp; flood</h1><span class=by>By Ann Lee</span>
<time datetime="2026-11-15T10:00:00+02:00">yesterday</time></div>
<div id=story><p>First paragraph.</p><p>Second one, which is longer.</p></div>
<dl><dt>Price</dt><dd>EUR 1.234,50</dd><dt>Other</dt><dd>none</dd></dl>
<img class=top src="/img/storm.jpg"><a class=more href="next.html">more</a>
<p class=date>03/04/2026 10:00</p></body></html>"""


def scraped(template=None, page=PAGE, url=URL, **more):
    properties = dict(more.pop("properties", {}))
    if template is not None:
        properties["template"] = json.dumps(template)
    more.setdefault("clock", ManualClock())
    return scrape(page, "text/html", "utf-8", url, properties, **more)


def one(template, **more):
    result = scraped(template, **more)
    assert result.errors == 0, result.messages
    (content,) = result.contents
    return content


def rule(tag, **fields):
    return {"templates": [{"tags": {tag: [fields]}}]}


def bits(mask):
    return {number for number in range(64) if mask >> number & 1}


def test_rules_fill_tags_and_tags_set_their_bits():
    result = scraped(
        {"templates": [{"tags": {
            "title": [{"target": "//h1"}], "author": [{"css": "span.by", "begin": "By "}],
            "price": [{"target": "//dt[.='Price']/following-sibling::dd[1]",
                       "type": {"name": "number"}}],
            "link": [{"css": "a.more::attr(href)"}], "media": [{"css": "img.top"}],
            "pubdate": [{"target": "//time"}],
        }}]}
    )  # fmt: skip
    assert result.errors == 0
    assert result.contents == [{
        "title": "Storm & flood", "author": "Ann Lee", "price": "1234.50",
        "link": "https://news.example.org/2026/11/16/next.html",
        "media": "https://news.example.org/img/storm.jpg", "pubdate": "2026-11-15T08:00:00Z",
    }]  # fmt: skip
    assert result.tags_count == 6
    standard = ("title", "author", "link", "media", "pubdate")
    assert bits(result.tags_mask) == {STANDARD_TAGS.index(tag) for tag in standard}
    assert result.how == "template"


def test_the_bits_of_the_standard_tags_are_fixed():
    assert STANDARD_TAGS == (
        "title", "link", "description", "pubdate", "author", "guid", "dc_date", "content_encoded",
        "keywords", "media", "enclosure", "media_content", "media_thumbnail", "html_lang",
        "summary_lang",
    )  # fmt: skip


@pytest.mark.parametrize(
    "template",
    [
        {"title": ["//h2", "//h1"]},
        {"news.example.org": {"title": ["//h1"]}, "other.example": {"title": ["//p"]}},
        {"example.org": {"title": ["//h1"]}},
        {"*": {"title": "//h1"}},
    ],
    ids=["tags alone", "by host", "by domain", "any host"],
)
def test_the_older_form_is_read(template):
    assert one(template)["title"] == "Storm & flood"


def test_the_older_form_has_priority_100():
    """Two templates that find the same compete by priority; the older form cannot be below one."""
    from gossamer.parse.scraper_records import Problems
    from gossamer.parse.scraper_template import read_templates

    (template,) = read_templates('{"title": ["//h1"]}', URL, Problems()).templates
    assert template.priority == 100


def test_rules_for_other_hosts_find_nothing():
    result = scraped({"other.example": {"title": ["//h1"]}})
    assert (result.contents, result.tags_count, result.tags_mask) == ([], 0, 0)


@pytest.mark.parametrize(
    ("join", "value"),
    [
        ("first", "First paragraph."),
        ("concat", "First paragraph.\nSecond one, which is longer."),
        ("best", "Second one, which is longer."),
    ],
)
def test_several_nodes_are_joined_as_the_rule_says(join, value):
    content = one(rule("content_encoded", target="//div[@id='story']/p", join=join))
    assert content["content_encoded"] == value


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"target": "//h1", "begin": "Storm ", "end": "flood"}, "&"),
        ({"target": "//h1", "begin": "absent"}, "Storm & flood"),
        ({"target": "//h1", "type": {"name": "html"}}, "<h1>Storm &amp; flood</h1>"),
        ({"target": "//meta[@name='description']"}, "A storm is coming."),
        ({"target": "string(//h1)"}, "Storm & flood"),
        ({"target": "count(//p)"}, "3"),
        ({"target": "(//div/p)[2]"}, "Second one, which is longer."),
        ({"target": "//dt[2]/preceding-sibling::dt"}, "Price"),
        ({"target": "//p[2]/ancestor::div/@id"}, "story"),
        ({"css": "#story p::text", "join": "best"}, "Second one, which is longer."),
        ({"target": "//p[@class='date']", "type": {"name": "date", "format": "%d/%m/%Y %H:%M"}},
         "2026-04-03T10:00:00Z"),
        ({"target": "//time/@datetime", "type": {"name": "date"}}, "2026-11-15T08:00:00Z"),
    ],
)  # fmt: skip
def test_a_rule_finds(fields, value):
    assert one(rule("title", **fields))["title"] == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234,50", "1234.50"), ("1,234.50", "1234.50"), ("1 234", "1234"),
        ("1,234,567", "1234567"), ("12.5", "12.5"), ("-3", "-3"), ("about 7 km", "7"),
        ("0,5", "0.5"),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(text, value):
    content = one(rule("n", target="//p", type={"name": "number"}), page=f"<p>{text}</p>".encode())
    assert content["n"] == value


def test_a_date_that_two_people_read_differently_is_none_until_the_site_says_how():
    template = rule("pubdate", css=".date")
    assert scraped(template).contents == []
    orders = [{"pattern": "other", "order": 0}, {"pattern": "news[.]", "order": 1}]
    day_first = one(template, properties={"PDATE_DAY_MONTH_ORDER": json.dumps(orders)})
    assert day_first["pubdate"] == "2026-04-03T10:00:00Z"
    month_first = one(
        template,
        properties={
            "PDATE_DAY_MONTH_ORDER": '[{"pattern": ".", "order": 0}]',
            "PDATE_TIMEZONES": '[{"pattern": ".", "zone": "+0300"}]',
        },
    )
    assert month_first["pubdate"] == "2026-03-04T07:00:00Z"


def template_of(priority=0, **more):
    return {"tags": {"title": [{"target": "//h1"}]}, "priority": priority, **more}


def test_the_template_with_most_tags_wins_then_the_higher_priority():
    two = {"title": ["//h1"], "author": [".//span"]}
    templates = [
        {"tags": {"title": ["//title"]}, "priority": 9},
        {"tags": two, "priority": 1},
        {"tags": {**two, "title": ["//dt"]}, "priority": 5},
    ]
    assert one({"templates": templates})["title"] == "Price"
    assert one({"templates": templates[:2]})["title"] == "Storm & flood"


def test_the_longest_content_wins_if_that_is_asked():
    templates = [
        {"tags": {"title": ["//h1"], "content_encoded": ["//p"]}, "priority": 9},
        {"tags": {"content_encoded": ["//div[@id='story']"]}},
    ]
    assert "title" in one({"templates": templates})
    assert "title" not in one({"templates": templates, "select": "longest"})


def test_a_metric_chooses_among_templates():
    templates = [
        {"tags": {"title": ["//h1"], "content_encoded": ["//p"]}},
        {"tags": {"content_encoded": ["//div[@id='story']"]}},
    ]
    content = one({"templates": templates}, properties={"DEFAULT_METRIC": "WORDS"})
    assert "title" not in content


def test_a_template_may_be_switched_off_or_be_for_some_urls():
    assert scraped({"templates": [template_of(state=0)]}).contents == []
    for pattern, count in (("/2026/", 1), ("/2025/", 0), (r"^https://[a-z.]+/\d+/", 1)):
        condition = {"type": 0, "field": "url", "pattern": pattern}
        assert len(scraped({"templates": [template_of(condition=condition)]}).contents) == count


def test_a_mandatory_template_that_finds_nothing_is_an_error():
    missing = {"tags": {"title": [{"target": "//h6"}]}, "mandatory": True}
    result = scraped({"templates": [missing, template_of()]})
    assert bits(result.errors) == {39}
    assert result.tags_count == 2


def test_a_mandatory_rule_that_finds_nothing_spoils_its_template_only():
    tags = {"title": [{"target": "//h1"}], "author": [{"target": "//h6", "mandatory": True}]}
    assert scraped({"templates": [{"tags": tags}]}).contents == []
    assert one({"templates": [{"tags": tags}, template_of()]})["title"] == "Storm & flood"


@pytest.mark.parametrize(
    ("name", "item", "expected"),
    [
        ("json", '{"t": "%title%", "x": "%absent%"}', '[{"t": "a \\"b\\" <c> & d", "x": ""}]'),
        ("xml", "<t>%title%</t>", "[<t>a &quot;b&quot; &lt;c&gt; &amp; d</t>]"),
    ],
)
def test_the_output_format_escapes_what_it_writes(name, item, expected):
    form = {"name": name, "header": "[", "item": item, "footer": "]"}
    result = scraped(
        {"templates": [template_of(output_format=form)]},
        page=b'<h1>a "b" &lt;c&gt; &amp; d</h1>',
    )
    assert result.output == expected


def test_macros_inside_of_values_are_not_replaced():
    form = {"name": "xml", "item": "%title%"}
    result = scraped({"templates": [template_of(output_format=form)]}, page=b"<h1>%link%</h1>")
    assert result.output == "%link%"


@pytest.mark.req("S3.103")
def test_without_templates_the_article_is_found():
    paragraphs = "".join(
        f"<p>This is sentence number {n} of a story about the storm, and it is long enough.</p>"
        for n in range(20)
    )
    page = (
        "<html lang=en><head><title>Storm</title><meta name=author content='Ann Lee'></head>"
        f"<body><article><h1>Storm</h1>{paragraphs}</article></body></html>"
    )
    result = scraped(page=page.encode())
    (content,) = result.contents
    assert content["title"] == "Storm"
    assert "sentence number 19" in content["content_encoded"]
    assert content["author"] == "Ann Lee"
    assert content["html_lang"] == "en"
    assert content["link"] == URL
    assert result.how == "regular"
    assert result.tags_count == len(content)
    assert result.metrics.rank == 3
    assert result.metrics.sentences == 20
    assert result.errors == 0


@pytest.mark.parametrize("page", [b"", b"<html></html>", b"<p></p>"])
def test_a_page_that_says_nothing_is_no_content(page):
    result = scraped(page=page)
    assert (result.contents, result.tags_count, result.tags_mask) == ([], 0, 0)


def test_templates_and_general_extraction_may_compete():
    text = "<p>" + "The river rose over its banks and nobody had expected it. " * 30 + "</p>"
    page = f"<title>Flood</title><h1>Flood</h1><article>{text}</article>".encode()
    properties = {"PROCESSOR_PROPERTIES": '{"algorithm": {"algorithm_name": "metric_based"}}'}
    assert scraped({"title": ["//h1"]}, page=page).how == "template"
    assert scraped({"title": ["//h1"]}, page=page, properties=properties).how == "regular"


def test_a_page_is_stored_as_it_is():
    properties = {"PROCESSOR_NAME": "STORE"}
    result = scrape("<p>é".encode("latin-1"), "text/html", "iso-8859-1", URL, properties)
    assert result.contents == [{"content_encoded": "<p>é"}]
    binary = scrape(b"\x89PNG", "image/png", "", URL, properties)
    assert binary.contents == [{"content_encoded": "iVBORw==", "encoding": "base64"}]


@pytest.mark.parametrize("name", ["SCRAPER_CUSTOM", "SCRAPER_MULTI_ITEMS", "prediction"])
def test_other_processors_are_refused_with_a_message(name):
    result = scraped(properties={"PROCESSOR_NAME": name})
    assert bits(result.errors) == {36}
    assert result.messages == (f"processor '{name}' is not supported",)
    assert result.contents == []


def test_no_processing_is_no_error():
    result = scraped(properties={"PROCESSOR_NAME": "NONE"})
    assert (result.how, result.errors, result.contents) == ("none", 0, [])
    renamed = scraped(properties={"PROCESSOR_NAME_REPLACE": '{"": "NONE"}'})
    assert renamed.how == "none"


@pytest.mark.parametrize(
    ("content_type", "listed", "expected"),
    [
        ("text/html", None, True), ("text/html; charset=utf-8", "text/html", True),
        ("TEXT/HTML", "text/plain, text/html", True), ("image/png", "text/html,text/xml", False),
        ("image/png", "*", True), ("", "text/html", False), ("text/htm", "text/html", False),
    ],
)  # fmt: skip
def test_only_listed_types_are_processed(content_type, listed, expected):
    properties = {} if listed is None else {"PROCESS_CTYPES": listed}
    assert is_processable(content_type, properties) is expected
