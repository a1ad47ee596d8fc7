"""Answers of several nodes made into one (4b.9 of the requirements).

Sites are added up, URLs and contents are told apart by their md5 and the best of each kept, rows of
queries are put one after the other, and all other answers become one GeneralResponse.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Final, TypeVar

from msgspec.structs import replace

from gossamer.objects.answers import ClientResponse, ClientResponseItem, GeneralResponse
from gossamer.objects.columns import URL_COLUMNS, by_lower_name
from gossamer.objects.content import URLContentResponse
from gossamer.objects.enumerations import Operation, ResponseItemError
from gossamer.objects.expressions import Column, Ordering
from gossamer.objects.extras import CustomResponse
from gossamer.objects.moments import epoch_of
from gossamer.objects.site import Site, is_absent
from gossamer.objects.url import URL

_Kind = TypeVar("_Kind")

_SUMMED: Final = (
    "resources",
    "contents",
    "collected_urls",
    "new_urls",
    "deleted_urls",
    "errors",
    "size",
)
# Divided between the nodes when they were set (limits.limit_of_node).
_LIMITS: Final = ("max_urls", "max_resources", "max_errors")
_URLS: Final = frozenset({Operation.URL_FETCH, Operation.URL_STATUS, Operation.URL_VERIFY})
_SITES: Final = frozenset({Operation.SITE_STATUS, Operation.SITE_FIND})
_CONTENTS: Final = frozenset({Operation.URL_CONTENT, Operation.BATCH})


def merge_response(
    operation: Operation, response: ClientResponse, order_by: Sequence[Ordering] = ()
) -> ClientResponse:
    """Return the answer of several nodes as that of one; `order_by` is that of the request.

    Nodes that failed take no part, unless all of them did; their errors stay to be seen.
    """
    if len(response.items_list) < 2:
        return response
    items = _without_absence(response.items_list)
    sound = [item for item in items if _is_sound(item)] or items
    objects = [item.item_object for item in sound if item.item_object is not None]
    merged = _merge_objects(operation, objects, order_by)
    return replace(response, items_list=[_merge_items(items, merged)])


def merge_sites(sites: Sequence[Site]) -> Site:
    """Return one site of several nodes: counters summed, masks joined, limits undivided."""
    # A node that does not know the site has nothing to add.
    known = [site for site in sites if not is_absent(site)] or list(sites[:1])
    changes: dict[str, object] = {name: _total(known, name) for name in (*_SUMMED, *_LIMITS)}
    mask = 0
    for site in known:
        mask |= site.error_mask
    changes["error_mask"] = mask
    changes["iterations"] = max(site.iterations for site in known)
    changes["avg_speed"] = min(site.avg_speed for site in known)
    return replace(known[0], **changes)


def merge_site_lists(lists: Iterable[Sequence[Site]]) -> list[Site]:
    """Return the sites of several nodes, each once, in the order in which they first came."""
    by_id = _grouped((site for sites in lists for site in sites), lambda site: site.id)
    return [merge_sites(group) for group in by_id.values()]


def merge_urls(lists: Iterable[Sequence[URL]], order_by: Sequence[Ordering] = ()) -> list[URL]:
    """Return each URL of a site once: that of the node that crawled it, then of higher status."""
    by_name = _grouped(
        (url for urls in lists for url in urls),
        lambda url: f"{url.site_id} {url.url_md5 or url.url}",
    )
    return ordered([max(group, key=url_rank) for group in by_name.values()], order_by)


def merge_contents(lists: Iterable[Sequence[URLContentResponse]]) -> list[URLContentResponse]:
    """Return the contents of several nodes; empty ones and duplicates within a site are dropped."""
    kept: dict[int, URLContentResponse] = {}
    places: dict[tuple[str, str, str], int] = {}
    for number, answer in enumerate(answer for answers in lists for answer in answers):
        if not answer.raw_contents and not answer.processed_contents:
            continue
        keys = _content_keys(answer)
        # It may be the link between two that seemed to have nothing in common.
        same = sorted({places[key] for key in keys if key in places})
        best = max([*(kept.pop(place) for place in same), answer], key=content_rank)
        place = same[0] if same else number
        kept[place] = best
        if len(same) > 1:
            places = {key: place if old in same else old for key, old in places.items()}
        places |= dict.fromkeys(keys, place)
    return [kept[place] for place in sorted(kept)]


def merge_general(answers: Sequence[GeneralResponse]) -> GeneralResponse:
    """Return one answer: the first error there was, all messages, the statuses of all nodes."""
    codes = [answer.error_code for answer in answers if answer.error_code]
    messages = dict.fromkeys(answer.error_message for answer in answers if answer.error_message)
    statuses = [status for answer in answers for status in answer.statuses]
    return GeneralResponse(
        error_code=codes[0] if codes else 0, error_message="; ".join(messages), statuses=statuses
    )


def merge_custom(answers: Sequence[CustomResponse]) -> CustomResponse:
    """Return the rows of all nodes, for each query one node after the other, and all complaints."""
    first = answers[0]
    several = not isinstance(first.query, str)
    results = [answer.result for answer in answers if isinstance(answer.result, list)]
    if several:
        parts = zip_longest(*results, fillvalue=[])
        joined: list[object] = [[row for rows in part for row in rows] for part in parts]
    else:
        joined = [row for rows in results for row in rows]
    problems = dict.fromkeys(answer.err_string for answer in answers if answer.err_string)
    return replace(
        first, result=joined if results else None, err_string="; ".join(problems) or None
    )


def url_rank(url: URL) -> tuple[bool, int, float]:
    """Return how good the record of a URL is, compared with that of another node."""
    return url.crawled > 0, int(url.status), _seconds(url.u_date)


def content_rank(answer: URLContentResponse) -> tuple[bool, int, float]:
    """Return how good contents are, by the fields of their URL."""
    fields = answer.db_fields
    return (
        _whole(fields.get("Crawled")) > 0,
        _whole(fields.get("Status")),
        _seconds(fields.get("UDate")),
    )


def ordered(urls: list[URL], order_by: Sequence[Ordering]) -> list[URL]:
    """Return URLs in the order of the first criterion; those without a value come first."""
    first = order_by[0] if order_by else None
    if first is None or not isinstance(first.node, Column) or first.node.name not in _COLUMNS:
        return urls
    attribute = _COLUMNS[first.node.name].attribute
    return sorted(
        urls, key=lambda url: _sort_key(getattr(url, attribute)), reverse=first.descending
    )


_COLUMNS: Final = by_lower_name(URL_COLUMNS)


def _merge_objects(
    operation: Operation, objects: Sequence[object], order_by: Sequence[Ordering]
) -> object:
    general = [each for each in objects if isinstance(each, GeneralResponse)]
    lists = [each for each in objects if isinstance(each, list)]
    if operation in _SITES and lists:
        return merge_site_lists([_only(Site, each) for each in lists])
    if operation in _URLS and lists:
        return merge_urls([_only(URL, each) for each in lists], order_by)
    if operation in _CONTENTS and lists:
        return merge_contents([_only(URLContentResponse, each) for each in lists])
    sites = _only(Site, objects)
    if operation in _SITES and sites:
        return merge_sites(sites)
    if lists:
        return [each for part in lists for each in part]
    custom = _only(CustomResponse, objects)
    if custom:
        return merge_custom(custom)
    return merge_general(general) if general else next(iter(objects), None)


def _merge_items(items: Sequence[ClientResponseItem], merged: object) -> ClientResponseItem:
    messages = dict.fromkeys(item.error_message for item in items if item.error_message)
    return ClientResponseItem(
        id=items[0].id,
        host=_words(item.host for item in items),
        port=_words(item.port for item in items),
        node=_words(item.node for item in items),
        time=_words(item.time for item in items),
        error_code=_words(item.error_code for item in items),
        error_message="; ".join(messages),
        item_object=merged,
    )


def _without_absence(items: list[ClientResponseItem]) -> list[ClientResponseItem]:
    """Return the items; that a site is not on one node is no error if it is on another."""
    if not any(map(_is_sound, items)):
        return items
    return [
        replace(item, error_code=int(ResponseItemError.OK), error_message="")
        if is_absent(item.item_object)
        else item
        for item in items
    ]


def _is_sound(item: ClientResponseItem) -> bool:
    return item.error_code == ResponseItemError.OK and item.item_object is not None


def _words(values: Iterable[object]) -> str:
    return ";".join(str(value) for value in values)


def _only(kind: type[_Kind], objects: Iterable[object]) -> list[_Kind]:
    return [each for each in objects if isinstance(each, kind)]


def _grouped(items: Iterable[_Kind], key: Callable[[_Kind], str]) -> dict[str, list[_Kind]]:
    groups: dict[str, list[_Kind]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _total(sites: Sequence[Site], name: str) -> int:
    values = [getattr(site, name) for site in sites]
    # No limit on one node is no limit at all.
    return 0 if name in _LIMITS and 0 in values else sum(values)


def _content_keys(answer: URLContentResponse) -> list[tuple[str, str, str]]:
    named = (
        ("url", answer.url_md5),
        ("raw", answer.raw_content_md5),
        ("content", answer.content_url_md5),
    )
    return [(answer.site_id, kind, md5) for kind, md5 in named if md5]


def _sort_key(value: object) -> tuple[int, float, str]:
    if value is None:
        return 0, 0.0, ""
    if isinstance(value, int | float):
        return 1, float(value), ""
    text = str(value)
    epoch = epoch_of(text)
    return (2, 0.0, text) if epoch is None else (1, epoch, "")


def _seconds(value: object) -> float:
    epoch = epoch_of(value) if isinstance(value, str) else None
    return float("-inf") if epoch is None else epoch


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
