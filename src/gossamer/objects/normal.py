"""The normal form of URLs, and the ids made of it."""

from typing import Final

from msgspec.structs import replace

from gossamer.objects.problems import ObjectError
from gossamer.objects.site import Site, SiteURL
from gossamer.objects.url import URL
from gossamer.url.canonical import authority_of, canonicalize, md5_of
from gossamer.wording import shortened

_SHOWN: Final = 200


def normalised(url: str) -> str:
    """Return a URL in its normal form; ObjectError if it is none of http or https."""
    canonical = canonicalize(url)
    if canonical is None:
        expected = f"an http or https URL is expected, not {shortened(url, _SHOWN)!r}"
        raise ObjectError("URL", "url", expected)
    return canonical


def url_md5(url: str) -> str:
    """Return the id of a URL: md5 of its normal form, hexadecimal in lower case (C31)."""
    return md5_of(normalised(url)).hex()


def site_id_of(root_url: str) -> str:
    """Return the id of the site whose first root URL this is (C31)."""
    return url_md5(root_url)


def site_of_url(url: str) -> str:
    """Return the canonical root URL of the site of a URL: scheme://netloc/ (C30)."""
    return authority_of(normalised(url)) + "/"


def root_urls_of(site: Site) -> list[SiteURL]:
    """Return the root URLs of a site as objects, in their normal form, with their ids."""
    roots: list[SiteURL] = []
    for root in site.urls:
        made = SiteURL(url=root) if isinstance(root, str) else root
        url = normalised(made.url)
        roots.append(replace(made, url=url, url_md5=md5_of(url).hex(), site_id=site.id))
    return roots


def identified_site(site: Site) -> Site:
    """Return the site with its id, made of the first root URL if none is given."""
    if site.id:
        return site
    if not site.urls:
        raise ObjectError("Site", "id", "an id, or a root URL in urls, is expected")
    first = site.urls[0]
    return replace(site, id=site_id_of(first if isinstance(first, str) else first.url))


def identified_url(url: URL) -> URL:
    """Return the URL in its normal form, with the id made of it; ObjectError if it has none."""
    normal = normalised(url.url)
    return replace(url, url=normal, url_md5=md5_of(normal).hex())
