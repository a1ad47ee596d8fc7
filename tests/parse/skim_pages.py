"""Pages by lot that are odd in all the ways in which a page can be, for both ways of reading."""

from random import Random

REFERENCES = (
    "x", "y#f", "#f", "z.png", "/r?a=1&copy=2", "/r?a&amp;b", "&#120;", "x\r\ny", "",
    "javascript:1",
    "http://other.example/", "q&lt=3", "q&lt", "\u00e9", "data:x", "//h", "a b", "?&notit;",
    "&nGt;",
)  # fmt: skip
STYLES = ("color:red", "background:url(u.png)", "b:u\\72l(x)", "font:&quot;A&quot;",
          "x:&#117;rl(v)",
          "@import 'i.css'", "URL( 'w' )", "&bsol;", "b:image-set('s.png' 1x)",
          "b:-WEBKIT-Image-Set(&quot;t&quot;, url(u.png) 2x")  # fmt: skip
VALUES = {
    "style": STYLES,
    "rel": ("nofollow", "NOFOLLOW x", "stylesheet", "icon", "alternate", "canonical",
    "ugc nofollow",
            "x-nofollow", "no&#102;ollow", "next", "preload", "nofollow\v"),
    "name": ("robots", "description", "gossamer", "keywords", "ROBOTS", "d&#101;scription"),
    "content": ("noindex", "a, nofollow", "none", "text/html; charset=utf-8", "0;url=x", "x & y",
                "text/html; charset=latin1", "text/html;charset='utf-8'", "charset=utf-8"),
    "http-equiv": ("content-type", "Content-Type", "refresh", "Ref&#114;esh", "x"),
    "charset": ("utf-8", "UTF-8", "latin1", "foo", "utf-16", "", "gbk", " utf-8 ",
    "x-user-defined"),
    "type": ("hidden", "text/html", "image/png", "application/rss+xml"),
    "hreflang": ("de", "en"),
    "srcset": ("a 1x, b 2x", "c", "a,b"),
}  # fmt: skip
# Which attributes suit an element; others come too.
ATTRIBUTES = {
    "a": ("href", "href", "rel"), "img": ("src", "srcset"), "link": ("rel", "href", "hreflang"),
    "meta": ("name", "content", "http-equiv", "charset"), "source": ("src", "srcset"),
    "video": ("src", "poster"), "object": ("data", "codebase", "type"), "base": ("href",),
    "embed": ("src", "codebase"), "script": ("src",), "iframe": ("src", "longdesc"),
    "body": ("background",), "html": ("manifest",), "head": ("profile",), "q": ("cite",),
}  # fmt: skip
OTHER_ATTRIBUTES = ("class", "id", "style", "href", "HREF", "src", "background", "usemap", "action",
                    "title", "xlink:href", "formaction", "ping", "data", "type")  # fmt: skip
TEXTS = (
    "one", "two. ", "Three; ", "\n", "\n\n", " ", "\t", "\r\n", "\r", "&amp;", "&amp", "&copy",
    "&nbsp;",
    "&notit;", "&#10;", "&#13;", "&#32;", "&#0;", "&#x80;", "&#xD800;", "&#x110000;", "&", "&#",
    "&#x",
    "\u3002", "\uff0c", "\uff1b", "\u00e9", "\U0001f389", "\x01", "\f", "\v", "<", "a<b", "<3", "!",
    "?",
    "&fjlig;", "&NotEqualTilde;", "&lt;", "]]>", "-->", "'", '"',
    "&CounterClockwiseContourIntegral;",
)  # fmt: skip
RAW_TEXTS = ("<!--", "-->", "<script>", "</script", "<p>", "url(a.png)", "@import 'b.css';", "\\",
             "b:image-set('c.png' 1x)",
             "\n",
             "</style", "a<b", "\"<a b='\"", "</title ", "<!-- <script>", "charset=x")  # fmt: skip
