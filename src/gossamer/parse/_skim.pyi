from typing import Protocol

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

def title_said(title: str, url: str, /) -> bytes | None: ...
