"""The grammar of criterions.

Theory of operation. A recursive descent over the words of `tokens.py`, with the precedence of MySQL
from OR down to the unary minus. Only parentheses, signs and calls nest the parser, and it counts
them; chains of operators are loops. The finished tree is measured as well, because everything
after this walks it recursively.
"""

from typing import Final

from gossamer.objects.expressions import (
    Aggregate,
    Between,
    Binary,
    Call,
    Column,
    IsNull,
    Junction,
    Kind,
    Like,
    Literal,
    Macro,
    Membership,
    Node,
    Ordering,
    Select,
    Shift,
    Unary,
    Window,
    children_of,
)
from gossamer.objects.problems import CriterionError
from gossamer.objects.tokens import END, Token, tokens_of
from gossamer.wording import shortened

MAX_DEPTH: Final = 60
MAX_NODES: Final = 2_000

# Fewest and most arguments.
FUNCTIONS: Final = {
    "NOW": (0, 0),
    "CURDATE": (0, 0),
    "UNIX_TIMESTAMP": (0, 1),
    "IFNULL": (2, 2),
    "LENGTH": (1, 1),
    "LOWER": (1, 1),
    "UPPER": (1, 1),
}
_SHIFTS: Final = {"DATE_ADD": 1, "DATE_SUB": -1}
UNITS: Final = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
AGGREGATES: Final = ("COUNT", "MIN", "MAX", "SUM", "AVG")
_COMPARISONS: Final = {"=": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "<>": "<>", "!=": "<>"}
# From the loosest to the tightest, each of them left to right.
_LEVELS: Final = (("|",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "%"))
# Words that are no names, here or in SQL, so that a slip is not taken for a column.
_RESERVED: Final = frozenset(
    {
        "SELECT",
        "FROM",
        "WHERE",
        "ORDER",
        "BY",
        "LIMIT",
        "OFFSET",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "LIKE",
        "IS",
        "NULL",
        "INTERVAL",
        "ASC",
        "DESC",
    }
)