COMMENTS = (
    "<!-- c -->", "<!-->", "<!--->", "<!---->", "<!-- a --!> b", "<!-- <!-- -->", "<!--x", "<!x>",
    "<!>",
    "<?x?>", "<?xml version='1.0' encoding='utf-8'?>", "</ x>", "</>", "<!DOCTYPE html>", "<!-",
    "<![CDATA[x>y]]>", "<!-- charset -->", "<!--->-->", '<!DOCTYPE html PUBLIC "a>b">',
    "<!---!>-->",
)  # fmt: skip
HEADS = (
    "<!DOCTYPE html>", "<html>", "<html lang=en>", "<head>", "</head>", "<body>",
    "<body background=b>",
    "<html manifest=m>", "<head profile=p>", "\n", " ", "<title>T &amp; x</title>", "<noscript>",
    "<title>charset=latin1</title>", "<meta name=keywords content='charset refresh'>",
    "<meta charset=utf-8>", "<link rel=icon href=i>", "<base href=/b/>",
    "<style>a{b:url(c)}</style>",
    "<script src=s></script>", "</noscript>", "<meta name=description content=d>", "&#10;",
    "<meta http-equiv='content-type' content='text/html; charset=utf-8'>",
)  # fmt: skip
ELEMENTS = (
    "a", "a", "a", "p", "div", "span", "b", "i", "noscript", "form", "button", "li", "ul", "h1",
    "br", "q",
    "nobr", "video", "audio", "picture", "img", "link", "meta", "source", "embed", "iframe",
    "marquee",
)  # fmt: skip
# Nearly all of these need the tree.
RARE_ELEMENTS = ("object", "applet", "template", "frameset", "math", "image", "body", "td", "tr",
                 "text",
                 "option", "html", "head", "base", "command", "font", "plaintext")  # fmt: skip
RAW_ELEMENTS = ("script", "style", "title", "textarea", "iframe", "noframes", "xmp", "pre")
DRAWN = (
    "<g>", "</g>", "<path/>", "<path d=x>", "<use xlink:href=x />", "<title>T</title>", "<title/>",
    "\n",
    "<text>t</text>", "</text>", "<rect style='fill:url(#a)'/>", "</p>", "<!-- -->", "<tspan>",
    "<a xlink:href=x>", "<a xlink:href='y#f'>", "</a>", "</a/>", "<a xlink:href=z />", "<a>", "u. ",
)  # fmt: skip
CHOICES = (
    "<option>",
    "<option value=1>",
    "</option>",
    "<optgroup>",
    "\n",
    "one. ",
    "<script>1</script>",
)
LINKS = ("<a href=x>", "<a href=y>", "<a href=x#f>", "<a href=x rel=nofollow>", "</a>", "<p>", "z",
         "<a href='x#f' rel='ugc nofollow'>", "<a href=&#120; rel=nofollow>", "<b>")  # fmt: skip
BETWEEN_ROWS = ("\n", " ", "<tbody>", "</tbody>", "<col>", "<form>", "</form>",
                "<input type=hidden>", "<thead>", "</thead>", "<tfoot>", "</tfoot>", "</tr>",
                "<!-- -->", "<script>x</script>", "x", "<caption>c</caption>")  # fmt: skip

IN_LINKS = ("b", "i", "p", "div", "span", "li", "h1", "h2", "code", "nobr", "dd", "dt", "button",
            "font", "marquee", "video", "pre", "u", "ul", "table", "td", "svg", "object",
            "section", "select", "form", "br")  # fmt: skip
SHOWN = ("<img src=1>", "<iframe src=2></iframe>", "<img data-src='3'>", "<embed src=4 data-src=x>",
         "<source src='a&amp;b'>", "<video src=5></video>", "<img src>", "<img src='' src=6>",
         "<p src=7>")  # fmt: skip
STARTS_OF_LINKS = ("<a href=x>", "<a href=y>", "<a href='#f'>", "<a name=n>", "<a href='x#g'>",
                   "<A HREF='k&amp;l'>", "<a href>", "<a href=x href=y>")  # fmt: skip
SAID = ("one ", "two. ", "\n", "&amp;", "May 3", "x1y2", " ", "\r\n", "&#13;", "\u00e9")


