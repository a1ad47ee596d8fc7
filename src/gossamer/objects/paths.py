"""Where the raw files of a resource are kept, below the data directory (PathMaker)."""

import re
from typing import Final

from gossamer.objects.problems import ObjectError

_MD5: Final = re.compile(r"[0-9a-f]{32}")


def path_of(md5: str) -> str:
    """Return the folder of a resource: the first 2 characters of its md5, a slash, the other 30.

    Nothing but the 32 digits of an md5 is accepted, so no folder outside can ever be named.
    """
    if not _MD5.fullmatch(md5):
        raise ObjectError("URL", "urlMd5", "32 hexadecimal digits in lower case are expected")
    return f"{md5[:2]}/{md5[2:]}"
