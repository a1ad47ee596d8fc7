from collections.abc import Callable

import pytest

from gossamer.config.parse import ParseSettings
from gossamer.messages import Document, Fetch, Kind, Manner, Page, Visit
from gossamer.outcomes import Outcome
from gossamer.parse.directives import AGENT_NAME
from gossamer.parse.page import understand
from gossamer.url.canonical import Joiner

URL = "http://site.example/dir/page.html"


def understood(
    body: bytes | str,
    content_type: str | None = "text/html; charset=utf-8",
    *,
    url: str = URL,
    kind: Kind = Kind.PAGE,
    headers: tuple[tuple[str, str], ...] = (),
    manner: Manner | None = None,
    agent: str = AGENT_NAME,
    **settings: object,
) -> Page:
    """Understand a body as if it had been fetched."""
    if isinstance(body, str):
        body = body.encode()
    if content_type is not None:
        headers = (("content-type", content_type), *headers)
    visit = Visit(trans_id=1, doc_id=1, address="192.0.2.1", url=url, kind=int(kind), manner=manner)
    fetch = Fetch(visit=visit, outcome=Outcome.OK, status=200, headers=headers, body=body)
    return understand(Document(fetch, None), ParseSettings(**settings), Joiner(), agent)


@pytest.fixture(scope="session")
def page_of() -> Callable[..., Page]:
    return understood
