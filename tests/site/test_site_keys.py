"""URLs by their keys: the compiled table and that of Python give the same answers."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walked_sites import MadeSite, spelled_out, walked

import gossamer.site
from gossamer.site import keys
from gossamer.site.keys import PythonUrls, new_urls
from sanitizers import Sanitized

HERE = Path(__file__).parent
SOURCE = Path(gossamer.site.__file__).with_name("keys.c")
compiled = pytest.mark.skipif(not keys.is_compiled(), reason="the compiled part is not there")

# Few different ones, so that they meet; also that of zeros, and neighbours.
key = st.sampled_from([number.to_bytes(8, "little") for number in (*range(40), 1 << 63, 2**64 - 1)])
some_keys = st.lists(key, max_size=12).map(b"".join)
url = st.text(min_size=1, max_size=4)
known = st.lists(st.tuples(key, url), max_size=30)
names = ["add", "begin", "targets", "unmet", "met", "leave"]
step = st.tuples(st.sampled_from(names), some_keys, known)


def done(urls, steps) -> list[object]:
    """Do these steps; return all answers."""
    answers: list[object] = []
    # Two keys of one URL do not exist: the key is made from it.
    named: dict[str, bytes] = {}
    for name, each, pairs in steps:
        if name == "add":
            fresh = {text: own for own, text in pairs if named.setdefault(text, own) == own}
            urls.add(b"".join(fresh.values()), tuple(fresh))
        elif name == "begin":
            urls.begin()
        else:
            answers.append(getattr(urls, name)(each))
    return answers


@compiled
@given(st.lists(step, max_size=30))
def test_both_tables_agree(steps):
    # What becomes known while a walk is under way is not its business.
    steps = [step for step in steps if step[0] == "add"] + [
        ("begin", b"", []),
        *(step for step in steps if step[0] != "add"),
    ]
    assert done(new_urls(), steps) == done(PythonUrls(), steps)


@pytest.mark.parametrize("make", [PythonUrls, new_urls])
def test_a_walk_meets_each_url_once_in_order(make):
    urls = make()
    numbered = {f"http://a.test/{number}": number.to_bytes(8, "big") for number in range(5_000)}
    urls.add(b"".join(numbered.values()), tuple(numbered))
    urls.begin()
    first, second, unknown = numbered["http://a.test/7"], numbered["http://a.test/3"], b"?" * 8
    assert urls.unmet(first + unknown + second + first) == ["http://a.test/7", "http://a.test/3"]
    assert urls.unmet(second + first) == []
    assert urls.targets(second + unknown + first) == ["http://a.test/3", "http://a.test/7"]
    assert urls.met(second + unknown + second + b"".join(numbered.values())[:16]) == [
        "http://a.test/3",
        "http://a.test/3",
    ]
    urls.leave(second)
    assert urls.met(first + second) == ["http://a.test/7"]
    assert urls.unmet(first + second) == ["http://a.test/3"]
    urls.begin()
    assert len(urls.unmet(b"".join(numbered.values()))) == 5_000


@compiled
def test_what_is_no_key_is_refused():
    urls = new_urls()
    for method in (urls.targets, urls.unmet, urls.met, urls.leave):
        with pytest.raises(ValueError):
            method(b"1234567")
        with pytest.raises(TypeError):
            method("12345678")
    with pytest.raises(ValueError):
        urls.add(b"12345678", ("a", "b"))
    with pytest.raises(TypeError):
        urls.add(b"12345678", (b"a",))


@pytest.mark.parametrize("seed", range(40))
def test_a_walk_goes_the_way_that_is_spelled_out(seed):
    random = Random(seed)
    site = MadeSite(random, random.choice((1, 5, 30, 80)))
    told, found = walked(site)
    assert (told, found.copies) == spelled_out(site)


def test_a_walk_is_the_same_without_the_compiled_part():
    script = (
        "import sys; sys.modules['gossamer.site._keys'] = None  # so that its import fails\n"
        "from gossamer.site import keys; assert not keys.is_compiled()\n"
        "from random import Random; from walked_sites import MadeSite, walked\n"
        "print(walked(MadeSite(Random(1), 80))[0])"
    )
    told = subprocess.check_output([sys.executable, "-c", script], cwd=HERE, text=True, timeout=120)
    assert told.strip() == str(walked(MadeSite(Random(1), 80))[0])


def test_tables_by_lot_do_no_harm(tmp_path):
    """It neither reads nor writes where it must not: sanitizers watch it at work."""
    before = HERE.parent / "store" / "exact_parts.h"
    table = Sanitized(SOURCE, before, tmp_path / "_keys.so")
    assert int(table.run(HERE / "keys_sanitized.py")) > 1_000
