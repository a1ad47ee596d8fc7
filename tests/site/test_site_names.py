"""`gossamer site` and names: resolved once for all pages, and again when nobody is there."""

import sys
import threading
from pathlib import Path

import pytest
from site_rig import Asked, Reply, Site, page, paths, site_map

sys.path.insert(0, str(Path(__file__).parents[1] / "urlserver"))
from dns_server import DnsServer, address


@pytest.mark.req("S2.33", "S2.12", "S2.21")
def test_the_name_is_resolved_once_and_stays_in_the_request():
    """The address is used for all pages while Host is the name; its TTL of 0 does not count."""

    def answer(asked: Asked) -> str:
        number = int(asked.path[1:] or 0)
        return page(*(f"/{n}" for n in range(number, min(number + 3, 30))), title="t" * number)

    script = {"site.test": lambda question: question.reply([address("site.test", "127.0.0.1", 0)])
              if question.kind == 1 else question.reply()}  # fmt: skip
    with (
        DnsServer(script) as names,
        Site(lambda path: answer if path[1:].isdecimal() or path == "/" else None) as site,
    ):
        flags = ("--set", f'urlserver.dns_servers=["127.0.0.1:{names.port}"]')
        found = site_map(site.url("/", "site.test"), *flags)
    assert len(found["pages"]) > 20
    assert {each.headers["host"] for each in site.asked} == {f"site.test:{site.port}"}
    assert sum(names.asked.values()) <= 2  # A and AAAA
    assert found["summary"]["site"] == f"site.test:{site.port}"


def test_subdomains_belong_to_the_site_when_asked_for():
    hosts = ("site.test", "a.site.test", "other.test")

    def answer(asked: Asked) -> str:
        port = asked.headers["host"].partition(":")[2]
        return page(*(f"http://{host}:{port}/" for host in hosts), title=asked.headers["host"])

    def found_at(name):
        return lambda question: (
            question.reply([address(name, "127.0.0.1")]) if question.kind == 1 else question.reply()
        )

    with DnsServer({name: found_at(name) for name in hosts}) as names, Site({"/": answer}) as site:
        flags = ["--set", f'urlserver.dns_servers=["127.0.0.1:{names.port}"]']
        flags += ["--set", "url.allow_private=true"]
        alone = site_map(site.url("/", "site.test"), *flags)
        wide = site_map(site.url("/", "site.test"), *flags, "--subdomains")
    assert len(alone["pages"]) == 1
    assert [each["url"] for each in wide["pages"]] == [site.url("/", host) for host in hosts[:2]]


@pytest.mark.parametrize(("flags", "is_open"), [((), False), (("--ignore-robots",), True)])
def test_robots_txt_of_subdomains_is_set_aside_with_that_of_the_site(flags, is_open):
    """Whoever owns a site owns what is below it."""
    rules = Reply(b"User-agent: *\nDisallow: /closed", headers={"Content-Type": "text/plain"})

    def start(asked: Asked) -> str:
        port = asked.headers["host"].partition(":")[2]
        return page(f"http://b.a.site.test:{port}/closed")

    def found_at(question):
        reply = [address(question.name, "127.0.0.1")] if question.kind == 1 else []
        return question.reply(reply)

    answers = {"/": start, "/robots.txt": rules, "/closed": page(title="Closed")}
    script = dict.fromkeys(("site.test", "b.a.site.test"), found_at)
    with DnsServer(script) as names, Site(answers) as site:
        own = ["--set", f'urlserver.dns_servers=["127.0.0.1:{names.port}"]', "--subdomains"]
        own += ["--set", "url.allow_private=true", *flags]
        found = site_map(site.url("/", "site.test"), *own)
    assert ("Closed" in {each["title"] for each in found["pages"]}) is is_open


@pytest.mark.req("S2.33")
def test_a_site_that_moves_to_another_address_is_found_there():
    """When no known address takes connections any more, the name is resolved again, once (B10)."""
    here, moved = ["127.0.0.2"], threading.Event()

    def script(question):
        if question.kind != 1:
            return question.reply()
        return question.reply([address("site.test", here[0], 86_400)])

    def answer(asked: Asked) -> Reply:
        number = int(asked.path[1:] or 0)
        if number == 10 and asked.address == "127.0.0.2":
            here[0] = "127.0.0.3"
            threading.Thread(target=close_old).start()
            assert moved.wait(60)
        links = page(f"/{number + 1}", text="word " * number) if number < 20 else page()
        # No connection outlives its answer, so each request needs an address.
        return Reply(links.encode(), headers={"Connection": "close"})

    def close_old() -> None:
        old.close()
        moved.set()

    def known(path: str):
        return answer if path[1:].isdecimal() or path == "/" else None

    with (
        DnsServer({"site.test": script}) as names,
        Site(known, place=("127.0.0.2", 0)) as old,
        Site(known, place=("127.0.0.3", old.port)) as new,
    ):
        flags = ["--set", f'urlserver.dns_servers=["127.0.0.1:{names.port}"]']
        flags += ["--set", "url.allow_private=true", "--set", "urlserver.ip_version=4"]
        found = site_map(old.url("/", "site.test"), *flags)
    assert found["summary"]["complete"]
    assert found["errors"] == []
    assert paths(found) == ["/", *(f"/{number}" for number in range(1, 21))]
    assert len(old.asked) > 10
    assert len(new.asked) >= 10
    assert names.asked["site.test"] == 2
