"""Optional steps on the query of a URL: sorted parameters, dropped parameters."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from gossamer.config.url import UrlSettings

# Parameters that only tell a site's statistics where a visitor came from.
TRACKING = (
    "utm_*",
    "mtm_*",
    "matomo_*",
    "pk_*",
    "piwik_*",
    "hsa_*",
    "_hsenc",
    "_hsmi",
    "__hssc",
    "__hstc",
    "__hsfp",
    "hsctatracking",
    "_ga",
    "_gac",
    "_gl",
    "gclid",
    "gclsrc",
    "gbraid",
    "wbraid",
    "dclid",
    "fbclid",
    "msclkid",
    "yclid",
    "twclid",
    "ttclid",
    "li_fat_id",
    "igshid",
    "igsh",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "oly_anon_id",
    "oly_enc_id",
    "vero_id",
    "vero_conv",
    "wickedid",
    "rb_clickid",
    "s_cid",
    "epik",
    "srsltid",
    "ref_src",
    "ref_url",
)


def tidy_query(url: str, settings: UrlSettings) -> str:
    """Return the URL with its query as the settings want it; the `?` goes with the last one."""
    start = url.find("?") + 1
    if not start or start == len(url):
        return url
    # `a=1&&b=2` has two parameters to every reader of queries.
    parameters = [parameter for parameter in url[start:].split("&") if parameter]
    if settings.drop_parameters:
        is_dropped = _drop_rule(settings.drop_parameters)
        parameters = [each for each in parameters if not is_dropped(_name(each))]
    if settings.sort_query:
        # By name only, and stably: the order of equal names can carry meaning.
        parameters.sort(key=_name)
    return url[:start] + "&".join(parameters) if parameters else url[: start - 1]


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]


@lru_cache(maxsize=64)
def _drop_rule(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Compile names, `prefix*` patterns and the word `tracking` to one question about a name."""
    names, prefixes = _split(patterns)

    def is_dropped(name: str) -> bool:
        return name in names or name.startswith(prefixes)

    return is_dropped


def _split(patterns: Sequence[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    spelled = [
        name for pattern in patterns for name in (TRACKING if pattern == "tracking" else (pattern,))
    ]
    names = frozenset(name for name in spelled if not name.endswith("*"))
    return names, tuple(name[:-1] for name in spelled if name.endswith("*"))
