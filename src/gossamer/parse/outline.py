"""A page before its references are joined: not everybody needs all of them."""

from itertools import repeat

from msgspec import Struct

from gossamer.messages import Link, Page
from gossamer.parse.charset import encoder_of
from gossamer.parse.pieces import Told
from gossamer.parse.references import Joiner


class Outline(Struct, frozen=True, gc=False):
    """What was read of a page without its tree, and what its pieces say.

    An ordinary page has links and assets, and nothing else that would have to be heeded: it speaks
    neither to robots nor of other languages.
    """

    content_type: str
    charset: str
    title: str
    description: str | None
    references: dict[str, bool]
    """Distinct references of its plain links, without fragments; an empty one means nothing."""
    simhash: int | None
    told: Told

    def is_ordinary(self, max_links: int) -> bool:
        """Whether it has links and assets only, and surely no more than so many."""
        told = self.told
        self.references.pop("", None)
        if len(self.references) + len(told.links) + len(told.assets) > max_links:
            return False
        return told.is_assets_only or not (
            told.refused
            or told.languages
            or told.robots
            or any(nofollow for _, _, nofollow in told.links)
        )

    def link_references(self) -> dict[str, bool]:
        """Return the references of all links of an ordinary page, in the order of its links."""
        if self.told.is_assets_only:
            return self.references
        by_kind: dict[str, dict[str, bool]] = {"a": dict(self.references)}
        for kind, reference, _ in self.told.links:
            by_kind.setdefault(kind, {})[reference] = False
        together: dict[str, bool] = {}
        for table in by_kind.values():
            together.update(table)
        together.pop("", None)
        return together

    def canonical(self, url: str, joiner: Joiner) -> str | None:
        """Return the URL that the page names as its own."""
        named = [reference for kind, reference, _ in self.told.links if kind == "canonical"]
        return next(filter(None, joiner.join_all(url, filter(None, named))), None)

    def whole(self, url: str, joiner: Joiner) -> Page | None:
        """Return all that a page says; None if that is more than plain links and assets."""
        if not self.told.is_assets_only:
            return None
        hrefs = list(self.references)
        end = len(hrefs)
        for _, references in self.told.needed:
            hrefs += references
        # In an encoding of old they mean something else.
        if encoder_of(self.charset) and not all(map(str.isascii, hrefs)):
            return None
        urls = joiner.join_all(url, hrefs)
        links = tuple(map(Link, filter(None, dict.fromkeys(urls[:end])), repeat("a")))
        assets: list[Link] = []
        for kind, references in self.told.needed:
            start, end = end, end + len(references)
            assets += map(Link, filter(None, dict.fromkeys(urls[start:end])), repeat(kind))
        return Page(
            content_type=self.content_type,
            charset=self.charset,
            title=self.title,
            links=links,
            assets=tuple(assets),
            description=self.description,
            simhash=self.simhash,
        )