class Parser:
    """Where the reading of one text stands."""

    def __init__(self, field: str, text: str) -> None:
        self._field = field
        self._tokens = tokens_of(field, text)
        self._next = 0
        self._depth = 0

    def finish(self) -> None:
        """Make sure that nothing is left."""
        if self._token.sort != END:
            raise self._error(f"nothing more is expected, but {self._shown()} stands")

    def expression(self) -> Node:
        """OR, the loosest."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"less nesting than {MAX_DEPTH} levels is expected")
        node = self._junction()
        self._depth -= 1
        return node

    def order(self) -> tuple[Ordering, ...]:
        """Parts of ORDER BY, each perhaps with a direction."""
        parts = [self._ordering()]
        while self.takes(","):
            parts.append(self._ordering())
        return tuple(parts)

    def window(self) -> Window:
        """COUNT, or OFFSET, COUNT, or COUNT OFFSET OFFSET."""
        first = self._whole()
        if self.takes(","):
            return Window(self._whole(), first)
        if self._takes_word("OFFSET"):
            return Window(first, self._whole())
        return Window(first)

    def select(self) -> Select:
        """Read a query of one value."""
        self._need_word("SELECT")
        value = self._value()
        self._need_word("FROM")
        position = self._token.position
        table = self.table()
        where = self.expression() if self._takes_word("WHERE") else None
        order: tuple[Ordering, ...] = ()
        if self._takes_word("ORDER"):
            self._need_word("BY")
            order = self.order()
        window = self.window() if self._takes_word("LIMIT") else None
        if where is not None:
            measured(self._field, where)
        return Select(value, table, where, order, window, position)

    def table(self) -> str:
        """Read the name of a table, without that of its database."""
        name = self._name("the name of a table")
        while self.takes("."):
            name = self._name("the name of a table")
        return name.lower()

    def takes(self, sign: str) -> bool:
        """Go on if the next word is this sign."""
        if self._token.sort != "sign" or self._token.text != sign:
            return False
        self._next += 1
        return True

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _junction(self) -> Node:
        parts = [self._conjunction()]
        while self._takes_word("OR") or self.takes("||"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Junction("OR", tuple(parts))

    def _conjunction(self) -> Node:
        parts = [self._negation()]
        while self._takes_word("AND") or self.takes("&&"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else Junction("AND", tuple(parts))

    def _negation(self) -> Node:
        negations = 0
        while self._takes_word("NOT") or self.takes("!"):
            negations += 1
        node = self._comparison()
        for _ in range(negations):
            node = Unary("NOT", node)
        return node

    def _comparison(self) -> Node:
        node = self._level(0)
        while True:
            token = self._token
            if token.sort == "sign" and token.text in _COMPARISONS:
                self._next += 1
                operator = _COMPARISONS[token.text]
                node = Binary(operator, node, self._level(0), token.position)
            elif self._takes_word("IS"):
                negated = self._takes_word("NOT")
                self._need_word("NULL")
                node = IsNull(node, negated)
            elif (test := self._word_test(node)) is not None:
                node = test
            else:
                return node

    def _word_test(self, node: Node) -> Node | None:
        """[NOT] IN, BETWEEN or LIKE after an operand."""
        position = self._token.position
        negated = self._takes_word("NOT")
        if self._takes_word("IN"):
            return Membership(node, self._list(), negated, position)
        if self._takes_word("BETWEEN"):
            low = self._level(0)
            self._need_word("AND")
            return Between(node, low, self._level(0), negated, position)
        if self._takes_word("LIKE"):
            return Like(node, self._level(0), negated, position)
        if negated:
            raise self._error(f"IN, BETWEEN or LIKE is expected, but {self._shown()} stands")
        return None

    def _list(self) -> tuple[Node, ...]:
        self._need("(")
        items = [self.expression()]
        while self.takes(","):
            items.append(self.expression())
        self._need(")")
        return tuple(items)

    def _level(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._signed()
        node = self._level(level + 1)
        while self._token.sort == "sign" and self._token.text in _LEVELS[level]:
            token = self._token
            self._next += 1
            if token.text in "+-" and self._takes_word("INTERVAL"):
                node = self._shift(node, 1 if token.text == "+" else -1, token.position)
            else:
                node = Binary(token.text, node, self._level(level + 1), token.position)
        return node

    def _shift(self, operand: Node, sign: int, position: int) -> Node:
        amount = self.expression()
        unit = self._name("a unit of time").upper()
        if unit not in UNITS:
            raise self._error(f"a unit of {', '.join(UNITS)} is expected before this; it stands")
        return Shift(operand, amount, unit, sign, position)

    def _signed(self) -> Node:
        signs: list[str] = []
        while self._token.sort == "sign" and self._token.text in "-+~":
            signs.append(self._token.text)
            self._next += 1
        node = self._operand()
        for sign in reversed(signs):
            if sign != "+":
                node = Unary(sign, node)
        return node

    def _operand(self) -> Node:
        token = self._token
        if self.takes("("):
            node = self.expression()
            self._need(")")
            return node
        self._next += 1
        match token.sort:
            case "number":
                return Literal(self._number(token), Kind.NUMBER, token.position)
            case "text":
                return Literal(token.text, Kind.TEXT, token.position)
            case "macro":
                return Macro(token.text, token.position)
            case "quoted":
                return self._column(token)
            case "name":
                return self._named(token)
        self._next -= 1
        raise self._error(f"a value is expected, but {self._shown()} stands")

    def _named(self, token: Token) -> Node:
        word = token.text.upper()
        if word == "NULL":
            return Literal(None, Kind.NOTHING, token.position)
        if word in ("TRUE", "FALSE"):
            return Literal(int(word == "TRUE"), Kind.NUMBER, token.position)
        if word in _RESERVED:
            self._next -= 1
            raise self._error(f"a value is expected, but {self._shown()} stands")
        return self._call(word, token) if self.takes("(") else self._column(token)

    def _call(self, name: str, token: Token) -> Node:
        if name in _SHIFTS:
            operand = self.expression()
            self._need(",")
            self._need_word("INTERVAL")
            shift = self._shift(operand, _SHIFTS[name], token.position)
            self._need(")")
            return shift
        if name not in FUNCTIONS:
            known = ", ".join((*FUNCTIONS, *_SHIFTS))
            message = f"{shortened(name, 40)} is no function of {known}; it stands"
            raise CriterionError(self._field, message, token.position)
        arguments: list[Node] = []
        if not self.takes(")"):
            arguments.append(self.expression())
            while self.takes(","):
                arguments.append(self.expression())
            self._need(")")
        fewest, most = FUNCTIONS[name]
        if not fewest <= len(arguments) <= most:
            message = f"{name} has {len(arguments)} arguments, not {fewest} to {most}; it stands"
            raise CriterionError(self._field, message, token.position)
        return Call(name, tuple(arguments), token.position)

    def _column(self, token: Token) -> Column:
        """Read a column: name, table.name or database.table.name."""
        table, name = "", token.text
        while self.takes("."):
            table, name = name, self._name("the name of a column")
        return Column(name.lower(), table.lower(), token.position)

    def _ordering(self) -> Ordering:
        node = measured(self._field, self.expression())
        descending = self._takes_word("DESC")
        if not descending:
            self._takes_word("ASC")
        return Ordering(node, descending)

    def _value(self) -> Node | Aggregate:
        token = self._token
        name = token.text.upper()
        following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        if token.sort != "name" or name not in AGGREGATES or following.text != "(":
            return measured(self._field, self.expression())
        self._next += 2
        argument = None
        if name != "COUNT" or not self.takes("*"):
            argument = measured(self._field, self.expression())
        self._need(")")
        return Aggregate(name, argument, token.position)

    def _number(self, token: Token) -> int | float:
        if token.text.isdecimal():
            number = int(token.text[:20])
            return number if len(token.text) < 20 and number < 1 << 63 else float(token.text)
        return float(token.text)

    def _whole(self) -> int:
        token = self._token
        if token.sort != "number" or not token.text.isdecimal() or len(token.text) > 15:
            raise self._error(f"a whole number is expected, but {self._shown()} stands")
        self._next += 1
        return int(token.text)

    def _name(self, what: str) -> str:
        token = self._token
        if token.sort not in ("name", "quoted"):
            raise self._error(f"{what} is expected, but {self._shown()} stands")
        self._next += 1
        return token.text

    def _takes_word(self, word: str) -> bool:
        if self._token.sort != "name" or self._token.text.upper() != word:
            return False
        self._next += 1
        return True

    def _need_word(self, word: str) -> None:
        if not self._takes_word(word):
            raise self._error(f"{word} is expected, but {self._shown()} stands")

    def _need(self, sign: str) -> None:
        if not self.takes(sign):
            raise self._error(f"{sign!r} is expected, but {self._shown()} stands")

    def _shown(self) -> str:
        token = self._token
        return "the end" if token.sort == END else repr(shortened(token.text, 40))

    def _error(self, expected: str) -> CriterionError:
        return CriterionError(self._field, expected, self._token.position)


def measured(field: str, node: Node) -> Node:
    """Return the tree if it is neither too deep nor too large."""
    level, nodes, depth = [node], 0, 0
    while level:
        nodes += len(level)
        depth += 1
        if nodes > MAX_NODES or depth > MAX_DEPTH:
            raise CriterionError(
                field, f"at most {MAX_NODES} parts, nested {MAX_DEPTH} deep, are expected"
            )
        level = [child for parent in level for child in children_of(parent)]
    return node
