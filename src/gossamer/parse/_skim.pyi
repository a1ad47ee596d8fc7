CARRIERS: tuple[str, ...]

def skim(
    body: bytes,
    entities: dict[str, str],
    wants_label: bool,
    most_places: int,
    text_length: int,
    rows: bytes | None,
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
