"""What a CSS selector may cost at most, before it is used.

The HTML library takes about the same time for each element, whatever its ancestors and siblings,
but for these: a selector with combinators inside of :is(), :not(), :where() or :has() goes up or
down the page again for each element, counting by type goes over all siblings, and so does :has()
with siblings. Prices were measured with turbohtml 1.15 and rounded up.
"""

import re
from typing import Final

_STEP: Final = 1e-9
_COUNTING: Final = 3e-9
_SIBLINGS: Final = 20e-9
_FUNCTION: Final = re.compile(r":(is|where|not|has|nth-child|nth-last-child)\(", re.IGNORECASE)
_BY_TYPE: Final = re.compile(r"-of-type|:only-|\bof\s", re.IGNORECASE)
_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'|\[[^\]]*\]")
_COMBINATOR: Final = re.compile(r"[^\s,(][\s>+~]+[^\s,)>+~]|^\s*[>+~]")


def selector_price(selector: str, elements: int, depth: int) -> float:
    """Return how many seconds a selector takes at most on a page of this size."""
    bare = _QUOTED.sub("x", selector)
    dear = 0
    has_siblings = False
    for function in _FUNCTION.finditer(bare):
        inside = _inside(bare, function.end())
        name = function[1].lower()
        if name == "has":
            dear += 1
            has_siblings |= "~" in inside or "+" in inside
        elif not name.startswith("nth") and _COMBINATOR.search(inside):
            dear += 1
    # A float, for a hostile selector names more functions than an int has room for.
    total = _STEP * elements * float(max(1, depth)) ** min(dear + 1, 16)
    total += len(_BY_TYPE.findall(bare)) * _COUNTING * elements * elements
    return total + has_siblings * _SIBLINGS * elements * elements


def _inside(selector: str, start: int) -> str:
    """Return what stands between a parenthesis that was opened and its end."""
    level = 1
    for position in range(start, len(selector)):
        level += (selector[position] == "(") - (selector[position] == ")")
        if not level:
            return selector[start:position]
    return selector[start:]
