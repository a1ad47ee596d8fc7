"""Stories as Parquet, for data frames; pyarrow is loaded only when somebody asks for it."""

from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO

import msgspec

from gossamer.cli.news_records import StoryRecord
from gossamer.errors import InputError

# The rows of a group are held together, texts included.
_ROWS = 2_000
_TIMES = ("published", "collected")


def write_parquet(stories: Iterable[StoryRecord], out: BinaryIO) -> None:
    """Write the stories in groups of rows, in memory for one group only."""
    try:
        import pyarrow as arrow  # noqa: ICN001 - whole words
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            "Parquet needs pyarrow, which is not installed; install gossamer[news], "
            "or use --format jsonl"
        ) from error

    schema = _schema(arrow)
    rest = iter(stories)
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        while rows := [_row(story) for story in islice(rest, _ROWS)]:
            writer.write_table(arrow.Table.from_pylist(rows, schema))


def _schema(arrow: Any) -> Any:
    text, number, share = arrow.string(), arrow.int64(), arrow.float64()
    moment, texts = arrow.timestamp("ms", tz="UTC"), arrow.list_(text)
    place = arrow.struct([("file", text), ("offset", number), ("length", number)])
    kinds = {
        "story_id": number,
        "group": number,
        "published": moment,
        "collected": moment,
        "authors": texts,
        "tags": texts,
        "feeds": texts,
        "content": place,
    }
    names = StoryRecord.__struct_fields__
    return arrow.schema(
        [(name, kinds.get(name, share if name.endswith("_confidence") else text)) for name in names]
    )


def _row(story: StoryRecord) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(story)
    for name in _TIMES:
        if row[name] is not None:
            row[name] = datetime.fromisoformat(row[name])
    return row
