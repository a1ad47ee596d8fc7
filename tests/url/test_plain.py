"""The compiled part: the same answers as the parser gives and as Python makes, in bounded room."""

import hashlib
import re
import time
from pathlib import Path
from random import Random

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_references import DIRECTORIES, references

from gossamer.config.url import UrlSettings
from gossamer.url import canonical, plain
from gossamer.url.canonical import Joiner, authority_of, canonicalize
from gossamer.url.plain import PythonKeys, url_table
from gossamer.url.steps import finish

pytestmark = pytest.mark.skipif(not plain.is_compiled(), reason="gossamer.url._plain is missing")
SETTINGS = [
    UrlSettings(),
    UrlSettings(max_bytes=256),
    UrlSettings(sort_query=True),
    UrlSettings(drop_parameters=("a",)),
]
DOCUMENTATION = {
    "openjdk-17-jre-headless": "/usr/share/doc/openjdk-17-jre-headless/api",
    "pike8.0-doc": "/usr/share/doc/pike8.0-doc/html/reference",
    "python3.11-doc": "/usr/share/doc/python3.11/html",
    "postgresql-doc-15": "/usr/share/doc/postgresql-doc-15/html",
    "git-doc": "/usr/share/doc/git-doc",
}
HREF = re.compile(rb"""(?:href|src)=["']([^"']*)""")
MEMORY = Path("/proc/self/statm")
KEYS = st.lists(st.integers(0, 40).map(lambda number: number.to_bytes(8, "big")))


def joined_by_parser(base: str, href: str, settings: UrlSettings) -> str | None:
    """What the standard says, then our own steps; nothing is taken for plain."""
    clean = re.sub("[\ud800-\udfff]", "\ufffd", href)
    try:
        return finish(ada_url.join_url(base, clean.partition("#")[0]), settings)
    except ValueError:
        return None


def joined_by_python(base: str, hrefs: list[str], settings: UrlSettings) -> list[str | None]:
    joiner = Joiner(settings)
    joiner._urls = None
    return joiner.join_all(base, hrefs)


def assert_agrees(base: str, hrefs: list[str], settings: UrlSettings) -> int:
    """Compare all ways to join; return how many references were found to be plain."""
    joiner = Joiner(settings)
    for _ in range(2):
        assert joiner.join_all(base, hrefs) == joined_by_python(base, hrefs, settings)
    table = url_table(1 << 16, settings.max_bytes, tidies=joiner._tidies)
    directory = canonical.directory_of(base)
    found, others = table.join(directory, len(authority_of(base)), hrefs)
    left = set(others)
    for number, (href, url) in enumerate(zip(hrefs, found, strict=True)):
        if number in left:
            assert url is None
        else:
            assert url == joined_by_parser(base, href, settings), (base, href)
    return len(hrefs) - len(left)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("settings", SETTINGS, ids=["usual", "short", "sorted", "dropped"])
def test_references_by_lot_are_joined_alike(seed, settings):
    random = Random(seed)
    plain_ones = sum(
        assert_agrees(directory + "page?q=1", references(random, 300), settings)
        for directory in DIRECTORIES
    )
    assert plain_ones > 300


@given(st.sampled_from(DIRECTORIES), st.lists(st.text("ab.:/?&@!$*-1%", max_size=14), max_size=9))
def test_any_reference_is_joined_alike(directory, hrefs):
    assert_agrees(directory, hrefs, SETTINGS[0])


@given(st.lists(st.text("ab.:/1-x@?", max_size=12).map("http://a.bc{}".format), max_size=9))
def test_any_whole_url_is_joined_alike(hrefs):
    assert_agrees("http://h/", hrefs, SETTINGS[0])


