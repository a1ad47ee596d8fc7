"""The reference page of the objects, made from the records themselves (`make docs`)."""

from collections.abc import Iterator
from enum import IntEnum, IntFlag
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from gossamer.objects import (
    answers,
    batch,
    content,
    enumerations,
    extras,
    hosts,
    selection,
    site,
    url,
)
from gossamer.objects.coding import encode
from gossamer.objects.criterions import MAX_ROWS
from gossamer.objects.enumerations import RESPONSE_OFFSET, Operation
from gossamer.objects.error_mask import MEANINGS, ErrorBit, bits_of_outcome
from gossamer.objects.moments import Moment
from gossamer.objects.operations import FORMS, HOST_FORMS
from gossamer.objects.properties import OWN_PREFIX, SUPPORTED, UNSUPPORTED
from gossamer.objects.record import Record
from gossamer.objects.site import Properties
from gossamer.outcomes import Outcome, name_of

_PLACES: Final = (site, url, content, batch, extras, selection, answers, hosts)
_PLAIN: Final = {
    str: "text",
    int: "number",
    float: "number",
    bool: "true, false",
    object: "anything",
    Moment: "date",
    Properties: "list of Property",
}

_INTRODUCTION: Final = """\
# Objects of the service

This page is made from the source by `make docs`; change the records there.

Requests and answers are JSON. A field that is not known, or is needed and missing, or holds what
does not belong there, is answered with an error that names object, field and what is expected. The
code of an answer is that of its request + {offset}.

* **Dates** are texts: a date such as `2026-11-16 12:00:00` (UTC unless it names a zone), or an
  expression such as `NOW()` or `DATE_ADD(NOW(), INTERVAL 1 DAY)`, also as `{{"str": "NOW()"}}`.
  They are written as `2026-11-16T12:00:00Z`.
* **Site ids** are up to 32 letters, digits, `-` and `_`; empty stands for the general site `0`. A
  site without an id gets the md5 of its first root URL.
* **Root URLs** of a site are texts, or SiteURL objects.
* A **URL** without `type`, `requestDelay`, `processingDelay` or `httpTimeout` gets
  that of its site.
* **Properties** are read from a list of objects, a map of names to values, or a map of names to
  `[siteId, value, urlMd5]`, and written as a list of objects.
* **Filters** may have `type` or `action`; the other one follows.
* **Criterions** are described in [criterions](../decisions/service-criterions.md). `LIMIT` is a
  number, `"10"`, `"5,10"` or `[5, 10]` (offset and count), at most {most}.
* Where a request is a list, one object alone is read as a list of one.
* `states` is read as `statuses`, `criterions` of URLFetch as `urlsCriterions`, `moveUrls` of
  SiteCleanup as `moveURLs`."""


def objects_page() -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _INTRODUCTION.format(offset=RESPONSE_OFFSET, most=MAX_ROWS)
    yield from (
        "",
        "## Operations",
        "",
        "| Operation | Code | Request | Answer |",
        "|---|--:|---|---|",
    )
    yield from (_operation_row(operation) for operation in Operation)
    yield from ("", "## Objects", "", "A field without a default is needed.")
    for kind in _kinds():
        yield from _object_section(kind)
    yield from ("", "## Enumerations", "", "| Name | Values |", "|---|---|")
    yield from (_enumeration_row(each) for each in _enumerations())
    yield from _error_mask()
    yield from _properties()


def _operation_row(operation: Operation) -> str:
    form = FORMS.get(operation) or HOST_FORMS.get(operation)
    if form is None:
        return f"| {operation.name} | {operation.value} | not supported | |"
    request = f"list of {form.request.__name__}" if form.is_list else form.request.__name__
    answer = f"list of {form.answer.__name__}" if form.answers_list else form.answer.__name__
    return f"| {operation.name} | {operation.value} | {request} | {answer} |"


def _kinds() -> list[type[Record]]:
    """Return all records, in the order in which they are written down."""
    found: dict[type[Record], None] = {}
    for place in _PLACES:
        for each in vars(place).values():
            is_record = isinstance(each, type) and issubclass(each, Record) and each is not Record
            if is_record and each.__module__ == place.__name__:
                found[each] = None
    return list(found)


def _object_section(kind: type[Record]) -> Iterator[str]:
    yield from ("", f"### {kind.__name__}", "", (kind.__doc__ or "").strip(), "")
    yield from ("| Field | Kind | Default |", "|---|---|---|")
    hints = get_type_hints(kind)
    for each in msgspec.structs.fields(kind):
        words = _kind_words(hints[each.name])
        yield f"| `{each.encode_name}` | {words} | {_default_words(each)} |"


def _kind_words(hint: Any) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _kind_words(parts[0])
    if origin in (UnionType, Union):
        return " or ".join(dict.fromkeys(_kind_words(p) for p in parts if p is not NoneType))
    if origin is list:
        return f"list of {_kind_words(parts[0])}"
    if origin is tuple:
        return f"[{', '.join(_kind_words(part) for part in parts)}]"
    if origin is dict:
        return f"map of names to {_kind_words(parts[1])}"
    return _PLAIN.get(hint) or str(hint.__name__)


def _default_words(each: msgspec.structs.FieldInfo) -> str:
    if each.required:
        return ""
    value = each.default
    if value is msgspec.NODEFAULT:
        value = each.default_factory()
    if isinstance(value, list | msgspec.Struct):
        plain = msgspec.json.decode(encode(value))
        value = _without_nothing(plain)
    words = encode(value).decode()
    return f"`{words}`" if len(words) < 300 else f"{len(value)} of them"


def _without_nothing(plain: Any) -> Any:
    """Leave out fields that are empty, so that a default fits into a table."""
    if isinstance(plain, dict):
        return {name: value for name, value in plain.items() if value not in (None, "", [])}
    return [_without_nothing(each) for each in plain] if isinstance(plain, list) else plain


def _enumerations() -> list[type[IntEnum] | type[IntFlag]]:
    return [
        each
        for each in vars(enumerations).values()
        if isinstance(each, type)
        and issubclass(each, IntEnum | IntFlag)
        and each not in (IntEnum, IntFlag, Operation)
    ]


def _enumeration_row(each: type[IntEnum] | type[IntFlag]) -> str:
    values = ", ".join(f"{member.name} {int(member)}" for member in each)
    return f"| {each.__name__} | {values} |"


def _error_mask() -> Iterator[str]:
    yield from ("", "## Error mask", "", "| Bit | Meaning | Set by outcomes |", "|--:|---|---|")
    for bit in ErrorBit:
        outcomes = [name_of(each) for each in Outcome if bit in bits_of_outcome(each)]
        named = ", ".join(f"`{name}`" for name in outcomes)
        yield f"| {int(bit)} | {MEANINGS[bit]} | {named} |"


def _properties() -> Iterator[str]:
    yield from (
        "",
        "## Properties of a site",
        "",
        f"Supported, beside names of your own that start with `{OWN_PREFIX}`:",
        "",
    )
    yield ", ".join(f"`{name}`" for name in sorted(SUPPORTED)) + "."
    yield from ("", "A site with one of these is refused:", "", "| Property | Why |", "|---|---|")
    yield from (f"| `{name}` | {reason} |" for name, reason in sorted(UNSUPPORTED.items()))
