"""What an XPath costs at most on a page, reckoned from its tokens before it runs.

Theory of operation: a query runs inside the HTML library and cannot be stopped there, and some
cost the square or the cube of a page's size. So each XPath is read as a row of tokens, and what it
may cost at most on a page of this many elements, this depth and this much text is added up from
measured prices. Prices are upper bounds: an ordinary rule on an ordinary page costs some
milliseconds by them, too.

The axes that look around an element (following, preceding, ancestor and the siblings) are dear only
when asked of many elements at once, so it is also said where a path can be cut to ask of one at a
time.
"""

import re
from typing import Final

from msgspec import Struct

_MAX_NESTING: Final = 32
# Seconds for each element looked at, for each pair of elements behind a preceding axis, of a union
# and of a comparison, for each three of a path that is not cut, and for each character of text put
# together: measured with turbohtml 1.15 and rounded up.
_VISIT: Final = 60e-9
_BACK: Final = 10e-9
_UNION: Final = 5e-9
_COMPARISON: Final = 20e-9
_CUBE: Final = 3e-9
_CHARACTER: Final = 1.5e-9
_NAME: Final = r"[^\W\d][\w.-]*+"
TOKEN: Final = re.compile(
    r"""(?P<string>"[^"]*"|'[^']*')|(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<sweep>//)|(?P<up>\.\.)"""
    rf"""|(?P<axis>{_NAME})\s*::|(?P<call>{_NAME}(?::{_NAME})?)\s*\("""
    rf"""|(?P<name>{_NAME}(?::(?:{_NAME}|\*))?)|(?P<sign>\S)"""
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
_BEGINNING: Final = frozenset(("", "[", "(", ","))
_WORD_OPERATORS: Final = ("and", "or", "div", "mod", "-")
_OPERATORS: Final = frozenset(("|", "=", "<", ">", "!", "+", "*", *_WORD_OPERATORS))
_LITERAL_BEFORE: Final = re.compile(r"(?:[\"']|[\s(\[,]\d+)\s*[!<>]?\Z")
_LITERAL_AFTER: Final = re.compile(r"=?\s*[\"'\d-]|=?\s*(?:last|true|false)\s*\(")


class QueryError(Exception):
    """A rule cannot be used on this page; says why."""


class RegularExpressionError(QueryError):
    """A rule uses regular expressions, which have no limit of time here."""


class Shape(Struct, frozen=True):
    """What the price of a query depends on."""

    elements: int
    depth: int
    characters: int


class Plan(Struct):
    """What an XPath does, as far as its price depends on it."""

    steps: list[tuple[str, int]]
    """What is dear, and in how many predicates it stands."""
    cuts: list[int]
    """Where a path is cut: at each slash from the first before an axis that looks around."""
    around: list[str] = []
    """What is dear when it is not cut."""

    def uncut(self) -> "Plan":
        """Return the plan of the same path if it is asked as a whole."""
        return Plan([(kind, 0) for kind in self.around] + self.steps, [])

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
                times[level:] = [times[level - 1] * reach[level - 1] * (count if level == 1 else 1)]
                reach[level:] = [1.0]
                total += times[level] * (_VISIT + all_texts * _CHARACTER / count)
            elif kind == "down":
                looked_at = count if level == 0 else depth * reach[level]
                reach[level] = max(reach[level], depth if level else 1)
                total += times[level] * looked_at * _VISIT
            elif kind in ("|", "="):
                each = _UNION if kind == "|" else _COMPARISON
                total += times[level] * count * count * each
            elif kind == "first back":
                total += count * count * _BACK
            elif level == 0 and kind != "up":
                # Not cut: asked of up to all elements at once, and so are predicates behind it.
                reach[0] = count
                total += count**3 * _CUBE
            elif level:
                reach[level] = count
                looked_at = count * count if kind == "back" else count
                total += times[level] * (looked_at * _VISIT + text * _CHARACTER)
        return total


def read_expression(expression: str) -> Plan:
    """Return what an XPath does; QueryError if it calls what is not allowed here."""
    plan = Plan([], [])
    reader = _Reader()
    for match in TOKEN.finditer(expression):
        reader.read(match, plan, expression)
        if reader.level < 0 or reader.level + reader.parens > _MAX_NESTING:
            raise QueryError(f"XPath {expression[:100]!r}: brackets do not match, or are too deep")
    plan.around = reader.around
    if not reader.is_one_path:
        return plan.uncut()
    plan.cuts = reader.slashes
    return plan


class _Reader:
    """Reads the tokens of an XPath, one after the other."""

    def __init__(self) -> None:
        self.level = 0
        """In how many predicates."""
        self.parens = 0
        self.around: list[str] = []
        self.slashes: list[int] = []
        self.is_one_path = True
        """There is no operator between paths, so that the path may be cut."""
        self._before = ""
        self._slash = -1

    def read(self, match: re.Match[str], plan: Plan, expression: str) -> None:
        """Take the next token."""
        kind, word = match.lastgroup, match[0]
        before, slash, self._slash = self._before, self._slash, -1
        outside = self.level == 0 and self.parens == 0
        if kind == "call":
            _check_function(match["call"])
            self.parens += 1
            self.is_one_path &= not (outside and before == "")
            self._before = "("
            return
        if word in ("/", "//"):
            self._read_slash(match, plan)
            return
        if kind == "axis":
            self._read_axis(_axis_kind(match["axis"]), plan, slash if outside else -1)
        elif kind == "up":
            plan.steps += [("up", self.level)] if self.level else []
        elif word == "[":
            self.level += 1
            plan.steps.append(("[", self.level))
        elif word == "]":
            self.level -= 1
        elif word == "(":
            self.parens += 1
            self.is_one_path &= not outside
        elif word == ")":
            self.parens -= 1
        elif word == "|" or (word in ("=", "<", ">") and _compares_nodes(expression, match)):
            plan.steps.append(("|" if word == "|" else "=", self.level))
        self._before = _last(before, word, kind)
        if outside and self._before in _OPERATORS:
            self.is_one_path = False

    def _read_slash(self, match: re.Match[str], plan: Plan) -> None:
        begins = self._before in _BEGINNING or self._before in _OPERATORS
        if begins and self.level:
            plan.steps.append(("root", self.level))
        elif match[0] == "//":
            plan.steps.append(("down", self.level))
        if self.level == 0 and self.parens == 0 and not begins:
            self._slash = match.start()
            if self.around:
                self.slashes.append(match.start())
        self._before = "/"

    def _read_axis(self, kind: str, plan: Plan, slash: int) -> None:
        if kind in ("around", "back") and slash >= 0:
            if not self.around:
                self.slashes.append(slash)
            self.around.append(kind)
        elif kind == "back" and self.level == 0 and self._before == "":
            # The first step of all is asked of one element only.
            plan.steps.append(("first back", 0))
        elif kind in ("around", "up") and self.level == 0 and self._before == "":
            pass
        elif kind:
            plan.steps.append((kind, self.level))


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
    is_operand = before not in _BEGINNING and before not in (*_OPERATORS, "/", "::", "@")
    if word == "*":
        return "*" if is_operand else "name"
    if kind == "name" and word in _WORD_OPERATORS and is_operand:
        return word
    if kind == "axis":
        return "::"
    return word if kind == "sign" or word == "-" else "name"


def _compares_nodes(expression: str, sign: re.Match[str]) -> bool:
    """Whether neither side of a comparison is a literal, so that two sets may be compared."""
    return not (
        _LITERAL_BEFORE.search(expression, max(0, sign.start() - 40), sign.start())
        or _LITERAL_AFTER.match(expression, sign.end())
    )


def _check_function(name: str) -> None:
    if _REGULAR.search(name):
        raise RegularExpressionError(f"regular expressions ({name[:40]}) are not allowed in a rule")
    if name not in _FUNCTIONS:
        raise QueryError(f"function {name[:40]!r} is not known")


def is_balanced(text: str) -> bool:
    """Whether a parenthesis before the text is closed by one behind it."""
    level = 0
    for match in TOKEN.finditer(text):
        if match["call"] or match[0] == "(":
            level += 1
        elif match[0] == ")":
            level -= 1
            if level < 0:
                return False
    return level == 0
