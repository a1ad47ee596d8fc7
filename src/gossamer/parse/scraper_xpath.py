"""XPath and CSS on a page, with a price that is known before anything is looked for.

Theory of operation: a query runs inside the HTML library and cannot be stopped there, and some
cost the square or the cube of a page's size. So each XPath is read as a row of tokens, and what it
may cost at most on a page of this many elements, this depth and this much text is added up from
measured prices; what would be too dear is refused. Prices are upper bounds: an ordinary rule on an
ordinary page costs some milliseconds by them, too.

The axes that look around an element (following, preceding, ancestor and the siblings) are dear only
when asked of many elements at once. A path is cut before each such step and goes on from one
element at a time, so that the clock is looked at in between.
"""

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, cast

from msgspec import Struct
from turbohtml import Document as Tree
from turbohtml import Element

MAX_EXPRESSION: Final = 1_000
MAX_NODES: Final = 1_000
"""Found by one rule; further ones are left out."""
_MAX_CONTEXTS: Final = 2_000
_MAX_NESTING: Final = 32
# Seconds for each element looked at, each element behind a preceding axis, each byte of text put
# together; the last digits of measurements with turbohtml 1.15 on two elderly cores, rounded up.
_VISIT: Final = 60e-9
_BACK: Final = 10e-9
_UNION: Final = 5e-9
_COMPARISON: Final = 20e-9
_CUBE: Final = 3e-9
_CHARACTER: Final = 0.4e-9
_TOKEN: Final = re.compile(
    r"""(?P<string>"[^"]*"|'[^']*')|(?P<axis>[a-z-]+)\s*::|(?P<sweep>//)|(?P<up>\.\.)"""
    r"""|(?P<call>[\w:.-]+)\s*\(|(?P<name>[\w:.-]+)|(?P<sign>[^\s\w])"""
)
_AROUND: Final = frozenset(("following", "following-sibling", "preceding", "preceding-sibling"))
_UP: Final = frozenset(("ancestor", "ancestor-or-self"))
_DOWN: Final = frozenset(("descendant", "descendant-or-self"))
_NEAR: Final = frozenset(("attribute", "child", "self"))
_FUNCTIONS: Final = frozenset((
    "and", "boolean", "ceiling", "comment", "concat", "contains", "count", "div", "ends-with",
    "false", "floor", "lang", "last", "local-name", "lower-case", "mod", "name", "node",
    "normalize-space", "not", "number", "or", "position", "processing-instruction", "round",
    "starts-with", "string", "string-join", "string-length", "substring", "substring-after",
    "substring-before", "sum", "text", "translate", "true", "upper-case",
))  # fmt: skip
_REGULAR: Final = re.compile(r"(?:^|:)(?:matches|replace|tokenize|test|match|analyze-string)$")
# After one of these a path cannot go on, so a slash begins a new one at the root.
_BEGINNING: Final = frozenset(("", "[", "(", ",", "|", "=", "<", ">", "!", "+", "-", "*op"))
_NUMBERED: Final = re.compile(r"\((.*)\)\[(\d{1,6})\]\Z", re.DOTALL)
_CSS_TAIL: Final = re.compile(r"::(text|attr\(\s*([\w:-]{1,64})\s*\))\Z")

_LITERAL_BEFORE: Final = re.compile(r"(?:[\"']|[\s(\[,]\d+)\s*[!<>]?\Z")
_LITERAL_AFTER: Final = re.compile(r"=?\s*[\"'\d-]|=?\s*(?:last|true|false)\s*\(")

Found = Element | str


class QueryError(Exception):
    """A rule cannot be used on this page; says why."""


class PatternError(QueryError):
    """A rule uses regular expressions, which have no limit of time here."""


class LateError(Exception):
    """The time for the page is over."""


