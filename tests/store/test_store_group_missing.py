"""Without the compiled part (no compiler was at hand) archives are the same."""

import subprocess
import sys
from pathlib import Path
from random import Random

from made_fetches import fetches

from gossamer.config.store import StoreSettings
from gossamer.errors import StoreError
from gossamer.store.records import RecordWriter
from gossamer.store.store import payload_digest

SCRIPT = """
import sys
sys.modules["gossamer.store._group"] = None  # so that its import fails
from gossamer.store.group import is_compiled
assert not is_compiled()
import test_store_group_missing
sys.stdout.buffer.write(test_store_group_missing.archive())
"""


def archive() -> bytes:
    writer = RecordWriter(StoreSettings())
    writer._ids._prefix = b"<urn:uuid:01234567-89ab-8cde-8f01-2"
    groups = []
    for fetch in fetches(Random(6), 500):
        try:
            groups.append(writer.group(fetch, None, None).data)
        except StoreError as error:
            groups.append(str(error).encode("utf-8", "replace"))
        groups.append(payload_digest(fetch.raw).encode())
    return b"".join(groups)


def test_archives_are_the_same_without_the_compiled_part():
    written = subprocess.check_output(
        [sys.executable, "-c", SCRIPT], cwd=Path(__file__).parent, timeout=120
    )
    assert written == archive()
