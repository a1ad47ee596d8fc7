"""What pyproject.toml cannot say: the compiled parts, left out where they cannot be built."""

from setuptools import Extension, setup


def part(name: str, folder: str, source: str, *headers: str) -> Extension:
    """Return a compiled part of a room."""
    return Extension(
        name,
        [f"{folder}/{source}"],
        depends=[f"{folder}/{header}" for header in headers],
        extra_compile_args=["-O2"],
        py_limited_api=True,
        optional=True,
    )


setup(
    ext_modules=[
        part(
            "gossamer.parse._skim", "src/gossamer/parse", "skim.c", "scan.h", "simhash.h", "title.h"
        ),
        part("gossamer.url._plain", "src/gossamer/url", "plain.c", "keyset.h", "md5.h", "survey.h"),
        part("gossamer.store._group", "src/gossamer/store", "group.c", "sha1.h"),
        part("gossamer.spider._plain_head", "src/gossamer/spider", "plain_head.c", "usual_head.h"),
        part("gossamer.spider._lane", "src/gossamer/spider", "lane.c", "usual_head.h"),
        part("gossamer.site._keys", "src/gossamer/site", "keys.c"),
    ],
    # One build for every Python from 3.11 on.
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
