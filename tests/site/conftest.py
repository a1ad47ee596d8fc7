"""A browser for the tests that look at what was written, and a visible skip where there is none."""

from collections.abc import Iterator

import chromium
import pytest


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    if chromium.program() is None:
        pytest.skip("there is no Chromium here (Debian package chromium)")
    with chromium.open_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def tab(browser: chromium.Browser) -> Iterator[chromium.Tab]:
    opened = browser.tab()
    opened.resize(1440, 900)
    yield opened
    opened.close()
