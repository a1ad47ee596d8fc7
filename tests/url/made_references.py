"""References by lot: most are plain or nearly so, the others are what strangers may write."""

from random import Random

DIRECTORIES = (
    "http://h/",
    "http://h/a/b/",
    "http://h/a//b/",
    "https://h.example:8080/~x/y;z/",
    "http://h/" + "d/" * 62,
    "http://h/" + "d/" * 63,
    "http://h/" + "d/" * 80,
)
_PIECES = (
    *"abzAZ019_~,;=+()!$*@-./?&:",
    *"%#'|[]^{}\\ \"\t\n<>`\x00\x7f\u00e9\u4e2d\ud800",
    *("../", "./", "..", "//", "/.", "?a=b", "&c", "index.html", "a/b/c", "../" * 64, "../" * 90),
    *("http://", "https://", "http:", "HTTP://", "a.bc", "a.bc/", "1.bc/", "a.1/", "a-b.c-d/"),
    *("xn--a.bc/", "a..bc/", ".bc/", "a.b/", "u@a.bc/", "a.bc:80/", "javascript:", "x" * 250),
)


def made_reference(random: Random) -> str:
    return "".join(random.choices(_PIECES, k=random.randint(0, 8)))


def plain_reference(random: Random) -> str:
    climb = "../" * random.choice((0, 0, 1, 2, 5, 63, 64, 65, 90))
    start = random.choice((climb, "/", "http://a.bc/", "https://b-1.example.org/"))
    path = "".join(random.choices("abzAZ019_~,;=+()!$*@-", k=random.randint(1, 9)))
    end = random.choice(("", "/", "/a.html", "//b", "?a=b&c:d/e", "." + "x" * 300))
    return start + path + end


def references(random: Random, count: int) -> list[str]:
    makers = (made_reference, plain_reference)
    return [random.choice(makers)(random) for _ in range(count)]
