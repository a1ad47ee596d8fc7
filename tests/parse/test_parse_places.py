"""Every URL-bearing place of requirements 3b, and what it counts as."""

import pytest

BASE = "http://site.example/dir/"

LINKS = [
    ("<a href=x>t</a>", "a"),
    ("<area href=x>", "area"),
    ("<frameset><frame src=x></frameset>", "frame"),
    ("<iframe src=x></iframe>", "iframe"),
    ("<blockquote cite=x>t</blockquote>", "cite"),
    ("<del cite=x>t</del>", "cite"),
    ("<ins cite=x>t</ins>", "cite"),
    ("<q cite=x>t</q>", "cite"),
    ("<head profile=x><title>t</title></head>", "profile"),
    ("<img src=i longdesc=x>", "longdesc"),
    ("<img src=i usemap=x#map>", "usemap"),
    ("<button formaction=x>t</button>", "formaction"),
    ("<form><input type=submit formaction=x></form>", "formaction"),
    ("<meta http-equiv=refresh content='30; url=x'>", "refresh"),
    ("<noscript><meta http-equiv=refresh content='0; url=x'></noscript>", "refresh"),
    ("<link rel=canonical href=x>", "canonical"),
    ("<link rel=next href=x>", "next"),
    ("<link rel=prev href=x>", "prev"),
    ("<link rel=alternate hreflang=de href=x>", "alternate"),
    ("<link rel=alternate type=application/rss+xml href=x>", "feed"),
    ("<link rel=alternate type=application/atom+xml href=x>", "feed"),
    ("<link rel=author href=x>", "link"),
    ("<link rel=prefetch href=x>", "prefetch"),
    ("<svg><a href=x>t</a></svg>", "a"),
    ("<svg><a xlink:href=x>t</a></svg>", "a"),
    ("<math><mi href=x>t</mi></math>", "a"),
    ("<object type=text/html data=x></object>", "object"),
    ("<noscript><a href=x>t</a></noscript>", "a"),
    ("<template><a href=x>t</a></template>", "a"),
    ("<div><template shadowrootmode=open><a href=x>t</a></template></div>", "a"),
]

ASSETS = [
    ("<img src=x>", "img"),
    ("<img srcset='x 1x, x 2x'>", "img"),
    ("<picture><source srcset=x></picture>", "img"),
    ("<input type=image src=x>", "img"),
    ("<image src=x>", "img"),
    ("<body background=x>", "img"),
    ("<table background=x></table>", "img"),
    ("<command icon=x>", "img"),
    ("<video poster=x></video>", "img"),
    ("<video src=x></video>", "video"),
    ("<video><source src=x></video>", "video"),
    ("<audio src=x></audio>", "audio"),
    ("<audio><source src=x></audio>", "audio"),
    ("<video><track src=x></video>", "other"),
    ("<embed src=x>", "other"),
    ("<embed type=video/mp4 src=x>", "video"),
    ("<object data=x></object>", "other"),
    ("<object type=image/png data=x></object>", "img"),
    ("<object codebase=x></object>", "other"),
    ("<applet codebase=x></applet>", "other"),
    ("<applet archive=x></applet>", "other"),
    ("<html manifest=x>", "other"),
    ("<script src=x></script>", "js"),
    ("<iframe src=x></iframe>", "iframe"),
    ("<a href=y ping=x>t</a>", "other"),
    ("<link rel=stylesheet href=x>", "css"),
    ("<link rel='alternate stylesheet' href=x>", "css"),
    ("<link rel='shortcut icon' href=x>", "img"),
    ("<link rel=apple-touch-icon href=x>", "img"),
    ("<link rel=manifest href=x>", "other"),
    ("<link rel=modulepreload href=x>", "js"),
    ("<link rel=preload as=font href=x>", "font"),
    ("<link rel=preload as=style href=x>", "css"),
    ("<link rel=preload as=image imagesrcset='x 1x'>", "img"),
    ("<svg><image href=x /></svg>", "img"),
    ("<svg><image xlink:href=x /></svg>", "img"),
    ("<svg><use href='x#part' /></svg>", "img"),
    ("<svg><use xlink:href='x#part' /></svg>", "img"),
    ("<svg><script xlink:href=x /></svg>", "js"),
    ("<svg><style>a { background: url(x) }</style></svg>", "img"),
    ("<p style='background: url(x)'>", "img"),
    ("<a href=/ style='background: url(x)'>t</a>", "img"),
    ("<p style=\"content: '/*'; background: url(x\">", "img"),
    (r"<p style='background: url(\78)'>", "img"),
    ("<style>a { background: url('x') }</style>", "img"),
    ("<style>@import 'x';</style>", "css"),
    ("<style>@import url(x);</style>", "css"),
]


