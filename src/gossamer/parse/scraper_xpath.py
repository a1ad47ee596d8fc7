"""XPath and CSS on a page, within a limit of time.

What may take too long is refused before it runs (scraper_expression.py, scraper_css.py). A path
with an axis that looks around is cut from that step on, and each further step is taken from one
element at a time, so that the clock is looked at in between; what the steps find is put into the
order of the page, as XPath does.
"""

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import islice
from typing import Final, cast

from turbohtml import Document as Tree
from turbohtml import Element, Node, XPath, parse

from gossamer.parse.flood import cut_flood
from gossamer.parse.scraper_css import selector_price
from gossamer.parse.scraper_expression import (
    Plan,
    QueryError,
    Shape,
    is_balanced,
    read_expression,
)

MAX_EXPRESSION: Final = 1_000
MAX_NODES: Final = 1_000
"""Found by one rule; further ones are left out."""
_MAX_CONTEXTS: Final = 2_000
_NUMBERED: Final = re.compile(r"\((.*)\)\[(\d{1,6})\]\Z", re.DOTALL)
_CSS_TAIL: Final = re.compile(r"::(text|attr\(\s*([\w:-]{1,64})\s*\))\Z")

Found = Element | str


class LateError(Exception):
    """The time for the page is over."""


class Query:
    """Asks one tree, with a limit to what a question may cost."""

    def __init__(
        self, tree: Tree, shape: Shape, dearest: float, is_late: Callable[[], bool]
    ) -> None:
        self._tree = tree
        self._shape = shape
        self._dearest = dearest
        self._is_late = is_late

    def xpath(self, expression: str) -> list[Found]:
        """Return what an XPath finds, in the order of the page; QueryError if it cannot be used."""
        numbered = _NUMBERED.fullmatch(expression.strip())
        if numbered and is_balanced(numbered[1]):
            found = self._ask(numbered[1])
            return found[int(numbered[2]) - 1 : int(numbered[2])] if int(numbered[2]) else []
        return self._ask(expression)

    def css(self, selector: str) -> list[Found]:
        """Return what a CSS selector finds; it may end in ::text or ::attr(name)."""
        _check_length(selector)
        self._check_clock()
        tail = _CSS_TAIL.search(selector)
        shape = self._shape
        if selector_price(selector, shape.elements, shape.depth) > self._dearest:
            raise _too_dear(f"selector {selector[:100]!r}", shape.elements)
        try:
            elements = self._tree.select(selector[: tail.start()] if tail else selector)
        except (ValueError, RecursionError) as error:
            raise QueryError(f"{error}") from error
        elements = elements[:MAX_NODES]
        if not tail or tail[1] == "text":
            # Texts are taken one by one where they are used: nested elements repeat theirs.
            return list(elements)
        return [value for each in elements if (value := attribute_of(each, tail[2]))]

    def _ask(self, expression: str) -> list[Found]:
        _check_length(expression)
        self._check_clock()
        plan = read_expression(expression)
        if not plan.cuts:
            return self._evaluate(self._tree, expression, plan)
        try:
            # A step that is never taken would never be found to be wrong.
            XPath(expression)
        except (ValueError, RecursionError) as error:
            raise QueryError(f"XPath {expression[:100]!r}: {error}") from error
        cuts = plan.cuts
        start = expression[: cuts[0]]
        found = self._evaluate(self._tree, start, read_expression(start))
        for cut, end in zip(cuts, [*cuts[1:], len(expression)], strict=True):
            if not all(isinstance(one, Element) for one in found):
                # Steps from texts and attributes can be taken inside the library only.
                return self._evaluate(self._tree, expression, plan.uncut())
            step = expression[cut:end].lstrip("/")
            if expression.startswith("//", cut):
                found = self._step(found, "descendant-or-self::*")
            found = self._step(found, step)
        return found[:MAX_NODES]

    def _step(self, contexts: list[Found], step: str) -> list[Found]:
        """Take one step of a path from each of some elements, as XPath would from all at once."""
        plan = read_expression(step)
        elements: dict[Element, None] = {}
        texts: list[Found] = []
        for context in islice((one for one in contexts if isinstance(one, Element)), _MAX_CONTEXTS):
            self._check_clock()
            for one in self._evaluate(context, step, plan):
                if isinstance(one, Element):
                    elements[one] = None
                else:
                    texts.append(one)
        return [*sorted(elements, key=self._order.__getitem__), *texts]

    @cached_property
    def _order(self) -> dict[Element, int]:
        """The elements of the page, numbered."""
        root = self._tree.root
        within = () if root is None else (root, *root.iter_elements())
        return {element: number for number, element in enumerate(dict.fromkeys(within))}

    def _evaluate(self, context: Tree | Element, expression: str, plan: Plan) -> list[Found]:
        if plan.price(self._shape) > self._dearest:
            raise _too_dear(f"XPath {expression[:100]!r}", self._shape.elements)
        try:
            found = cast("object", context.xpath(expression))
        except (ValueError, TypeError, RecursionError, MemoryError) as error:
            raise QueryError(f"XPath {expression[:100]!r}: {error}") from error
        if isinstance(found, list):
            return [_usable(one) for one in found[:_MAX_CONTEXTS]]
        if isinstance(found, bool):
            return ["1"] if found else []
        if isinstance(found, float):
            return [str(int(found)) if found.is_integer() else str(found)]
        return [str(found)]

    def _check_clock(self) -> None:
        if self._is_late():
            raise LateError


def attribute_of(element: Element, name: str) -> str:
    """Return the value of an attribute as text, "" if there is none."""
    value = element.attrs.get(name)
    return " ".join(value) if isinstance(value, list) else value or ""


def tree_of(body: bytes, charset: str) -> Tree:
    """Parse; a charset label that the Encoding standard does not know counts as none."""
    body = cut_flood(body, charset)[0]
    try:
        return parse(body, positions=False, encoding=charset or None)
    except LookupError:
        return parse(body, positions=False)


def shape_of(tree: Tree, characters: int) -> Shape:
    """Return how large a page is and how deep it is nested."""
    level: list[Element] = [tree.root] if tree.root is not None else []
    elements = depth = 0
    while level:
        depth += 1
        elements += len(level)
        level = [each for one in level for each in _element_children(one)]
    return Shape(elements, depth, characters)


def _too_dear(what: str, elements: int) -> QueryError:
    return QueryError(f"{what} may take too long on a page of {elements} elements")


def _usable(one: object) -> Found:
    """Return what a rule can use of what XPath found: elements, and all else as text."""
    if isinstance(one, Element):
        return one
    return one.text if isinstance(one, Node) else str(one)


def _element_children(element: Element) -> Iterable[Element]:
    return (each for each in element.children if isinstance(each, Element))


def _check_length(expression: str) -> None:
    if not expression.strip():
        raise QueryError("a rule has no target")
    if len(expression) > MAX_EXPRESSION:
        raise QueryError(f"a target has more than {MAX_EXPRESSION} characters")
