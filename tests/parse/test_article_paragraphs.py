"""Our own extractor of paragraphs: where the article is, and what inside of it is not."""

import pytest
from turbohtml import parse

from gossamer.parse.article_paragraphs import MAX_BLOCKS, Paragraphs, article_paragraphs

TITLE = "A second bridge for the town"
ONE = "The council agreed yesterday, after a long debate, that the river needs a second bridge."
TWO = "It will be built next to the old mill, where the water is low, and will be for walkers only."
THREE = "Nobody spoke against it, which the mayor called a good sign, in a town of many opinions."
ARTICLE = f"<p>{ONE}</p><p>{TWO}</p><p>{THREE}</p>"
TEXTS = [ONE, TWO, THREE]
OTHER = (
    "Readers may say here what they think of it, as long as they are polite, which they are not."
)


def found(body: str) -> Paragraphs:
    tree = parse(f"<title>{TITLE} | Lantern</title><body>{body}</body>", positions=False)
    return article_paragraphs(tree, (f"{TITLE} | Lantern",))


@pytest.mark.parametrize(
    "other",
    [
        "<nav><p>{}</p></nav>", "<aside><p>{}</p></aside>", "<footer><p>{}</p></footer>",
        "<div class=comments><p>{}</p></div>", "<div id=sidebar-2><p>{}</p></div>",
        "<div class='page-related x'><p>{}</p></div>", "<div class=newsletterBox><p>{}</p></div>",
        "<div hidden><p>{}</p></div>", "<div style='color:red;display:none'><p>{}</p></div>",
        "<div role=complementary><p>{}</p></div>", "<figure><figcaption>{}</figcaption></figure>",
        "<p class=photo-caption>{}</p>", "<p><a href=/x>{}</a></p>", "<script>{}</script>",
        "<noscript><p>{}</p></noscript>", "<!-- {} -->", "<template><p>{}</p></template>",
    ],
)  # fmt: skip
def test_what_is_something_else_is_left_out(other):
    texts = found(f"<article><h1>{TITLE}</h1>{ARTICLE}{other.format(OTHER)}</article>").texts
    assert texts == TEXTS


@pytest.mark.parametrize("wrapper", ["aside", "form", "div class=comments", "div id=promo-main"])
def test_a_name_is_not_believed_of_what_holds_all_the_text(wrapper):
    assert found(f"<{wrapper}>{ARTICLE}</{wrapper.split()[0]}>").texts == TEXTS


def test_the_article_is_where_most_of_the_running_text_is():
    short = "".join(f"<div><p>Item {number}, and a word or two.</p></div>" for number in range(9))
    assert found(f"<div>{short}</div><div><div>{ARTICLE}</div></div>").texts == TEXTS


def test_several_sections_are_one_article():
    body = "".join(f"<section><p>{each}</p></section>" for each in TEXTS)
    assert found(f"<div class=story>{body}</div>").texts == TEXTS


def test_a_lead_between_headline_and_article_belongs_to_it():
    lead = "What the town has waited for since the last flood is coming, and sooner than expected."
    body = f"<div><h1>{TITLE}</h1><p>{lead}</p><div>{ARTICLE}<p>{OTHER}</p></div></div>"
    assert found(body).texts == [lead, *TEXTS, OTHER]


def test_text_above_the_headline_weighs_less():
    above = "".join(f"<p>{OTHER} {number}</p>" for number in range(4))
    body = f"<div>{above}</div><h1>{TITLE}</h1><div>{ARTICLE}</div>"
    assert found(body).texts == TEXTS
    assert found(body.replace("h1>", "h6>")).texts != TEXTS


def test_a_dialog_about_cookies_weighs_less():
    dialog = "".join(
        f"<p>We use cookies, of {n} kinds, to do what you consent to.</p>" for n in range(9)
    )
    assert found(f"<div>{dialog}</div><div>{ARTICLE}</div>").texts == TEXTS


def test_subheadings_and_lists_inside_stay_scraps_at_the_edges_go():
    body = (
        f"<article><h2>Politics</h2><div>12 May</div><p>{ONE}</p><h3>The mill</h3><ul><li>low water"
        f"</li></ul><p>{TWO}</p><p>Really.</p><p>{THREE}</p><p>Print</p><h3>More</h3></article>"
    )
    assert found(body).texts == [ONE, "The mill", "low water", TWO, "Really.", THREE]


def test_text_broken_by_hand_and_text_without_paragraphs_is_found():
    assert found(f"<div>{ONE}<br><br>{TWO} <b>Yes.</b></div>").texts == [f"{ONE} {TWO} Yes."]
    assert found(f"<div><span>{ONE}</span></div><div>{TWO}</div>").texts == [ONE, TWO]


def test_inline_elements_around_paragraphs_do_not_double_them():
    assert found(f"<div><span>{ARTICLE}</span></div>").texts == TEXTS


def test_it_is_known_whether_the_article_stands_alone_and_has_a_name():
    assert found(f"<article>{ARTICLE}</article>")[1:] == (True, True)
    assert found(f"<div>{ARTICLE}</div>")[1:] == (True, False)
    both = f"<div class=post-content>{ARTICLE}</div><div><div><p>{OTHER}</p></div></div>"
    assert found(both)[1:] == (False, True)


@pytest.mark.parametrize(
    "body", ["", "<p></p>", "<p>Short.</p>", "<ul><li><a href=x>Home</a></ul>"]
)
def test_a_page_without_running_text_has_no_article(body):
    assert found(body).texts == []


def test_only_so_many_blocks_are_looked_at():
    body = "<p>x</p>" * MAX_BLOCKS + ARTICLE
    assert found(ARTICLE + body).texts == TEXTS
    assert found(body).texts == []
