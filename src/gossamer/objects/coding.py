"""Objects from JSON and to JSON.

Theory of operation. msgspec does the work; two kinds of values have a reading of their own: dates
(a text, or {"str": text}) and the properties of a site (three shapes). Whatever is wrong becomes an
ObjectError that names the object, the field and what is expected there.
"""

import re
from types import GenericAlias
from typing import Final, TypeVar

import msgspec

from gossamer.objects.answers import ClientResponse, ClientResponseItem, GeneralResponse
from gossamer.objects.columns import SITE_COLUMNS, URL_COLUMNS, by_lower_name
from gossamer.objects.content import URLFetch
from gossamer.objects.criterions import parse_moment
from gossamer.objects.enumerations import Operation, ResponseItemError
from gossamer.objects.moments import Moment, moment_from_json
from gossamer.objects.normal import identified_site
from gossamer.objects.operations import form_of
from gossamer.objects.problems import ObjectError
from gossamer.objects.record import Record
from gossamer.objects.resolution import Scope, resolve_moment
from gossamer.objects.site import Properties, Property, Site, SiteCleanup
from gossamer.wording import safe_json, shortened

MAX_MESSAGE: Final = 256 << 20
MAX_ITEMS: Final = 1_000_000
"""Objects in one request."""
_Kind = TypeVar("_Kind", bound=Record)

# Names of the document that the objects spell in another way (C18, C23).
_ALIASES: Final[dict[type[Record], dict[str, str]]] = {
    GeneralResponse: {"states": "statuses"},
    URLFetch: {"criterions": "urlsCriterions"},
    SiteCleanup: {"moveUrls": "moveURLs"},
}
# What a date may be made of; whether the very object has the column is seen when it is used.
_DATES: Final = Scope(
    {name: form.kind for name, form in by_lower_name(SITE_COLUMNS | URL_COLUMNS).items()},
    now=1_800_000_000.0,
)
_NESTED: Final = {"urlFetch": URLFetch}
_PLACE: Final = re.compile(r"^(?P<what>.*) - at `\$(?P<path>[^`]*)`\Z", re.DOTALL)
_QUOTED_FIELD: Final = re.compile(r"^Object (missing required|contains unknown) field `([^`]*)`\Z")


def decode(operation: Operation, data: bytes | str | object, *, strict: bool = False) -> object:
    """Return the request of an operation: a Struct, or a list of them where the operation has one.

    `data` is JSON text, or what JSON text was read into. With `strict` every field of the object
    must be there, as in the origin; otherwise what is missing has its default.
    """
    form = form_of(operation)
    if form.is_list and not strict and isinstance(data, bytes | str):
        usual = _read_list(form.request, data)
        if usual is not None:
            return usual
    plain = _read(form.request.__name__, data)
    if not form.is_list:
        return _complete(_convert(form.request, plain, strict))
    items = plain if isinstance(plain, list) else [plain]
    if len(items) > MAX_ITEMS:
        raise ObjectError(form.request.__name__, "", f"at most {MAX_ITEMS} objects are expected")
    return [
        _complete(_convert(form.request, item, strict, place)) for place, item in _placed(items)
    ]


def decode_object(kind: type[_Kind], data: bytes | str | object) -> _Kind:
    """Return one object of a kind that is not the request of an operation, such as a Batch."""
    return _convert(kind, _read(kind.__name__, data))


def decode_answer(operation: Operation, data: bytes | str | object) -> object:
    """Return what an operation answered: a Struct, or a list of them."""
    form = form_of(operation)
    plain = _read(form.answer.__name__, data)
    # An operation that fails as a whole says so in a GeneralResponse.
    kind = GeneralResponse if _looks_general(plain) else form.answer
    if isinstance(plain, list) and form.answers_list:
        return [_convert(kind, item, place=place) for place, item in _placed(plain)]
    return _convert(kind, plain)


def decode_response(operation: Operation, data: bytes | str | object) -> ClientResponse:
    """Return a ClientResponse with the objects of its items restored.

    An item whose object cannot be restored keeps it as it came and gets the error code for that.
    """
    response = _convert(ClientResponse, _read("ClientResponse", data))
    items = [_restored(operation, item) for item in response.items_list]
    return msgspec.structs.replace(response, items_list=items)


def encode(answer: object) -> bytes:
    """Return JSON for a program: one line, no spaces."""
    return safe_json(msgspec.json.encode(answer, enc_hook=_plain, order="sorted"))


def dumps(answer: object) -> str:
    """Return JSON for people: sorted keys, indented by four."""
    return safe_json(msgspec.json.format(encode(answer), indent=4)).decode()


def _read(kind: str, data: bytes | str | object) -> object:
    if not isinstance(data, bytes | str):
        return data
    if len(data) > MAX_MESSAGE:
        raise ObjectError(kind, "", f"at most {MAX_MESSAGE} bytes are expected")
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ObjectError(kind, "", f"JSON is expected ({shortened(str(error), 100)})") from None


def _read_list(kind: type[Record], data: bytes | str) -> list[Record] | None:
    """Return a list that is as it should be, read in one step; None for anything else.

    Whoever reads it once more, object by object, finds other names of fields, or what is wrong.
    """
    if len(data) > MAX_MESSAGE:
        return None
    try:
        items = msgspec.json.decode(
            data, type=GenericAlias(list, (kind,)), strict=False, dec_hook=_from_json
        )
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ObjectError):
        return None
    if len(items) > MAX_ITEMS:
        return None
    return [_complete(item) for item in items] if kind is Site else items