def made_links(random: Random) -> bytes:
    """Return a page by lot with links around much else; in most, what is opened first ends last."""
    parts: list[str] = []
    opened: list[str] = []
    is_neat = random.random() < 0.6
    for _ in range(random.randint(1, 40)):
        lot = random.random()
        if lot < 0.35:
            parts.append(random.choice(SAID))
        elif lot < 0.42:
            parts.append(random.choice(SHOWN))
        elif lot < 0.5:
            parts.append(random.choice(STARTS_OF_LINKS))
            opened.append("a")
        elif lot < 0.68:
            opened.append(random.choice(IN_LINKS))
            parts.append(f"<{opened[-1]}>")
        elif opened and (is_neat or lot < 0.93):
            parts.append(f"</{opened.pop()}>")
        else:
            parts.append(f"</{random.choice((*IN_LINKS, 'a'))}>")
    return "".join(parts).encode()


def made_page(random: Random) -> bytes:
    """Return a page by lot."""
    made = _Maker(random)
    chosen = random.choices(HEADS, k=random.choice((0, 0, 1, 2, 4, 6)))
    nodes = [made.node(random.choice((1, 2, 3))) for _ in range(random.randint(1, 6))]
    end = random.choice(("", "", "</body></html>", "</html>\n", "</body>\n<p>x"))
    body = "".join((*chosen, *nodes, end)).encode()
    lot = random.random()
    if lot < 0.02:
        return body + random.choice((b"\0", b"\xff", b"\xed\xa0\x80", b"\xc3"))
    if lot < 0.03:
        return b"\xef\xbb\xbf" + body
    if lot < 0.13:
        return body[: random.randint(0, len(body))]
    return body


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.choice = random.choice

    def node(self, depth: int) -> str:
        lot = self.random.random()
        if lot < 0.3 or depth <= 0:
            return self.text()
        if lot < 0.34:
            return self.choice(COMMENTS)
        if lot < 0.42:
            return self.raw(self.choice(RAW_ELEMENTS))
        if lot < 0.46:
            return f"</{self.choice(ELEMENTS)}{self.choice(('>', '>', ' >', '/>', ' a=b>', ''))}"
        if lot < 0.54:
            return self.table(depth - 1)
        if lot < 0.58:
            return f"<select>{self.some(CHOICES)}{self.choice(('</select>', '</select>', ''))}"
        if lot < 0.6:
            return self.some(LINKS) + self.some(LINKS)
        if lot < 0.66:
            return f"{self.start('svg')}{self.some(DRAWN)}{self.choice(('</svg>', '</svg>', ''))}"
        rare = self.random.random() < 0.04
        element = self.choice(RARE_ELEMENTS if rare else ELEMENTS)
        inside = "".join(self.node(depth - 1) for _ in range(self.random.randint(0, 3)))
        end = f"</{element}>" if self.random.random() < 0.8 else ""
        return f"{self.start(element)}{inside}{end}"

    def text(self) -> str:
        return self.some(TEXTS)

    def some(self, pieces: tuple[str, ...]) -> str:
        return "".join(self.random.choices(pieces, k=self.random.randint(0, 4)))

    def start(self, element: str) -> str:
        attributes = "".join(
            self.attribute(element) for _ in range(self.choice((0, 0, 1, 1, 2, 3)))
        )
        shown = element.upper() if self.random.random() < 0.05 else element
        return f"<{shown}{attributes}{self.choice(('>',) * 20 + ('/>', ' >', ''))}"

    def attribute(self, element: str) -> str:
        suits = element in ATTRIBUTES and self.random.random() < 0.9
        names = ATTRIBUTES[element] if suits else ("class", "id", "lang")
        if self.random.random() < 0.1:
            names = OTHER_ATTRIBUTES
        name = self.choice(names)
        value = self.choice(VALUES.get(name.lower(), REFERENCES))
        shapes = (f'{name}="{value}"',) * 6 + (
            f"{name}='{value}'", f"{name}={value}", f'{name} = "{value}"', name, f"{name}=",
            f"={name}",
            f'{name}="{value}', f'"{name}"={value}', f"{name}\n=\n{value}",
        )  # fmt: skip
        return self.choice((" ",) * 12 + ("\n", "/", "\t", " / ", "")) + self.choice(shapes)

    def raw(self, element: str) -> str:
        inside = self.some(RAW_TEXTS + TEXTS)
        if element in ("textarea", "pre"):
            starts = ("", "\n", "\r\n", "\r", "\n\n", "&#10;", "\n\r", "&lt;", "&NewLine;")
            inside = self.choice(starts) + inside
        ends = (f"</{element}>",) * 8 + (f"</{element}", f"</{element} a='>'>", f"</{element}/>")
        return f"{self.start(element)}{inside}{self.choice(ends)}"

    def table(self, depth: int) -> str:
        parts = [
            self.row(depth) if self.random.random() < 0.6 else self.choice(BETWEEN_ROWS)
            for _ in range(self.random.randint(0, 4))
        ]
        return f"<table>{''.join(parts)}{self.choice(('</table>',) * 5 + ('',))}"

    def row(self, depth: int) -> str:
        cells = [
            f"<{cell}>{self.node(depth - 1)}{self.choice((f'</{cell}>', f'</{cell}> ', ''))}"
            for cell in self.random.choices(("td", "th"), k=self.random.randint(0, 3))
        ]
        return f"<tr>{''.join(cells)}{self.choice(('</tr>', ''))}"


