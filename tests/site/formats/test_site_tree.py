"""Each page has one place in the tree, whatever the parents say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_samples import SITE, chain, page, realistic, site_map_of, small

from gossamer.site.origin import origin_of, path_of
from gossamer.site.tree import Tree, origin_of_site


def walked(tree: Tree) -> list[str]:
    tops = [*([tree.root] if tree.root else []), *tree.others]
    return [node.page.url for top in tops for node in tree.walk(top)]


@pytest.mark.req("S2.17", "S2.18")
def test_the_start_page_is_the_root_and_children_stand_under_their_parent():
    site_map = small()
    tree = Tree(site_map)
    assert tree.root is site_map.pages[0]
    assert [child.url for child in tree.children(tree.root)] == [
        SITE + path for path in ("/about", "/index.html", "/old", "/gone")
    ]
    assert all(tree.by_url[one.url] is one for one in site_map.pages)


def test_a_page_that_failed_has_no_place_unless_it_leads_to_others():
    failed = page("/failed", status=500, error="500")
    leading = page("/leading", status=404, error="404")
    below = page("/below", parent=SITE + "/leading", depth=2)
    tree = Tree(site_map_of([page("/", parent=None, depth=0), failed, leading, below]))
    assert walked(tree) == [SITE + "/", SITE + "/leading", SITE + "/below"]


@given(st.lists(st.integers(0, 12), max_size=12))
def test_parents_that_are_missing_or_lead_in_a_circle_cost_no_page_its_place(parents):
    pages = [page("/0", parent=None, depth=0)]
    pages += [page(f"/{n}", parent=f"{SITE}/{parent}") for n, parent in enumerate(parents, start=1)]
    tree = Tree(site_map_of(pages))
    assert sorted(walked(tree)) == sorted(one.url for one in pages)


def test_a_long_chain_is_walked_without_recursion():
    assert len(walked(Tree(chain(20_000)))) == 20_000


def test_a_page_is_met_after_its_parent_and_the_last_of_its_siblings_says_so():
    tree = Tree(realistic())
    assert tree.root is not None
    met = set()
    siblings: dict[str | None, list[bool]] = {}
    for node in tree.walk(tree.root):
        assert node.depth == 0 or node.page.parent in met
        met.add(node.page.url)
        siblings.setdefault(node.page.parent, []).append(node.last)
    assert all(lasts == [False] * (len(lasts) - 1) + [True] for lasts in siblings.values())


def test_an_empty_map_has_no_root():
    tree = Tree(site_map_of([]))
    assert tree.root is None
    assert walked(tree) == []
    assert origin_of_site(site_map_of([])) == SITE


@pytest.mark.parametrize(
    ("url", "origin", "path"),
    [
        ("https://a.example/", "https://a.example", "/"),
        ("https://a.example/b?c=1", "https://a.example", "/b?c=1"),
        ("https://a.example:8443/b", "https://a.example:8443", "/b"),
        ("http://[::1]:80/x/y", "http://[::1]:80", "/x/y"),
    ],
)
@pytest.mark.req("S2.13")
def test_a_url_of_the_site_is_shown_by_path_and_query(url, origin, path):
    assert origin_of(url) == origin
    assert path_of(url, origin) == path


def test_a_url_of_another_site_is_shown_whole():
    for url in ("https://a.example.evil.example/x", "http://a.example/x", "data:,x", ""):
        assert path_of(url, "https://a.example") == url
