from collections.abc import Callable, Mapping
from typing import Protocol

from gossamer.messages import Link, Page
from gossamer.parse.pieces import Told
from gossamer.parse.skim import Skimmed

CARRIERS: tuple[str, ...]

class Skim(Protocol):
    def __call__(
        self,
        body: bytes,
        entities: dict[str, str],
        wants_label: bool,
        most_places: int,
        text_length: int,
        rows: bytes | None,
        names: tuple[bytes, ...],
        /,
    ) -> (
        tuple[
            str | None,
            bool,
            str | None,
            str | None,
            dict[str, bool],
            list[bytes],
            int | bytes | None,
        ]
        | None
    ): ...

class Said(Protocol):
    def __call__(
        self, body: bytes, entities: dict[str, str], /
    ) -> tuple[bool, list[bytes], list[str | None], set[bytes]] | None: ...

skim: Skim
said: Said

class Reader:
    def __init__(
        self,
        *,
        entities: dict[str, str],
        rows: bytes | None,
        names: tuple[bytes, ...],
        encodings: Mapping[str, str],
        pages: Mapping[tuple[bytes, ...], Told],
        not_ascii: frozenset[str],
        shortened: Callable[[str, int], str],
        fingerprint: Callable[[bytes], int | None],
        link: type[Link],
        page: type[Page],
        skimmed: type[Skimmed],
        most_places: int,
        text_length: int,
        most_links: int,
        longest_title: int,
        longest_description: int,
    ) -> None: ...
    def read(
        self,
        body: bytes,
        encoding: str,
        url: str,
        join_all: Callable[[str, list[str]], list[str | None]],
        content_type: str,
        /,
    ) -> Page | tuple[Skimmed, Told | None] | None: ...
