"""Conditions, orders, dates, numbers and JSON in the properties of a site, checked when set."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from gossamer.objects.columns import SITE_COLUMNS, URL_COLUMNS, by_lower_name
from gossamer.objects.criterions import parse_condition, parse_moment, parse_order
from gossamer.objects.problems import CriterionError, ObjectError
from gossamer.objects.resolution import Scope, resolve_condition, resolve_moment, resolve_value
from gossamer.wording import shortened

SITE_MACRO: Final = "SITE_ID"
PERIOD_MACRO: Final = "RECRAWL_PERIOD"
_SCOPE: Final = Scope(
    {name: form.kind for name, form in by_lower_name(URL_COLUMNS).items()},
    now=1_800_000_000.0,
    tables=frozenset({"urls"}),
    macros={SITE_MACRO: "0", PERIOD_MACRO: 1},
)
_SITE_SCOPE: Final = Scope(
    {name: form.kind for name, form in by_lower_name(SITE_COLUMNS).items()},
    now=1_800_000_000.0,
    tables=frozenset({"sites"}),
    macros={SITE_MACRO: "0"},
)
_SHOWN: Final = 100


def condition_check(name: str) -> Callable[[str], None]:
    """Return a check of a property that is a condition on URLs."""
    return _check(name, lambda text: resolve_condition(parse_condition(text, name), _SCOPE, name))


def site_condition_check(name: str) -> Callable[[str], None]:
    """Return a check of a property that is a condition on sites."""
    return _check(
        name, lambda text: resolve_condition(parse_condition(text, name), _SITE_SCOPE, name)
    )


def moment_check(name: str) -> Callable[[str], None]:
    """Return a check of a property that is a date, perhaps made of columns of a URL."""
    return _check(name, lambda text: resolve_moment(parse_moment(text), _SCOPE, name))


def order_check(name: str) -> Callable[[str], None]:
    """Return a check of a property that is an order of URLs."""

    def resolved(text: str) -> None:
        for part in parse_order(text, name):
            resolve_value(part.node, _SCOPE, name)

    return _check(name, resolved)


def number_check(name: str, allowed: range | frozenset[int]) -> Callable[[str], None]:
    """Return a check of a property that is a whole number."""

    def check(text: str) -> None:
        bare = text.strip()
        if bare and not (
            bare.isascii() and bare.isdecimal() and len(bare) < 10 and int(bare) in allowed
        ):
            if isinstance(allowed, range):
                words = f"a whole number from {allowed[0]} to {allowed[-1]}"
            else:
                words = "one of " + ", ".join(map(str, sorted(allowed)))
            raise ObjectError("Property", name, f"{words} is expected")

    return check


def json_check(name: str, kind: Any, expected: str) -> Callable[[str], None]:
    """Return a check of a property that is JSON of some kind."""
    decoder = msgspec.json.Decoder(kind)

    def check(text: str) -> None:
        if text.strip():
            try:
                decoder.decode(text)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                why = shortened(str(error), _SHOWN)
                raise ObjectError("Property", name, f"{expected} is expected ({why})") from None

    return check


def _check(name: str, resolve: Callable[[str], object]) -> Callable[[str], None]:
    def check(text: str) -> None:
        if text.strip():
            try:
                resolve(text)
            except CriterionError as error:
                raise ObjectError("Property", name, error.expected) from None

    return check
