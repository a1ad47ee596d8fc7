"""Names of archive files: made here and nowhere else, never from anything the web sent.

A file is called `….warc.gz.open` while it is being written and `….warc.gz` from then on. Pointers
hold the final name, so they stay true; whoever opens a file tries both.
"""

import os
import re
import stat
import time
from pathlib import Path
from typing import BinaryIO, Final

from gossamer.errors import StoreError

OPEN_SUFFIX: Final = ".open"
# Compiled when they are asked for the first time: most commands that load this never do.
_NAME: Final = r"gossamer-\d{14}-([A-Za-z0-9_]{1,32})-(\d{5,12})\.warc\.gz"
_WRITER: Final = r"[A-Za-z0-9_]{1,32}"


def check_writer(writer: str) -> str:
    """Return the name of a writer if it can be part of a file name."""
    if not re.fullmatch(_WRITER, writer):
        raise StoreError(
            f"writer {writer!r} cannot be part of a file name: use letters, digits and _"
        )
    return writer


def file_name(writer: str, serial: int, now: float) -> str:
    """Return the final name of a new file."""
    stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(max(0.0, now)))
    return f"gossamer-{stamp}-{writer}-{serial:05d}.warc.gz"


def archive_files(folder: Path) -> list[Path]:
    """Return the archive files of a folder, finished or not, sorted by name."""
    return sorted(
        path for path in _entries(folder) if re.fullmatch(_NAME, final_name(path.name)) is not None
    )


def unfinished_files(folder: Path, writer: str | None = None) -> list[str]:
    """Return the final names of files that were not closed; of one writer, if named."""
    return [
        final_name(path.name)
        for path in archive_files(folder)
        if path.name.endswith(OPEN_SUFFIX) and writer in (None, writer_of(final_name(path.name)))
    ]


def last_serial(folder: Path, writer: str) -> int:
    """Return the highest number that a writer has given to a file, 0 if none."""
    matches = (re.fullmatch(_NAME, final_name(path.name)) for path in _entries(folder))
    return max((int(match[2]) for match in matches if match and match[1] == writer), default=0)


def writer_of(name: str) -> str:
    """Return who writes or wrote the file of this final name."""
    match = re.fullmatch(_NAME, name)
    return match[1] if match else ""


def final_name(name: str) -> str:
    """Return the name that a file has when it is finished."""
    return name.removesuffix(OPEN_SUFFIX)


def open_archive(folder: Path, name: str) -> BinaryIO:
    """Open the file of this final name, finished or not."""
    if not re.fullmatch(_NAME, name):
        raise StoreError(f"{name!r} is not the name of an archive file")
    # Between the first two tries the writer may finish the file; the third finds it.
    for suffix in ("", OPEN_SUFFIX, ""):
        try:
            descriptor = os.open(
                folder / (name + suffix),
                # Nobody may keep us waiting with a pipe.
                os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK,
            )
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"cannot open {folder / name}: {error.strerror}") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise StoreError(f"cannot open {folder / name}: it is not a file")
        return os.fdopen(descriptor, "rb")
    raise StoreError(f"{folder / name} is missing")


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"cannot list {folder}: {error.strerror}") from error