class Shape(Struct, frozen=True):
    """What the price of a query depends on."""

    elements: int
    depth: int
    characters: int


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
        if numbered and _is_balanced(numbered[1]):
            found = self._ask(self._tree, numbered[1])
            return found[int(numbered[2]) - 1 : int(numbered[2])] if int(numbered[2]) else []
        return self._ask(self._tree, expression)

    def css(self, selector: str) -> list[Found]:
        """Return what a CSS selector finds; it may end in ::text or ::attr(name)."""
        _check_length(selector)
        self._check_clock()
        tail = _CSS_TAIL.search(selector)
        try:
            elements = self._tree.select(selector[: tail.start()] if tail else selector)
        except (ValueError, RecursionError) as error:
            raise QueryError(f"{error}") from error
        elements = elements[:MAX_NODES]
        if not tail:
            return list(elements)
        if tail[1] == "text":
            return [element.text for element in elements]
        return [value for each in elements if (value := attribute_of(each, tail[2]))]

    def _ask(self, context: Tree | Element, expression: str) -> list[Found]:
        _check_length(expression)
        self._check_clock()
        plan = read_expression(expression)
        if not plan.around:
            return self._evaluate(context, expression, plan)
        start, kind = plan.around[0]
        contexts = self._evaluate(context, expression[:start], read_expression(expression[:start]))
        found: dict[object, Found] = {}
        for each in islice((one for one in contexts if isinstance(one, Element)), _MAX_CONTEXTS):
            for one in self._ask_around(each, expression[start + 1 :], kind):
                found.setdefault(one if isinstance(one, Element) else len(found), one)
            if len(found) >= MAX_NODES:
                break
        return list(found.values())[:MAX_NODES]

    def _ask_around(self, context: Element, expression: str, kind: str) -> list[Found]:
        """Go on from one element; the first step of the expression is the dear one."""
        elements = self._shape.elements
        if kind == "back" and elements * elements * _BACK > self._dearest:
            raise _too_dear(expression, elements)
        return self._ask(context, expression)

    def _evaluate(self, context: Tree | Element, expression: str, plan: "Plan") -> list[Found]:
        if plan.price(self._shape) > self._dearest:
            raise _too_dear(expression, self._shape.elements)
        try:
            found = cast("object", context.xpath(expression))
        except (ValueError, TypeError, RecursionError, MemoryError) as error:
            raise QueryError(f"XPath {expression[:100]!r}: {error}") from error
        if isinstance(found, list):
            return [one if isinstance(one, Element) else str(one) for one in found[:_MAX_CONTEXTS]]
        if isinstance(found, bool):
            return ["1"] if found else []
        if isinstance(found, float):
            return [str(int(found)) if found.is_integer() else str(found)]
        return [str(found)]

    def _check_clock(self) -> None:
        if self._is_late():
            raise LateError


class Plan(Struct):
    """What an XPath does, as far as its price depends on it."""

    steps: list[tuple[str, int]]
    """What is dear, and in how many predicates it stands."""
    around: list[tuple[int, str]]
    """Where the path can be cut: the slash before an axis that looks around, and its kind."""

    def price(self, shape: Shape) -> float:
        """Return how many seconds the query takes at most."""
        count, depth = max(1, shape.elements), max(1, shape.depth)
        text = shape.characters
        all_texts = text * depth
        # How often the inside of a predicate is evaluated, and how many elements each path in it
        # may have reached, by the nesting of predicates.
        times = [1.0]
        reach = [1.0]
        total = 0.0
        for kind, level in self.steps:
            del times[level + 1 :], reach[level + 1 :]
            if kind == "[":
                times[level:] = [times[level - 1] * (count if level == 1 else reach[level - 1])]
                reach[level:] = [1.0]
                total += times[level] * (_VISIT + all_texts * _CHARACTER / count)
            elif kind == "down":
                looked_at = count if level == 0 else depth * reach[level]
                reach[level] = max(reach[level], depth)
                total += times[level] * looked_at * _VISIT
            elif kind in ("|", "="):
                each = _UNION if kind == "|" else _COMPARISON
                total += times[level] * count * count * each
            elif level == 0 and kind != "up":
                # Not cut: asked of up to all elements at once.
                total += count**3 * _CUBE
            elif level:
                reach[level] = count
                looked_at = count * count if kind == "back" else count
                total += times[level] * (looked_at * _VISIT + text * _CHARACTER)
        return total


