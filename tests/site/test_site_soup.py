"""Pages as people write them: what a browser makes of the tags is what the map shows."""

import browser_assets
import pytest
from site_rig import Reply, Site, page, site_map

SOUP = {
    "candidates": "<img src=a.png srcset='b.png 1x, c.png 2x,d.png'>"
    "<picture><source srcset='e.webp, f.webp 100w'><img src=g.png></picture>",
    "two-bases": "<base href=/sub/><base href=/other/><img src=x.png>",
    "late-base": "<img src=x.png><base href=/sub/><script src=j.js></script>",
    "no-script": "<noscript><link rel=stylesheet href=n.css></noscript><body>"
    "<noscript><img src=n.png></noscript>",
    "template": "<template><img src=t.png></template><img src=u.png>"
    "<div><template shadowrootmode=open><img src=shadow.png></template></div>",
    "comments": "<!-- <img src=1.png> --><!--><img src=2.png>--><img src=3.png>"
    "<![CDATA[<img src=4.png>]]>",
    "raw-text": "<textarea><img src=1.png></textarea><xmp><img src=3.png></xmp>"
    "<script>'<img src=4.png>'</script><style>/*<img src=5.png>*/</style>"
    "<iframe><img src=6.png></iframe><noembed><img src=7.png></noembed>"
    "<noframes><img src=8.png></noframes><img src=9.png>",
    "table": "<table><img src=1.png><tr><td background=2.png><img src=3.png></table>",
    "quotes": "<img src='a b.png'><img src=\"q'1.png\"><img src=un&amp;ent.png?x=1&copy=2>"
    '<img alt="<img src=no.png>" src=yes.png>',
    "white-space": "<img src='  a.png\n'><img src='b\nc.png'><img src=''><img src=' '>"
    "<script src='d\te.js'></script>",
    "svg": "<svg><image href=1.png /><image xlink:href=2.png /><use href=sprite.svg#a />"
    "<use href=#here /><style>rect{fill:url(3.png)}</style><script href=4.js></script></svg>",
    "style": "<style>@import 'i.css'; @import url(j.css); @font-face{font-family:x;"
    "src:url(f.woff2) format('woff2')} body{background:url( bg.png )} "
    "@media print{p{background-image:url('p.png')}}</style>"
    "<p style='background:url(&quot;in.png&quot;)'>",
    "media": "<video src=v.mp4 poster=p.jpg><source src=v2.webm><track src=t.vtt></video>"
    "<audio><source src=a.ogg></audio><embed src=e.swf><embed src=e.png type=image/png>"
    "<object data=o.pdf></object><object data=o.svg type=image/svg+xml></object>",
    "links": "<link rel=icon href=i.ico><link rel='shortcut icon' href=j.ico>"
    "<link rel=manifest href=m.json><link rel=preload as=font href=f.woff>"
    "<link rel=preload as=script href=p.js><link rel=modulepreload href=mp.js>"
    "<link rel=search type=application/opensearchdescription+xml href=os.xml>"
    "<link rel=dns-prefetch href=//x.invalid><link rel='STYLESHEET alternate' href=s.css>"
    "<link rel=alternate href=alt.html><link href=none.css>",
    "frames": "<iframe src=i.html></iframe><iframe src='javascript:0'></iframe>"
    "<iframe src=about:blank></iframe><iframe src='data:text/html,x'></iframe>",
    "wrong-names": "<image src=im.png><input type=image src=in.png><IMG SRC=UPPER.PNG>"
    "<img src=first.png src=second.png>",
    "select": "<select><img src=in.png><option>x</select><img src=after.png>",
    "unclosed": "<p><a href=x><img src=one.png<img src=two.png><b <i><img src=three.png>",
    "hosts": "<img src=//cdn.invalid/a.png><img src=HTTP://CDN.invalid:80/b.png>"
    "<img src=http:c.png><img src='\\\\d\\e.png'><img src='?q'><img src='#f'>",
    "paths": "<img src=../../a/./b/../c.png><img src=%2e%2e/x%2fy.png><img src=ü.png>",
    "plain-text": "<img src=before.png><plaintext><img src=after.png>",
    "body": "<body background=1.png><table background=2.png><tr><th background=3.png></table>",
    "overlap": "<a><p><a><b><i><img src=1.png></b><img src=2.png></i><p><img src=3.png></a>",
}


@pytest.mark.req("S2.4", "S2.14", "S2.27")
def test_a_page_of_any_form_has_the_assets_of_a_browsers_dom(tab):
    def written(body: str) -> Reply:
        headers = {"Content-Security-Policy": browser_assets.POLICY}
        return Reply(f"<!DOCTYPE html><title>x</title>{body}".encode(), headers=headers)

    answers: dict[str, str | Reply] = {f"/{name}/": written(body) for name, body in SOUP.items()}
    answers["/"] = page(*answers)
    with Site(answers) as site:
        found = site_map(site.url())
        different = {}
        for name in SOUP:
            url = site.url(f"/{name}/")
            assets = found["by_url"][url]["assets"]
            ours = {(kind, each) for kind, urls in assets.items() for each in urls}
            theirs = browser_assets.assets_in(tab, url)
            assert theirs, name
            if ours != theirs:
                different[name] = {"only we": ours - theirs, "only the browser": theirs - ours}
    assert different == {}
