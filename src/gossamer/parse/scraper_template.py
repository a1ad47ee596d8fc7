"""The site property `template`: which rules fill which tags, from JSON.

Two forms are read: the one with a list of templates, and the older one that maps tags to XPaths,
alone or by host. docs/reference/scraping.md describes both.
"""

from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct, field

from gossamer.objects.error_mask import ErrorBit
from gossamer.objects.patterns import PatternError, found_in
from gossamer.parse.scraper_records import MAX_TAGS, Problems

MAX_TEMPLATE: Final = 1 << 20
"""Characters of the property."""
MAX_TEMPLATES: Final = 64
MAX_RULES: Final = 32
"""Of one tag."""
_OLD_PRIORITY: Final = 100

ShortText = Annotated[str, Meta(max_length=4_096)]
Join = Literal["first", "concat", "best"]
Kind = Literal["", "text", "html", "date", "number", "image", "link"]


class ValueType(Struct, frozen=True):
    """What a value is taken for."""

    name: Kind = ""
    """"": what the tag suggests."""
    format: ShortText = ""
    """Of a date: as for strptime."""


class Rule(Struct, frozen=True):
    """One way to find the value of a tag."""

    target: ShortText = ""
    """An XPath."""
    css: ShortText = ""
    """A CSS selector, instead of the XPath; may end in ::text or ::attr(name)."""
    begin: ShortText = ""
    """The value begins behind this text, if it is there."""
    end: ShortText = ""
    """The value ends before this text, if it is there."""
    type: ValueType = ValueType()
    join: Join = "first"
    mandatory: bool = False
    """Without a value here the whole template has found nothing."""


class Condition(Struct, frozen=True):
    """When a template is for a page."""

    type: Literal[0] = 0
    """0: a field of the URL's record; there is no other."""
    field: ShortText = "url"
    pattern: ShortText = ""


class OutputFormat(Struct, frozen=True):
    """How a content is written; `%tag%` stands for its value."""

    name: Literal["json", "xml"] = "json"
    header: str = ""
    items_header: str = ""
    item: str = ""
    items_footer: str = ""
    footer: str = ""


class Template(Struct, frozen=True):
    """Rules for pages of one kind."""

    tags: dict[ShortText, Annotated[list[Rule], Meta(max_length=MAX_RULES)]]
    priority: int = 0
    mandatory: bool = False
    state: int = 1
    condition: Condition | None = None
    output_format: OutputFormat | None = None


class Templates(Struct, frozen=True):
    """All templates of a site."""

    templates: Annotated[list[Template], Meta(max_length=MAX_TEMPLATES)] = field(
        default_factory=list
    )
    select: Literal["first_nonempty", "longest"] = "first_nonempty"


def read_templates(text: str, url: str, problems: Problems) -> Templates:
    """Return the templates that are for a page at `url`, highest priority first."""
    if len(text) > MAX_TEMPLATE:
        problems.add(ErrorBit.SCRAPER, f"template: more than {MAX_TEMPLATE} characters")
        return Templates()
    try:
        data = msgspec.json.decode(text)
        read = msgspec.convert(_in_new_form(data, url), Templates, strict=False)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        problems.add(ErrorBit.SCRAPER, f"template: {error}")
        return Templates()
    fitting = [each for each in read.templates if each.state and _fits(each, url, problems)]
    for each in fitting:
        if len(each.tags) > MAX_TAGS:
            problems.add(ErrorBit.SCRAPER, f"template: more than {MAX_TAGS} tags")
            return Templates()
    return Templates(sorted(fitting, key=lambda each: -each.priority), read.select)


def _fits(template: Template, url: str, problems: Problems) -> bool:
    condition = template.condition
    if condition is None or not condition.pattern:
        return True
    if condition.field.lower() != "url":
        problems.add(
            ErrorBit.SCRAPER, f"template: field {condition.field[:40]!r} is not known here"
        )
        return False
    try:
        return found_in(condition.pattern, url)
    except PatternError as error:
        problems.add(ErrorBit.REGULAR_EXPRESSION, f"template: {error}")
        return False


def _in_new_form(data: object, url: str) -> object:
    """Return the older form as a list of one template; what is neither is for the checks."""
    if not isinstance(data, dict):
        return data
    if "templates" in data:
        listed = data["templates"]
        if not isinstance(listed, list):
            return data
        return data | {"templates": [_with_rules(each) for each in listed[: MAX_TEMPLATES + 1]]}
    if data and all(isinstance(value, dict) for value in data.values()):
        data = _of_host(data, url)
    return {"templates": [_with_rules({"tags": data, "priority": _OLD_PRIORITY})] if data else []}


def _of_host(by_host: dict[str, object], url: str) -> dict[str, object]:
    """Return the rules for the URL's host, or for a domain above it, or for any (*)."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    labels = host.lower().split(".")
    names = [".".join(labels[start:]) for start in range(len(labels))]
    for name in (*names, "*"):
        found = by_host.get(name) or by_host.get(f"www.{name}")
        if isinstance(found, dict):
            return found
    return {}


def _with_rules(template: object) -> object:
    """Write rules that are only a target, or not in a list, as the records expect them."""
    if not isinstance(template, dict) or not isinstance(template.get("tags"), dict):
        return template
    tags = {
        tag: [{"target": each} if isinstance(each, str) else each for each in _listed(rules)]
        for tag, rules in template["tags"].items()
    }
    return template | {"tags": tags}


def _listed(rules: object) -> list[object]:
    return rules if isinstance(rules, list) else [rules]