def read_expression(expression: str) -> Plan:
    """Return what an XPath does; QueryError if it calls what is not allowed here."""
    plan = Plan([], [])
    level = parens = 0
    before = ""
    slash = -1
    for match in _TOKEN.finditer(expression):
        kind, word = match.lastgroup, match[0]
        if kind == "call":
            word = match["call"]
            _check_function(word)
            parens += 1
            before, slash = "(", -1
            continue
        if kind == "axis":
            axis = match["axis"]
            dear = _axis_kind(axis)
            if slash >= 0 and level == 0 and parens == 0 and dear in ("around", "back"):
                plan.around.append((slash, dear))
            elif dear == "down" or (dear and before) or level:
                # As the first step of all, an axis is asked of one element only.
                plan.steps += [(dear, level)] if dear else []
        elif kind == "sweep" or (word == "/" and kind == "sign"):
            if before in _BEGINNING and level:
                plan.steps.append(("root", level))
            elif kind == "sweep":
                plan.steps.append(("down", level))
            slash = match.start() if kind == "sign" and before not in _BEGINNING else -1
            before = "/"
            continue
        elif kind == "up":
            if level:
                plan.steps.append(("up", level))
        elif word == "[":
            level += 1
            plan.steps.append(("[", level))
        elif word == "]":
            level -= 1
        elif word == "(":
            parens += 1
        elif word == ")":
            parens -= 1
        elif word == "|" or (word in ("=", "<", ">") and _compares_nodes(expression, match)):
            plan.steps.append(("|" if word == "|" else "=", level))
        if level < 0 or level + parens > _MAX_NESTING:
            raise QueryError(f"XPath {expression[:100]!r}: brackets do not match, or are too deep")
        before, slash = _last(before, word, kind), -1
    # An alternative is a path of its own, and a cut would tear it off.
    if ("|", 0) in plan.steps:
        plan.steps += [(kind, 0) for _, kind in plan.around]
        plan.around = []
    return plan


def attribute_of(element: Element, name: str) -> str:
    """Return the value of an attribute as text, "" if there is none."""
    value = element.attrs.get(name)
    return " ".join(value) if isinstance(value, list) else value or ""


def shape_of(tree: Tree, characters: int) -> Shape:
    """Return how large a page is and how deep it is nested."""
    level: list[Element] = [tree.root] if tree.root is not None else []
    elements = depth = 0
    while level:
        depth += 1
        elements += len(level)
        level = [each for one in level for each in _element_children(one)]
    return Shape(elements, depth, characters)


def _element_children(element: Element) -> Iterable[Element]:
    return (each for each in element.children if isinstance(each, Element))


def _axis_kind(axis: str) -> str:
    if axis in _AROUND:
        return "back" if axis.startswith("preceding") else "around"
    if axis in _UP:
        return "around"
    if axis in _DOWN:
        return "down"
    if axis == "parent":
        return "up"
    if axis in _NEAR:
        return ""
    raise QueryError(f"axis {axis[:40]!r} is not known")


def _last(before: str, word: str, kind: str | None) -> str:
    """Return the token, told apart from its like where a path may or may not go on after it."""
    if kind == "sign" and word == "*":
        return "name" if before in (*_BEGINNING, "/", "::", "@") else "*op"
    if kind == "name" and word in ("and", "or", "div", "mod") and before not in (*_BEGINNING, "/"):
        return ""
    return "::" if kind == "axis" else word if kind == "sign" else "name"


def _compares_nodes(expression: str, sign: re.Match[str]) -> bool:
    """Whether neither side of a comparison is a literal, so that two sets may be compared."""
    return not (
        _LITERAL_BEFORE.search(expression, max(0, sign.start() - 40), sign.start())
        or _LITERAL_AFTER.match(expression, sign.end())
    )


def _check_function(name: str) -> None:
    if _REGULAR.search(name):
        raise PatternError(f"regular expressions ({name[:40]}) are not allowed in a rule")
    if name not in _FUNCTIONS and not name.isdecimal():
        raise QueryError(f"function {name[:40]!r} is not known")


def _check_length(expression: str) -> None:
    if not expression.strip():
        raise QueryError("a rule has no target")
    if len(expression) > MAX_EXPRESSION:
        raise QueryError(f"a target has more than {MAX_EXPRESSION} characters")


def _is_balanced(text: str) -> bool:
    """Whether a parenthesis before the text is closed by one behind it."""
    level = 0
    for match in _TOKEN.finditer(text):
        if match["call"] or match[0] == "(":
            level += 1
        elif match[0] == ")":
            level -= 1
            if level < 0:
                return False
    return level == 0


def _too_dear(expression: str, elements: int) -> QueryError:
    return QueryError(
        f"XPath {expression[:100]!r} may take too long on a page of {elements} elements"
    )