# What hardly belongs where it comes to stand: parts of tags, ends of what nobody began, odd bytes.
DAMAGES = (
    b"<a\0href=x>", b"<a =href=x>", b'<a "href=x>', b"</a href=x>", b"<a/href=x/>",
    b"<a href=x/>", b"<table><a href=x><tr>", b"</table>", b"<select><a href=x>", b"</select>",
    b"<svg><title>", b"<math><annotation-xml encoding=text/html>", b"</math>", b"</svg>",
    b"<template>", b"</template>", b"<plaintext>", b"<listing>\n", b"<isindex>", b"<form><form>",
    b"<button><button>", b"</p>", b"</br>", b"</body>", b"</head>", b"<body a=b>", b"<html c=d>",
    b"<title>", b"</title>", b"<textarea>", b"</textarea>", b"<script><!--<script>",
    b"--></script>", b"<style>", b"</style>", b"<noembed>", b"</noembed>", b"<frameset>", b"<!--",
    b"-->", b"--!>", b"<!", b"<?", b"</", b"<", b">", b"<![CDATA[", b"]]>", b"&amp", b"&#x",
    b"&#0", b"\r", b"\0", b"\x0c", b"\x0b", b"\xef\xbb\xbf", b"\xc3", b"\xff", b"\xed\xa0\x80",
    b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xc2\x85", b"\xe2\x80\xa8", b"'", b'"', b"=", b"/", b" ",
    b"<meta charset=latin1>", b"<base href=''>", b" rel=nofollow", b" style='a:url(b'",
    b" ping=p", b" srcset='a 1x,b 2x'", b"<noscript>", b"</noscript>", b"<b><i></b></i>",
    b"<nobr><nobr>", b"<h1><h2>", b"<rp>", b"<optgroup>", b"<caption>", b"<col>", b"<dd><dt><li>",
    b"<image src=i>",
)  # fmt: skip


def damaged(random: Random, body: bytes) -> bytes:
    """Return a page with parts cut out, put elsewhere or exchanged, and others put in."""
    page = bytearray(body)
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        place, source = (random.randint(0, len(page)) for _ in range(2))
        length = random.choice((1, 2, 5, 20, 200))
        lot = random.random()
        if lot < 0.2:
            del page[place : place + length]
        elif lot < 0.3:
            page[place : place + 1] = bytes((random.randrange(256),))
        elif lot < 0.45:
            page[place:place] = page[source : source + length]
        else:
            page[place:place] = random.choice(DAMAGES)
    return bytes(page)
