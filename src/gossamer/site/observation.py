"""What handlers note of a page or an asset, and their names.

Apart from the handlers: who only reads what they noted need not load what they understand pages by.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Raw, Struct, field

HANDLER: Final = "gossamer.site.observe:observe"
"""The name under which a worker finds the handler of pages."""
WEIGHER: Final = "gossamer.site.observe:weigh"
"""And that of assets that are only looked at."""


class _Noted(Struct, omit_defaults=True, forbid_unknown_fields=True):
    sha256: str = ""
    """Of the body, in hexadecimal; empty when there is none."""
    description: str | None = None
    canonical: str | None = None
    languages: dict[str, str] = field(default_factory=dict)
    noindex: bool = False
    nofollow: bool = False


class Observation(_Noted):
    """What only the document itself tells."""

    assets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By kind, without the kinds of which there are none."""


class Unread(_Noted):
    """An observation as it was written: most pages of a site have equal assets, read once only."""

    assets: Raw = Raw(b"{}")


class Weight(Struct, omit_defaults=True):
    """How large an asset is."""

    bytes: int = 0