def _placed(items: list[object]) -> list[tuple[str, object]]:
    return [(f"[{number}]", item) for number, item in enumerate(items)]


def _convert(kind: type[_Kind], plain: object, strict: bool = False, place: str = "") -> _Kind:
    name = kind.__name__
    if strict and isinstance(plain, dict):
        _need_every_field(kind, plain, place)
    try:
        renamed = _without_aliases(kind, plain)
        return msgspec.convert(renamed, kind, strict=False, dec_hook=_from_json)
    except msgspec.ValidationError as error:
        raise _named(name, place, str(error)) from None
    except RecursionError:
        raise ObjectError(name, place, "less nesting is expected") from None


def _need_every_field(kind: type[Record], plain: dict[str, object], place: str) -> None:
    known = _without_aliases(kind, plain)
    for each in msgspec.structs.fields(kind):
        if isinstance(known, dict) and each.encode_name not in known:
            raise ObjectError(kind.__name__, _joined(place, each.encode_name), "it is missing")


def _without_aliases(kind: type[Record], plain: object) -> object:
    if not isinstance(plain, dict):
        return plain
    aliases = _ALIASES.get(kind, {})
    if not aliases.keys() & plain.keys() and not _NESTED.keys() & plain.keys():
        return plain
    renamed: dict[str, object] = {}
    for name, value in plain.items():
        known = aliases.get(name) or name
        if known != name and known in plain:
            raise ObjectError(
                kind.__name__, name, f"it is another name of {known}; one is expected"
            )
        inner = _NESTED.get(name)
        renamed[known] = value if inner is None else _without_aliases(inner, value)
    return renamed


def _from_json(kind: type, plain: object) -> object:
    """Read the values that have a reading of their own."""
    if kind is Moment:
        moment = moment_from_json(plain)
        try:
            resolve_moment(parse_moment(moment), _DATES)
        except ObjectError as error:
            raise ValueError(f"a date or an expression is expected: {error.expected}") from None
        return moment
    if kind is Properties:
        return _properties(plain)
    # Fields that may hold anything.
    return plain


def _properties(plain: object) -> Properties:
    """Read a list of objects, a map of values, or a map of [siteId, value, urlMd5]."""
    if isinstance(plain, dict):
        plain = [_property(name, value) for name, value in plain.items()]
    if not isinstance(plain, list):
        # msgspec adds the place to a ValueError and to nothing else.
        raise ValueError("a list of properties, or a map of names to values, is expected")  # noqa: TRY004
    texts = [_with_text(item) for item in plain]
    try:
        return Properties(msgspec.convert(texts, list[Property], dec_hook=_from_json, strict=False))
    except msgspec.ValidationError as error:
        fault = _named("properties", "", str(error))
        raise ValueError(f"{fault.field}: {fault.expected}") from None


def _property(name: object, value: object) -> dict[str, object]:
    if not isinstance(value, list):
        return {"name": name, "value": value}
    if len(value) != 3:
        raise ValueError(f"[siteId, value, urlMd5] is expected for {name}")
    return {"name": name, "siteId": value[0] or "", "value": value[1], "urlMd5": value[2] or ""}


def _with_text(item: object) -> object:
    """Return a property whose value is a text; numbers, lists and maps become their JSON."""
    if not isinstance(item, dict) or isinstance(item.get("value", ""), str):
        return item
    value = item["value"]
    text = "" if value is None else msgspec.json.encode(value).decode()
    return {**item, "value": text}


def _named(kind: str, place: str, message: str) -> ObjectError:
    """Make the words of msgspec into an error that names the field."""
    found = _PLACE.match(message)
    what, path = (found["what"], found["path"]) if found else (message, "")
    path = _joined(place, path.lstrip("."))
    if "matching regex" in what:
        what = "a short name of letters, digits, - and _ is expected"
    field = _QUOTED_FIELD.match(what)
    if field is None:
        return ObjectError(kind, path, shortened(what[:1].lower() + what[1:], 300))
    expected = "it is missing" if field[1] == "missing required" else "there is no such field"
    return ObjectError(kind, _joined(path, field[2]), expected)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name and not name.startswith("[") else path + name


def _complete(request: _Kind) -> _Kind | Site:
    return identified_site(request) if isinstance(request, Site) else request


def _looks_general(plain: object) -> bool:
    return (
        isinstance(plain, dict)
        and "errorCode" in plain
        and bool(plain.keys() & {"statuses", "states"})
    )


def _restored(operation: Operation, item: ClientResponseItem) -> ClientResponseItem:
    if item.item_object is None:
        return item
    try:
        return msgspec.structs.replace(item, item_object=decode_answer(operation, item.item_object))
    except ObjectError as error:
        return msgspec.structs.replace(
            item, error_code=int(ResponseItemError.NOT_RESTORED), error_message=str(error)
        )


def _plain(value: object) -> object:
    """Return what JSON has a form for."""
    if isinstance(value, Moment):
        return value[:]
    raise NotImplementedError(type(value).__name__)
