"""What pyproject.toml cannot say: the compiled page reader, left out where it cannot be built."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "gossamer.parse._skim",
            ["src/gossamer/parse/skim.c"],
            depends=["src/gossamer/parse/simhash.h"],
            extra_compile_args=["-O2"],
            py_limited_api=True,
            optional=True,
        )
    ],
    # One build for every Python from 3.11 on.
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
