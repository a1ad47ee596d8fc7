"""What the pages of each family have said, so that one with nothing to add is recognised."""

from typing import Final

from gossamer.messages import Fetch, Page
from gossamer.parse.outline import Outline
from gossamer.parse.references import Joiner
from gossamer.parse.statements import statements, title_said
from gossamer.url.families import family_of_url
from gossamer.url.generations import Generations

_BYTES_A_SAYING: Final = 64
_GLANCE_BYTES: Final = 1 << 14


class NewsDesk:
    """Remembers titles and texts by their hashes, within a bounded memory that forgets.

    A text is the set of its statements: a page that puts together in a new way what others said has
    news. Forgetting is harmless: a family begun anew has something to say once more.
    """

    def __init__(self, joiner: Joiner, max_bytes: int = 8 << 20) -> None:
        self._joiner = joiner
        self._said: Generations[set[int]] = Generations(lambda _: set(), _weigh, max_bytes)

    def has_news(self, family: str, fetch: Fetch, page: Page | Outline) -> bool:
        """Tell whether a document says something that its family has not said; remember it."""
        said = self._said[family]
        # Most pages of people have a title of their own, so that most need not be looked through.
        title = title_said(page.title, fetch.visit.url)
        if title and hash(title) not in said:
            return self._keep(said, hash(title))
        return self._has_new_text(said, family, fetch, page)

    def _has_new_text(
        self, said: set[int], family: str, fetch: Fetch, page: Page | Outline
    ) -> bool:
        url = fetch.visit.url

        def is_kin(target: str) -> bool:
            return family_of_url(target) == family

        # A long text that begins like no other need not be looked through to its end; one that does
        # not has news once more, at most.
        is_long = len(fetch.body) > _GLANCE_BYTES
        for body in (fetch.body[:_GLANCE_BYTES], fetch.body) if is_long else (fetch.body,):
            text = hash(frozenset(statements(body, page, url, self._joiner, is_kin)))
            if text not in said:
                return self._keep(said, text)
        return False

    def forget(self) -> None:
        """Forget everything: some of it was said by pages that will be fetched again."""
        self._said.forget()

    def _keep(self, said: set[int], saying: int) -> bool:
        said.add(saying)
        self._said.grow(_BYTES_A_SAYING)
        return True


def _weigh(family: str, said: set[int]) -> int:
    return 2 * len(family) + 300 + _BYTES_A_SAYING * len(said)
