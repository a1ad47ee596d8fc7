CARRIERS: tuple[str, ...]

def skim(
    body: bytes, entities: dict[str, str], text_length: int, wants_label: bool, /
) -> tuple[str, bool, str | None, dict[str, bool], list[bytes], bytes] | None: ...