@pytest.mark.req("S2.28")
@pytest.mark.parametrize(("markup", "kind"), LINKS)
def test_place_is_a_link(page_of, markup, kind):
    page = page_of(markup)
    assert (BASE + "x", kind) in [(link.url, link.kind) for link in page.links]


@pytest.mark.req("S2.27")
@pytest.mark.parametrize(("markup", "kind"), ASSETS)
def test_place_is_an_asset(page_of, markup, kind):
    page = page_of(markup)
    assert (BASE + "x", kind) in [(link.url, link.kind) for link in page.assets]


@pytest.mark.parametrize(
    "markup",
    [
        "<img src=i usemap='#map'>",
        "<a href='#top'>t</a>",
        "<a href=javascript:void(0)>t</a>",
        "<a href=mailto:a@b.example>t</a>",
        "<img src=data:image/png;base64,AAAA>",
        "<link rel=dns-prefetch href=//other.example>",
        "<link rel=preconnect href=//other.example>",
        "<link rel=pingback href=/xmlrpc.php>",
        "<link rel=webmention href=/webmention>",
        "<form method=post><button formaction=/x>t</button></form>",
        "<button formmethod=POST formaction=/x>t</button>",
        "<!-- <a href=x> -->",
        "<script>'<a href=x>'</script>",
        "<style>/* url(x) */</style>",
        "<p style='background: url(x y.png)'>",
        "<textarea><a href=x></textarea>",
    ],
)
def test_place_refers_to_nothing(page_of, markup):
    page = page_of(markup)
    assert [link.url for link in page.links + page.assets if link.url != f"{BASE}i"] == []


def test_font_in_a_style_block_is_told_by_its_ending(page_of):
    page = page_of("<style>@font-face { src: url(a.woff2?v=1#x) format('woff2') }</style>")
    assert [(link.url, link.kind) for link in page.assets] == [(BASE + "a.woff2?v=1", "font")]


def test_codebase_is_the_base_of_an_object(page_of):
    page = page_of("<object codebase=/lib/ data=movie.swf archive='one.jar two.jar'></object>")
    urls = {link.url for link in page.assets}
    assert {
        "http://site.example/lib/movie.swf",
        "http://site.example/lib/one.jar",
        "http://site.example/lib/two.jar",
    } <= urls


def test_base_element_changes_the_base_of_all_places(page_of):
    page = page_of("<base target=_top><base href=/other/><base href=/no/><a href=x><img src=y>")
    assert page.links[0].url == "http://site.example/other/x"
    assert page.assets[0].url == "http://site.example/other/y"


@pytest.mark.parametrize("href", ["data:,x", "", "http://[/"])
def test_useless_base_element_stands_for_the_page_itself(page_of, href):
    page = page_of(f"<base href='{href}'><base href=/no/><a href=x>t</a>")
    assert page.links[0].url == BASE + "x"


def test_each_url_and_kind_appears_once(page_of):
    page = page_of("<a href=x><a href=x#a><a href='../dir/x'><area href=x><a href=./x>")
    assert sorted((link.url, link.kind) for link in page.links) == [
        (BASE + "x", "a"),
        (BASE + "x", "area"),
    ]


def test_links_keep_the_order_of_the_page(page_of):
    page = page_of("<a href=c><a href=a><a href=b><a href=a>")
    assert [link.url for link in page.links] == [BASE + "c", BASE + "a", BASE + "b"]


def test_an_asset_is_not_refused_where_the_link_of_the_same_kind_is(page_of):
    page = page_of("<iframe src=x rel=nofollow></iframe>")
    assert [(link.kind, link.nofollow) for link in page.links] == [("iframe", True)]
    assert [(asset.kind, asset.nofollow) for asset in page.assets] == [("iframe", False)]


@pytest.mark.parametrize(
    "markup",
    [
        "<style>a{b:image-set('a.png' 1x)}</style>",
        "<p style=\"b:image-set('a.png' 1x)\">x</p>",
        "<img STYLE=\"b:image-set('a.png' 1x)\" alt=x>",
        "<a href=x style=\"b:-webkit-Image-Set('a.png' 1x\">x</a>",
        "<table><tr><td style=\"b:image-set('a.png' 1x)\">x",
        "<video style=\"b:image-set('a.png' 1x)\"></video>",
        "<template></template><p style=\"b:image-set('a.png' 1x)\">x</p>",
    ],
)
def test_strings_of_an_image_set_are_images(page_of, markup):
    for _ in range(2):
        page = page_of(markup)
        assert [(link.kind, link.url) for link in page.assets] == [
            ("img", "http://site.example/dir/a.png")
        ]
