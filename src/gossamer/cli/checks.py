"""What `gossamer doctor` looks at; each check says what it found and, if need be, what to do."""

import os
import re
import select
import shutil
import ssl
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from msgspec import Struct

from gossamer.config.settings import Settings
from gossamer.config.spider import SpiderSettings
from gossamer.crawl.open_files import files_allowed, files_needed
from gossamer.crawl.workspace import Workspace
from gossamer.errors import ConfigError, GossamerError
from gossamer.wording import bytes_in_words, count_in_words

OK = "ok"
WARNING = "warning"
PROBLEM = "problem"

# Before these, the interpreter has known faults in modules that meet bytes from the web; gossamer
# avoids those modules, so this is advice and no condition.
_SAFE_PYTHON = {(3, 11): 14, (3, 12): 12, (3, 13): 9}
_SAFE_LIBCURL = (8, 20, 0)
# No clock of a machine that runs this version can show an earlier time.
_RELEASED_AT = 1_790_000_000.0
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:>=([0-9.]+))?$")


class Check(Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    level: str
    found: str
    advice: str = ""


def machine(folder: Path, settings: Settings) -> list[Check]:
    """Check what a crawl needs of this machine."""
    return [
        _python(sys.version_info[:3]),
        *dependencies(),
        libcurl(),
        page_reader(),
        link_joiner(),
        record_writer(),
        head_reader(),
        fetch_lane(),
        link_walker(),
        authorities(settings.spider),
        open_files(files_allowed(), settings.crawl.concurrency),
        clock(time.time()),
        disk(folder, settings.store.reserve_bytes),
        *_proxies(),
    ]


def _python(installed: tuple[int, int, int]) -> Check:
    found = ".".join(map(str, installed))
    if installed < (3, 11):
        return Check("python", PROBLEM, found, "install Python 3.11 or newer")
    safe = _SAFE_PYTHON.get(installed[:2], 0)
    if installed[2] < safe:
        newer = f"{installed[0]}.{installed[1]}.{safe}"
        return Check("python", WARNING, found, f"security fixes are missing; upgrade to {newer}")
    return Check("python", OK, found)


def dependencies(package: str = "gossamer") -> Iterator[Check]:
    """Check that what the package asks for is installed, and new enough."""
    try:
        asked = requires(package) or []
    except PackageNotFoundError:
        advice = "install it: pip install --no-deps -e . (or run make setup)"
        yield Check("dependencies", PROBLEM, f"{package} is not installed as a package", advice)
        return
    versions = []
    for requirement in asked:
        match = _REQUIREMENT.match(requirement)
        if match is None:
            continue
        name, least = match[1], match[2] or "0"
        try:
            found = version(name)
        except PackageNotFoundError:
            yield Check(name, PROBLEM, "not installed", f"pip install '{requirement}'")
            continue
        versions.append(f"{name} {found}")
        if _numbers(found) < _numbers(least):
            yield Check(name, PROBLEM, found, f"pip install '{requirement}'")
    yield Check("dependencies", OK, ", ".join(versions))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def page_reader() -> Check:
    """Check the part that reads pages."""
    from gossamer.parse.skim import is_compiled

    return _compiled_part("page reader", "pages are read at a third of the speed", is_compiled())


def link_joiner() -> Check:
    """Check the part that makes references absolute."""
    from gossamer.url.plain import is_compiled

    return _compiled_part("link joiner", "links take twice as long", is_compiled())


def record_writer() -> Check:
    """Check the part that writes what an archive keeps."""
    from gossamer.store.group import is_compiled

    return _compiled_part("record writer", "keeping a page takes a third longer", is_compiled())


def head_reader() -> Check:
    """Check the part that reads the heads of responses."""
    from gossamer.spider.plain_head import is_compiled

    return _compiled_part("head reader", "fetching a page takes a tenth longer", is_compiled())


def fetch_lane() -> Check:
    """Check the part that fetches ordinary pages."""
    from gossamer.spider.lane import is_compiled

    return _compiled_part("fetch lane", "fetching a page takes twice as long", is_compiled())


def link_walker() -> Check:
    """Check the part that finds the URLs of links when a map is made."""
    from gossamer.site.keys import is_compiled

    return _compiled_part("link walker", "the end of a map takes a third longer", is_compiled())


def _compiled_part(name: str, loss: str, is_compiled: bool) -> Check:
    """Check a part that is compiled when gossamer is installed, if there is a compiler."""
    if is_compiled:
        return Check(name, OK, "compiled")
    advice = (
        f"{loss}; install a C compiler and the headers of Python "
        "(on Debian: apt install gcc libc6-dev python3-dev), then install gossamer again"
    )
    return Check(name, WARNING, "not compiled", advice)


def libcurl() -> Check:
    """Check the library that fetches."""
    try:
        import pycurl
    except ImportError as error:
        return Check("libcurl", PROBLEM, str(error), "pip install --force-reinstall pycurl")
    info = pycurl.version_info()
    number, bits, tls, protocols = info[1], info[4], info[5], info[8]
    found = f"{number}, {tls or 'no TLS'}"
    if "https" not in protocols:
        advice = "install pycurl from a wheel: pip install --only-binary :all: pycurl"
        return Check("libcurl", PROBLEM, found, advice)
    if not bits & pycurl.VERSION_HTTP2:
        return Check("libcurl", WARNING, f"{found}, no HTTP/2", "install pycurl from a wheel")
    if _numbers(number) < _SAFE_LIBCURL:
        newer = ".".join(map(str, _SAFE_LIBCURL))
        return Check("libcurl", WARNING, found, f"upgrade pycurl for libcurl {newer} or newer")
    return Check("libcurl", OK, f"{found}, HTTP/2")


def authorities(settings: SpiderSettings) -> Check:
    """Check that there is somebody to trust for TLS, by the file that the spider will use."""
    from gossamer.spider.trust import Trust

    advice = "install the ca-certificates package, or set [spider] ca_file"
    try:
        trust = Trust(settings)
    except ConfigError as error:
        return Check("certificates", PROBLEM, str(error), "correct [spider] ca_file")
    try:
        if not trust.path:
            return Check("certificates", PROBLEM, "no certificate authorities found", advice)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(trust.path)
    except (OSError, ssl.SSLError) as error:
        return Check("certificates", PROBLEM, f"{trust.path}: {error}", advice)
    finally:
        trust.close()
    count = context.cert_store_stats()["x509_ca"]
    if count == 0:
        return Check("certificates", PROBLEM, "no certificate authorities found", advice)
    found = count_in_words(count, "authority", "authorities")
    return Check("certificates", OK, f"{found} in {settings.ca_file or trust.path}")


def open_files(limit: int | None, concurrency: int) -> Check:
    """Check that there are enough file descriptors for the connections asked for."""
    needed = files_needed(concurrency)
    if limit is None:
        return Check("open files", OK, "no limit")
    found = f"{limit} allowed, {needed} needed for concurrency {concurrency}"
    if limit >= needed:
        return Check("open files", OK, found)
    lower = ", or lower --concurrency" if limit >= files_needed(1) else ""
    return Check("open files", PROBLEM, found, f"run `ulimit -n {needed}`{lower}")


def clock(now: float) -> Check:
    """Check that the time can be right: records and certificates depend on it."""
    found = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    if now < _RELEASED_AT:
        return Check("clock", PROBLEM, f"{found}, in the past", "set the clock, e.g. start chrony")
    return Check("clock", OK, found)


def disk(folder: Path, reserve_bytes: int) -> Check:
    """Check that there is room below the nearest folder that exists."""
    try:
        place = folder.absolute()
    except FileNotFoundError:
        advice = "change to one that is there (cd), or name it in full: --dir /…"
        return Check("disk", PROBLEM, "the folder in which you are has been removed", advice)
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    files = os.statvfs(place)
    found = f"{bytes_in_words(free)} free in {place}"
    if free < reserve_bytes:
        advice = f"make room: crawling pauses below {bytes_in_words(reserve_bytes)}"
        return Check("disk", PROBLEM, found, f"{advice} ([store] reserve_bytes)")
    if files.f_files and files.f_favail < 1000:
        return Check("disk", PROBLEM, f"{files.f_favail} inodes free in {place}", "remove files")
    if not os.access(place, os.W_OK):
        return Check("disk", PROBLEM, f"{place} is not writable", "choose another --dir")
    return Check("disk", OK, found)


def _proxies() -> Iterator[Check]:
    names = [name for name in ("http_proxy", "https_proxy", "all_proxy") if _environment(name)]
    if names:
        found = f"{', '.join(names)} set"
        yield Check("proxy", WARNING, found, "gossamer connects directly and ignores them")


def _environment(name: str) -> str | None:
    return os.environ.get(name) or os.environ.get(name.upper())


def dns(name: str, settings: Settings) -> Check:
    """Check that a name can be resolved, through the resolver that a crawl uses."""
    from gossamer.urlserver.dns import Resolver

    advice = (
        "check the network and /etc/resolv.conf, or set [urlserver] dns_servers; "
        "without a network only literal addresses can be crawled (--offline skips this check)"
    )
    seconds = settings.urlserver.dns_timeout_seconds + 1
    resolver = Resolver(settings.urlserver)
    try:
        resolver.resolve(name)
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            select.select([resolver.fileno()], [], [], max(0.0, give_up - time.monotonic()))
            for answered, answer in resolver.results():
                if answered == name:
                    return _dns_answer(name, answer.addresses, answer.detail, advice)
    finally:
        resolver.close()
    return Check("dns", PROBLEM, f"no answer about {name} in {seconds:.0f} s", advice)


def _dns_answer(name: str, addresses: Sequence[str], detail: str, advice: str) -> Check:
    if addresses:
        return Check("dns", OK, f"{name} is at {', '.join(addresses[:3])}")
    return Check("dns", PROBLEM, f"{name}: {detail or 'no address'}", advice)


def workspace(directory: Path, settings: Settings) -> list[Check]:
    """Check a workspace: is it there, private, in use, and do its parts agree."""
    place = Workspace(directory)
    try:
        place.require()
        return [
            _privacy(directory),
            _use(place),
            _catalog(place.catalog, settings),
            _archive(place, settings),
        ]
    except GossamerError as error:
        return [Check("workspace", PROBLEM, str(error), "see the message")]


def _privacy(directory: Path) -> Check:
    mode = directory.stat().st_mode & 0o777
    if mode & 0o077:
        advice = f"others can look into it: chmod 700 {directory}"
        return Check("workspace", WARNING, f"{directory} has mode {mode:03o}", advice)
    return Check("workspace", OK, str(directory))


def _use(place: Workspace) -> Check:
    holders = place.holders()
    return Check("in use", OK, f"by {' and '.join(holders)}" if holders else "no")


def _catalog(path: Path, settings: Settings) -> Check:
    from gossamer.catalog.sqlite import SqliteCatalog

    with SqliteCatalog.open(path, settings.catalog, read_only=True) as catalog:
        complaints = catalog.check()
        counts = catalog.counts()
        newest = catalog.last_fetched_at() or 0.0
    if complaints:
        advice = "stop using this workspace: export what is there and report it"
        return Check("catalog", PROBLEM, "; ".join(complaints[:5]), advice)
    if newest > time.time() + 60:
        advice = "the clock was ahead then or is behind now; set it"
        return Check("catalog", WARNING, "its newest fetch lies in the future", advice)
    return Check("catalog", OK, f"{count_in_words(counts.discovered, 'URL')}, the accounting holds")


def _archive(place: Workspace, settings: Settings) -> Check:
    from gossamer.catalog.sqlite import SqliteCatalog
    from gossamer.store.verify import verify_folder

    with SqliteCatalog.open(place.catalog, settings.catalog, read_only=True) as catalog:
        known_good = catalog.known_good()
    report = verify_folder(place.archive, known_good)
    sound = count_in_words(sum(report.records.values()), "sound record")
    found = f"{count_in_words(report.files, 'file')}, {sound}"
    if not report.sound:
        first = report.faults[0]
        where = f"{first.file} at byte {first.offset} {first.url}".rstrip()
        advice = "restore the file from a copy; all other records can be read"
        damage = f"{found}, {report.fault_count} damaged: {where}: {first.problem}"
        return Check("archive", PROBLEM, damage, advice)
    if report.torn_bytes:
        torn = f"{found}, {bytes_in_words(report.torn_bytes)} at torn ends"
        return Check("archive", WARNING, torn, "the next crawl cuts them; nothing is lost")
    return Check("archive", OK, found)
