"""What a client says and hears, without the sockets: shared by the sync and the async client."""

import secrets
from collections.abc import Sequence
from functools import cache
from typing import Final

import msgspec
from msgspec import NODEFAULT, Raw

from gossamer.daemons.endpoints import Endpoint, parse_target
from gossamer.errors import ServiceError
from gossamer.objects.answers import ClientResponse, ClientResponseItem, GeneralResponse
from gossamer.objects.coding import decode_response, encode
from gossamer.objects.content import URLFetch
from gossamer.objects.criterions import parse_order
from gossamer.objects.enumerations import Operation, ResponseError, ResponseItemError
from gossamer.objects.expressions import Ordering
from gossamer.objects.extras import CustomResponse
from gossamer.objects.limits import limit_of_node
from gossamer.objects.merge import merge_response
from gossamer.objects.problems import ObjectError
from gossamer.objects.record import Record
from gossamer.objects.site import Site, SiteUpdate
from gossamer.service.envelope import Answer, Problem, Request

_SHARED_LIMITS: Final = ("max_urls", "max_resources", "max_errors")
CHECKS: Final = "; see that dc-daemon runs there, and that the keys are the right ones"


def parse_node(text: str) -> Endpoint:
    """Read the address of a node: `tcp://HOST:PORT`, or HOST:PORT."""
    return parse_target(text.removeprefix("tcp://"))


def new_id() -> str:
    """Return an id for a request that nobody else has."""
    return secrets.token_hex(8)


def requests_for(operation: Operation, payload: object, nodes: int) -> list[tuple[str, bytes]]:
    """Return the id and the message of the request for each of several nodes."""
    encoded = Raw(encode(compact(_share(payload, nodes))))
    made = [Request(operation.value, encoded, new_id()) for _ in range(nodes)]
    return [(request.id, msgspec.json.encode(request)) for request in made]


def compact(payload: object) -> object:
    """Leave out the fields that have their default: whoever reads the request puts it back.

    Of a URL little more than the address is left, a twentieth of the bytes.
    """
    if isinstance(payload, list):
        return [compact(item) for item in payload]
    if not isinstance(payload, Record):
        return payload
    return {
        encoded: value
        for name, encoded, default in _defaults(type(payload))
        if (value := getattr(payload, name)) != default
    }


@cache
def _defaults(kind: type[Record]) -> tuple[tuple[str, str, object], ...]:
    """Return name, name in JSON and default of each field; what must be there equals nothing."""
    return tuple(
        (
            field.name,
            field.encode_name,
            field.default if field.default_factory is NODEFAULT else field.default_factory(),
        )
        for field in msgspec.structs.fields(kind)
    )


def _share(payload: object, nodes: int) -> object:
    """Divide the limits of a site among the nodes."""
    if nodes == 1 or not isinstance(payload, Site | SiteUpdate):
        return payload
    shares = {
        name: limit_of_node(limit, nodes)
        for name in _SHARED_LIMITS
        if (limit := getattr(payload, name)) is not None
    }
    return msgspec.structs.replace(payload, **shares)


def read_answer(operation: Operation, identifier: str, body: bytes) -> ClientResponse:
    """Return what a node answered, with typed objects; raise ServiceError for what is no answer."""
    try:
        answer = msgspec.json.decode(body, type=Answer)
        response = decode_response(operation, bytes(answer.response))
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ObjectError) as error:
        raise ServiceError(f"the answer is not understood: {error}") from error
    # A request that could not be read at all is answered without its id.
    if answer.id not in {identifier, ""}:
        raise ServiceError("the answer is for another request")
    return response


def combine(
    operation: Operation,
    nodes: Sequence[Endpoint],
    responses: Sequence[ClientResponse | None],
    payload: object,
    *,
    merge: bool,
) -> ClientResponse:
    """Return one answer for those of all nodes; a node that is silent has an item that says so."""
    heard = [response for response in responses if response is not None]
    if not nodes:
        return ClientResponse(error_code=ResponseError.NO_NODE, error_message="there is no node")
    if not heard:
        text = f"{Problem.TIMEOUT}: no answer from {', '.join(map(str, nodes))}{CHECKS}"
        return ClientResponse(error_code=ResponseError.NO_ANSWER, error_message=text)
    items = [
        item
        for node, response in zip(nodes, responses, strict=True)
        for item in _items(node, response)
    ]
    worst = max(heard, key=lambda response: response.error_code)
    joined = ClientResponse(
        error_code=worst.error_code, error_message=worst.error_message, items_list=items
    )
    return merge_response(operation, joined, _order(payload)) if merge else joined


def _order(payload: object) -> tuple[Ordering, ...]:
    """Return the order in which a request wants its URLs."""
    first = payload[0] if isinstance(payload, list) and payload else None
    text = first.urls_criterions.order_by if isinstance(first, URLFetch) else None
    try:
        return parse_order(text) if text and text.strip() else ()
    except ObjectError:
        return ()  # The nodes have said what is wrong with it.


def _items(node: Endpoint, response: ClientResponse | None) -> list[ClientResponseItem]:
    if response is not None:
        return response.items_list
    return [
        ClientResponseItem(
            host=node.host,
            port=node.port,
            error_code=int(ResponseItemError.EXECUTION),
            error_message=f"{Problem.TIMEOUT}: no answer from {node}",
        )
    ]


def is_good(response: ClientResponse) -> bool:
    """Whether every node was able to do what it was asked for."""
    codes = (str(item.error_code).split(";") for item in response.items_list)
    return response.error_code == 0 and all(code == "0" for each in codes for code in each)


def refusal(response: ClientResponse) -> str | None:
    """Return why an operation was not carried out as a whole, as its own answer says it."""
    for item in response.items_list:
        told = item.item_object
        if isinstance(told, CustomResponse) and told.err_string:
            return told.err_string
        if isinstance(told, GeneralResponse) and told.error_code:
            return told.error_message or f"the answer has the error code {told.error_code}"
    return None


def complaint(response: ClientResponse) -> str:
    """Return what is wrong with an answer."""
    if response.error_message:
        return response.error_message
    messages = [item.error_message for item in response.items_list if item.error_message]
    return messages[0] if messages else "the service answered with an error"