@pytest.mark.parametrize("name", DOCUMENTATION)
def test_references_of_documentation_are_joined_alike_and_mostly_plain(name):
    files = sorted(Path(DOCUMENTATION[name]).rglob("*.html"))
    if not files:
        pytest.skip(f"apt install {name}")
    count = plain_ones = 0
    for file in files[:: len(files) // 40 + 1]:
        found = HREF.findall(file.read_bytes())
        hrefs = [href.decode("utf-8", "replace").partition("#")[0] for href in found]
        hrefs = [href for href in hrefs if href]
        base = f"http://h.example/{file.relative_to(DOCUMENTATION[name])}"
        plain_ones += assert_agrees(base, hrefs, SETTINGS[0])
        count += len(hrefs)
    assert plain_ones > 0.8 * count > 100


def test_what_is_plain_is_joined_without_the_parser(monkeypatch):
    monkeypatch.setattr(canonical, "join_url", None)
    hrefs = ["a", "../b/c.html", "/d?e=f&g", "https://o.example/h@2!$*", "?"]
    with pytest.raises(TypeError):
        Joiner().join_all("http://h/x/y", hrefs)
    assert Joiner().join_all("http://h/x/y", hrefs[:-1]) == [
        "http://h/x/a",
        "http://h/b/c.html",
        "http://h/d?e=f&g",
        "https://o.example/h@2!$*",
    ]


def test_huge_references_are_answered_at_once():
    huge = 1_000_000
    hrefs = [
        "x" * huge,
        "../" * huge,
        "../" * huge + "x",
        "/" * huge,
        "http://a.bc/" + "x" * huge,
        "http://" + "a." * huge + "bc/",
        "\u00e9" * huge,
        "\ud800" * huge,
        "?" * huge,
    ]
    started = time.process_time()
    found = Joiner().join_all("http://h/a/b", hrefs)
    assert time.process_time() - started < 5
    assert found == joined_by_python("http://h/a/b", hrefs, SETTINGS[0])


@pytest.mark.parametrize(
    ("directory", "length"),
    [("http://h/a", 8), ("http://h/", 9), ("http://h/", 7), ("http://h/", -1), ("", 0)],
)
def test_directory_that_is_none_is_refused(directory, length):
    with pytest.raises(ValueError, match="directory"):
        url_table(9_999, 256, tidies=False).join(directory, length, ["x"])


@pytest.mark.parametrize("text", ["", "x", "\u00e9\u4e2d", "\x00"])
def test_sums_are_those_of_the_library(text):
    for length in range(300):
        repeated = text * length
        assert plain.md5_of(repeated) == hashlib.md5(repeated.encode()).digest()


def test_half_characters_have_no_sum():
    for sum_of in (plain.md5_of, plain._md5_of):
        with pytest.raises(UnicodeEncodeError):
            sum_of("\ud800")


@given(st.lists(st.text(max_size=3).map(lambda end: end.encode("utf-8", "replace").decode())))
def test_keys_are_those_of_the_sums_however_small_the_table(ends):
    """Neighbours in a slot are never taken for each other; long URLs and odd ones have keys too."""
    urls = [f"http://h/{end}" for end in ends] + [f"http://h/{'x' * 300}{end}" for end in ends]
    wanted = b"".join(hashlib.md5(url.encode()).digest()[:8] for url in urls)
    for bytes_allowed in (1, 4_000, 1 << 20):
        table = url_table(bytes_allowed, 8_192, tidies=False)
        assert table.keys(urls) == wanted
        assert table.keys(urls[::-1] + urls)[-len(wanted) :] == wanted


def test_url_that_comes_again_is_the_same_string():
    """Which is why it costs little: no new string, no hash of it, no sum."""
    table = url_table(1 << 20, 8_192, tidies=False)
    (first,), _ = table.join("http://h/a/", 8, ["b"])
    (second,), _ = table.join("http://h/c/", 8, ["../a/b"])
    assert first == "http://h/a/b"
    assert first is second


@given(st.lists(st.tuples(st.sampled_from(["add", "discard", "absent"]), KEYS), max_size=30))
def test_set_of_keys_is_a_set(steps):
    """Keys of small numbers: homes that meet, and the one of zeros only."""
    held, model = plain.KeySet(), PythonKeys()
    for what, keys in steps:
        if what == "absent":
            assert held.absent(b"".join(keys)) == model.absent(b"".join(keys))
        else:
            for key in keys:
                getattr(held, what)(key)
                getattr(model, what)(key)
                assert (key in held) is (what == "add")
        assert len(held) == len(model)


def test_large_set_of_keys_is_a_set():
    random = Random(3)
    held, model = plain.KeySet(), PythonKeys()
    keys = [random.randbytes(8) for _ in range(20_000)]
    for key in keys:
        held.add(key)
        model.add(key)
    for key in random.sample(keys, 12_000):
        held.discard(key)
        model.discard(key)
    assert len(held) == len(model) == 8_000
    assert held.absent(b"".join(keys)) == model.absent(b"".join(keys))


@given(KEYS)
def test_each_key_is_left_once_and_in_order(keys):
    joined = b"".join(keys)
    assert plain.distinct(joined) == plain._distinct(joined)


@pytest.mark.parametrize("keys", [b"1234567", b"123456789", b"1"])
def test_what_is_no_key_is_refused(keys):
    for ask in (plain.distinct, plain.KeySet().absent, plain.KeySet().add):
        with pytest.raises(ValueError, match="8 bytes"):
            ask(keys)
    with pytest.raises(ValueError, match="8 bytes"):
        keys in plain.KeySet()  # noqa: B015 - it raises


@pytest.mark.skipif(not MEMORY.is_file(), reason="there is no /proc to tell the memory in use")
def test_memory_is_given_back():
    """A hundred bytes kept by each call would be 3 MB."""
    hrefs = ["a", "../b", "https://o.example/", "%41", "x" * 300, "\ud800", "\u00e9"]

    def use(times):
        for number in range(times):
            table = url_table(4_000, 512, tidies=False)
            found, _ = table.join("http://h/", 8, [*hrefs, str(number)])
            keys = table.keys([url for url in found if url is not None])
            held = plain.KeySet()
            for key in plain.each_key(plain.distinct(keys * 2)):
                held.add(key)
            held.absent(keys)
            with pytest.raises(ValueError):
                held.absent(b"x")

    use(1_000)
    before = int(MEMORY.read_text().split()[1])
    use(30_000)
    assert int(MEMORY.read_text().split()[1]) - before < 256


def test_canonical_url_of_new_plain_characters_stays():
    for url in ("http://a.bc/x@y!z$*", "http://a.bc/?q=a:b@c", "http://a.bc/@"):
        assert canonicalize(url) == url == finish(ada_url.normalize_url(url), UrlSettings())
