"""The bytes of a page, worked out from the seed and the page's number alone."""

from random import Random
from typing import Final

from gossamer.fakeweb.graph import SECTION, Graph, Kind, Place

ASSETS: Final = ("/static/style.css", "/static/logo.png")
_IMAGES: Final = 16
_SENTENCES: Final = 4_096
_SYLLABLES: Final = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu zan bren cold dra"
_HEAD: Final = (
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    '<link rel="stylesheet" href="/static/style.css">{meta}</head>\n<body>\n'
    '<nav><a href="/"><img src="/static/logo.png" alt="home"></a></nav>\n<h1>{title}</h1>\n'
)
_FOOT: Final = "</body></html>\n"


class Writer:
    """Writes the HTML of every place of one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._seed = graph.options.seed
        self._sentences = _sentences(graph.options.seed)
        self._mean_bytes = sum(map(len, self._sentences)) // len(self._sentences)

    def html(self, place: Place) -> bytes:
        """Return the HTML of a place that is a document."""
        if place.kind is Kind.PAGE:
            return self._page(place.number, "").encode()
        if place.kind is Kind.COPY:
            return self._page(self._graph.page_of(place), "").encode()
        if place.kind is Kind.NEAR:
            note = f"<p>Printed as number {place.number}.</p>\n"
            return self._page(self._graph.page_of(place), note).encode()
        return self._leaf(place).encode()

    def _page(self, page: int, note: str) -> str:
        graph, options = self._graph, self._graph.options
        random = Random(self._seed << 40 ^ page)
        links = [self._anchor(page, place, random) for place in graph.children(page)]
        links += [self._anchor(page, place, random) for place in graph.extras(page)]
        more = options.links_per_page - len(links) - 1
        for place in graph.random_links(page, more, random):
            links.append(self._anchor(page, place, random))
        if options.traps and page < options.hosts:
            links.append('<li><a href="/~/trap/">more</a></li>\n')
        head = _HEAD.format(title=f"Page {page} of web {self._seed}", meta="")
        image = f'<img src="/img/{page % _IMAGES}.png" alt="picture {page % _IMAGES}">\n'
        parts = [head, image, "<ul>\n", *links, "</ul>\n"]
        room = options.page_bytes - sum(map(len, parts)) - len(_FOOT)
        parts += random.choices(self._sentences, k=max(1, room // self._mean_bytes))
        parts += [note, _FOOT]
        return "".join(parts)

    def _leaf(self, place: Place) -> str:
        kind, number = place
        random = Random((self._seed << 40 ^ number) * 31 + list(Kind).index(kind))
        closed = kind is Kind.CLOSED
        meta = '<meta name="robots" content="nofollow">' if closed else ""
        title = f"{kind.value} {number} of web {self._seed}"
        parts = [_HEAD.format(title=title, meta=meta)]
        if kind in (Kind.PRIVATE, Kind.DRAFT):
            parts.append(f'<p><a href="/hidden/{number}.html">behind the fence</a></p>\n')
        if closed:
            parts.append(f'<p><a href="/nofollow/{number}.html">do not follow</a></p>\n')
        parts += random.choices(self._sentences, k=12)
        parts.append(_FOOT)
        return "".join(parts)

    def _anchor(self, page: int, place: Place, random: Random) -> str:
        """Return a link in one of the forms that authors use; all of them mean the same URL."""
        graph = self._graph
        path = graph.path(place).replace("&", "&amp;")
        if graph.host(place) != page % graph.options.hosts:
            href = f"http://{graph.hosts.authority(graph.host(place))}{path}"
        else:
            href = self._local_href(page, path, int(random.random() * 5))
        rel = ' rel="nofollow"' if place.kind is Kind.NOFOLLOW else ""
        return f'<li><a href="{href}"{rel}>{path[1:] or "home"}</a></li>\n'

    def _local_href(self, page: int, path: str, form: int) -> str:
        index, host = divmod(page, self._graph.options.hosts)
        folder = f"/s{index // SECTION}/"
        if form == 0:
            return f"http://{self._graph.hosts.authority(host)}{path}"
        # The home page is not in its section's folder, but its copy is: it has no sibling links.
        if form == 1 and index and path.startswith(folder):
            return path[len(folder) :]
        if form == 2:
            return ".." + path
        return f"{path}#top" if form == 3 else path


def css() -> bytes:
    """Return the style sheet that every page names."""
    return b"body { max-width: 60em; margin: auto }\n.hero { background: url(/img/0.png) }\n"


def png() -> bytes:
    """Return the one picture of the web: a single grey pixel."""
    return bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
        "0000000a49444154789c636800000082008177cd72b60000000049454e44ae426082"
    )


def is_picture(path: str) -> bool:
    """Say whether a path is one of the pictures that pages show."""
    if path == ASSETS[1]:
        return True
    name = path.removeprefix("/img/").removesuffix(".png")
    return (
        path == f"/img/{name}.png" and name.isascii() and name.isdigit() and int(name[:3]) < _IMAGES
    )


def assets() -> list[str]:
    """Return the paths of everything pages need beside links."""
    return [*ASSETS, *(f"/img/{number}.png" for number in range(_IMAGES))]


def _sentences(seed: int) -> list[str]:
    random, syllables = Random(seed), _SYLLABLES.split()
    words = [
        "".join(random.choices(syllables, k=random.choice((1, 2, 2, 3)))) for _ in range(2_000)
    ]
    return [
        f"<p>{' '.join(random.choices(words, k=random.randint(7, 16))).capitalize()}.</p>\n"
        for _ in range(_SENTENCES)
    ]
