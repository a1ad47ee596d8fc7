"""Link headers (RFC 8288): what a server says in the place of link elements."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from gossamer.url.header import reference_in_header

_MAX_HEADERS: Final = 64
_MAX_HEADER: Final = 65_536
# A quoted text whose end is missing goes on to the end of the header; nothing is ever given back.
_QUOTED: Final = r'"((?>[^"\\]++|\\.)*+)\\?(?:"|\Z)'
_LINK: Final = re.compile(rf'<([^<>]++)>((?>[^,<"]++|{_QUOTED})*+)', re.DOTALL)
_PARAMETER: Final = re.compile(
    rf';\s*+([^\s=;,"]++)\s*+(?:=\s*+(?:{_QUOTED}|([^\s;,"]*+)))?', re.DOTALL
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class HeaderLink(NamedTuple):
    """One link of a header."""

    reference: str
    """As written."""
    parameters: dict[str, str]
    """By their names in lower case; of two with the same name the first counts."""

    def parameter(self, name: str) -> str:
        """Return the value of a parameter, "" if it is not there."""
        return self.parameters.get(name, "")

    @property
    def relations(self) -> list[str]:
        """The words of its rel in lower case."""
        return self.parameter("rel").lower().split()


def links_in(values: Iterable[str]) -> Iterator[HeaderLink]:
    """Yield the links in the values of Link headers, but for those of something else (`anchor`)."""
    for value in islice(values, _MAX_HEADERS):
        for found in _LINK.finditer(reference_in_header(value[:_MAX_HEADER])):
            link = HeaderLink(found[1].strip(), _parameters(found[2]))
            if link.reference and "anchor" not in link.parameters:
                yield link


def _parameters(text: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, quoted, token in _PARAMETER.findall(text):
        parameters.setdefault(name.lower(), _ESCAPED.sub(r"\1", quoted) or token)
    return parameters
