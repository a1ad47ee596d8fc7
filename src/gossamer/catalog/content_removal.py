"""Contents of URLs are removed while nobody can get others.

Contents have the names of a site and a URL, and both may come again: a URL that starts again, or is
found once more, is selected, crawled, and has another content under the old name. So it is looked
up whose contents are nobody's, and those are removed, inside one transaction: whoever wants to
select a URL waits until it is over. What was selected before keeps its contents.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from gossamer.catalog.leases import json_list
from gossamer.catalog.service_members import find_site
from gossamer.catalog.service_rows import SERVICE, KnownSite

DeleteContents = Callable[[str, str], object]
"""Removes the contents of a URL, given by its site and its md5."""
_PORTION: Final = 16
"""URLs whose contents are removed in one transaction: others wait that long."""


def portions(doc_ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield documents, as many at a time as one transaction deals with."""
    for start in range(0, len(doc_ids), _PORTION):
        yield doc_ids[start : start + _PORTION]


def delete_contents(
    connection: sqlite3.Connection,
    site: KnownSite,
    set_id: int,
    doc_ids: Sequence[int],
    delete: DeleteContents,
) -> None:
    """Remove contents that deleted URLs of a set have left, unless something that lives has them.

    Inside a transaction that writes. A site that was deleted meanwhile takes its contents along,
    and what has its name by now is another.
    """
    living = find_site(connection, site.id)
    if living is None or living.site_id != site.site_id:
        return
    which = {"live": living.set_id, "set_id": set_id, "doc_ids": json_list(doc_ids)}
    for _, md5, lives_again in connection.execute(SERVICE["purgeable"], which).fetchall():
        if not lives_again:
            delete(living.id, md5)
