"""What handlers note of a page or an asset, and their names.

Apart from the handlers: who only reads what they noted need not load what they understand pages by.
"""

from typing import Final

from msgspec import Struct, field

HANDLER: Final = "gossamer.site.observe:observe"
"""The name under which a worker finds the handler of pages."""
WEIGHER: Final = "gossamer.site.observe:weigh"
"""And that of assets that are only looked at."""


class Observation(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What only the document itself tells."""

    sha256: str = ""
    """Of the body, in hexadecimal; empty when there is none."""
    assets: dict[str, list[str]] = field(default_factory=dict)
    """By kind, without the kinds of which there are none."""
    description: str | None = None
    canonical: str | None = None
    languages: dict[str, str] = field(default_factory=dict)
    noindex: bool = False
    nofollow: bool = False


class Weight(Struct, omit_defaults=True):
    """How large an asset is."""

    bytes: int = 0
