"""A page before its references are joined: not everybody needs all of them."""

from itertools import repeat

from msgspec import Struct

from gossamer.messages import Link, Page
from gossamer.parse.charset import encoder_of
from gossamer.parse.pieces import Told
from gossamer.parse.references import Joiner


class Outline(Struct, frozen=True, gc=False):
    """What was read of a page without its tree, and what its pieces say.

    An ordinary page has plain links and assets, and nothing else that would have to be heeded.
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
        """Whether it has plain links and assets only, and no more than so many."""
        told = self.told
        self.references.pop("", None)
        # Of assets some may be there twice; to count the others is hardly ever necessary.
        left = max_links - len(self.references)
        return told.is_assets_only and (
            len(told.assets) <= left or sum(len(each) for _, each in told.needed) <= left
        )

    def whole(self, url: str, joiner: Joiner) -> Page | None:
        """Return all that an ordinary page says; None if some of it is in an encoding of old."""
        hrefs = list(self.references)
        end = len(hrefs)
        for _, references in self.told.needed:
            hrefs += references
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
