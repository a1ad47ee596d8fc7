"""Run by test_skim_sanitized.py with sanitizers: reads pages by lot, and their beginnings."""

import ctypes
import sys
from html.entities import html5
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from random import Random

from skim_pages import damaged, made_links, made_page

from gossamer.parse import skim as installed
from gossamer.parse.directives import names_of
from gossamer.parse.similarity import MAX_TEXT, ROWS

PAGES = 4_000
CUT_PAGES = 40
NAMES = tuple(name.encode() for name in names_of("keywords", "-"))


def main(built: str) -> None:
    assert hasattr(ctypes.CDLL(None), "__asan_init"), "the sanitizer is not loaded"
    loader = ExtensionFileLoader("_skim", built)
    module = module_from_spec(spec_from_file_location("_skim", built, loader=loader))
    loader.exec_module(module)
    random = Random(7)
    skimmed = 0
    for number in range(PAGES):
        page = made_page(random)
        if number % 3 == 0:
            page = damaged(random, page)
        places, length = random.choice((9, 1 << 30)), random.choice((0, 9, MAX_TEXT))
        question = (page, html5, bool(number % 2), places, length, ROWS, NAMES)
        found = module.skim(*question)
        assert installed._skim is None or found == installed._skim(*question)
        skimmed += found is not None
        module.said(page + made_links(random), html5)
    # What it means is longer than the reference.
    growing = (
        b"<body><textarea>" + b"&nLt;" * 3_000 + b"</textarea>" + b"words " * 500 + b"<p>" * 30
    )
    module.skim(growing, html5, True, 1 << 30, MAX_TEXT, ROWS, NAMES)
    for length in range(2_060):
        dates = "May 1. Sunday, 2 Sunda yJune" * 80
        url = f"http://h/{random.randrange(100)}{dates[: length % 9]}"
        assert (module.title_said(dates[:length], url) is None) == (length > 2_048)
    for _ in range(CUT_PAGES):
        page = made_page(random)
        links = made_links(random)
        for end in range(len(links)):
            module.said(links[:end], html5)
        for end in range(len(page)):
            module.said(page[:end], html5)
            module.skim(page[:end], html5, True, 1 << 30, MAX_TEXT, ROWS, NAMES)
            module.skim(page[:end] * 20, html5, True, 1 << 30, MAX_TEXT, ROWS, NAMES)
    print(skimmed)


if __name__ == "__main__":
    main(sys.argv[1])
