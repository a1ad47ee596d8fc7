"""gossamer.Service: the crawling service for Python programs, typed and async.

async with gossamer.Service("tcp://127.0.0.1:5504") as dc:
    await dc.site_new(Site(urls=["https://example.org/"]))
"""

import asyncio
import itertools
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from gossamer.daemons.endpoints import Endpoint
from gossamer.errors import ServiceError
from gossamer.objects import answers, batch, content, extras, site, url
from gossamer.objects.answers import ClientResponse, GeneralResponse
from gossamer.objects.enumerations import Operation
from gossamer.service.calling import CONNECT_SECONDS, connect, watched
from gossamer.service.curve import ClientKeys
from gossamer.service.exchange import (
    combine,
    complaint,
    is_good,
    parse_node,
    read_answer,
    requests_for,
)
from gossamer.service.zeromq import zmq

if TYPE_CHECKING:
    from zmq.asyncio import Context, Socket

_Kind = TypeVar("_Kind")
_MOST_SOCKETS: Final = 64
"""ZMQ has no more than some hundreds of them, and each takes open files."""


class Service:
    """One or several nodes of a service. Several are asked at once, and their answers merged.

    Any number of calls may run side by side. Each has a socket to itself while it waits for its
    answer, and leaves it to the next; if there are too many, the others wait for their turn.
    """

    def __init__(
        self, *nodes: str, timeout_seconds: float = 90.0, keys: ClientKeys | None = None
    ) -> None:
        self._nodes = [parse_node(node) for node in nodes or ("tcp://127.0.0.1:5504",)]
        self._timeout_seconds = timeout_seconds
        self._keys = keys
        self._context: Context | None = None
        self._free: dict[Endpoint, list[Socket]] = {}
        self._turns = asyncio.Semaphore(_MOST_SOCKETS)

    async def __aenter__(self) -> Self:
        # Here, because the module before has said by now what is missing where it is.
        from zmq.asyncio import Context  # noqa: PLC0415

        self._context = Context()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        context, self._context = self._context, None
        for socket in itertools.chain.from_iterable(self._free.values()):
            socket.close(linger=0)
        self._free.clear()
        if context is not None:
            context.destroy(linger=0)

    async def respond(self, operation: Operation, payload: object) -> ClientResponse:
        """Have an operation carried out, and return the whole answer, whatever it says."""
        bodies = requests_for(operation, payload, len(self._nodes))
        heard = await asyncio.gather(
            *(
                self._exchange(node, operation, identifier, body)
                for node, (identifier, body) in zip(self._nodes, bodies, strict=True)
            )
        )
        return combine(operation, self._nodes, heard, payload, merge=True)

    async def call(self, operation: Operation, payload: object) -> Any:
        """Have an operation carried out, and return its answer; raise ServiceError if it failed."""
        return _object_in(operation, await self.respond(operation, payload))

    async def _exchange(
        self, node: Endpoint, operation: Operation, identifier: str, body: bytes
    ) -> ClientResponse | None:
        async with self._turns:
            answer = await self._asked(node, body)
        return None if answer is None else read_answer(operation, identifier, answer)

    async def _asked(self, node: Endpoint, body: bytes) -> bytes | None:
        """Return what a node answers; None if it is silent."""
        if self._context is None:
            raise ServiceError("the service is not open; use it as `async with Service(...) as dc`")
        free = self._free.setdefault(node, [])
        is_new = not free
        socket = self._context.socket(zmq.DEALER) if is_new else free.pop()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                if is_new:
                    await _reach(socket, node, self._keys)
                await socket.send_multipart([b"", body])
                answer = (await socket.recv_multipart())[-1]
        except TimeoutError:
            socket.close(linger=0)
            return None
        except BaseException:
            # Whoever took this socket next would get the answer to this call.
            socket.close(linger=0)
            raise
        free.append(socket)
        return bytes(answer)

    async def _one(self, operation: Operation, payload: object, kind: type[_Kind]) -> _Kind:
        return _only(operation, await self.call(operation, payload), kind)

    async def _many(self, operation: Operation, payload: object, kind: type[_Kind]) -> list[_Kind]:
        answer = await self.call(operation, payload)
        if isinstance(answer, list):
            return [item for item in answer if isinstance(item, kind)]
        raise ServiceError(f"{operation.name}: {_words(answer)}")

    async def _general(self, operation: Operation, payload: object) -> GeneralResponse:
        return await self._one(operation, payload, GeneralResponse)

    # Sites.

    async def site_new(self, new: site.Site) -> GeneralResponse:
        """Create a site."""
        return await self._general(Operation.SITE_NEW, new)

    async def site_update(self, update: site.SiteUpdate) -> GeneralResponse:
        """Change a site."""
        return await self._general(Operation.SITE_UPDATE, update)

    async def site_status(self, status: site.SiteStatus) -> site.Site:
        """Return a site; its state is NOT_FOUND if there is none."""
        operation = Operation.SITE_STATUS
        response = await self.respond(operation, status)
        found = response.items_list[0].item_object if response.items_list else None
        if site.is_absent(found):
            return found
        return _only(operation, _object_in(operation, response), site.Site)

    async def site_find(self, find: site.SiteFind) -> list[site.Site]:
        """Return the sites that are looked for."""
        return await self._many(Operation.SITE_FIND, find, site.Site)

    async def site_delete(self, deletes: Sequence[site.SiteDelete]) -> GeneralResponse:
        """Remove sites with all their data."""
        return await self._general(Operation.SITE_DELETE, list(deletes))

    async def site_cleanup(self, cleanups: Sequence[site.SiteCleanup]) -> GeneralResponse:
        """Remove the URLs and contents of sites."""
        return await self._general(Operation.SITE_CLEANUP, list(cleanups))

    # URLs.

    async def url_new(self, new: Sequence[url.URL]) -> GeneralResponse:
        """Add URLs."""
        return await self._general(Operation.URL_NEW, list(new))

    async def url_update(self, updates: Sequence[url.URLUpdate]) -> GeneralResponse:
        """Change URLs."""
        return await self._general(Operation.URL_UPDATE, list(updates))

    async def url_status(self, statuses: Sequence[url.URLStatus]) -> list[url.URL]:
        """Return URLs."""
        return await self._many(Operation.URL_STATUS, list(statuses), url.URL)

    async def url_fetch(self, fetches: Sequence[content.URLFetch]) -> list[url.URL]:
        """Return the URLs that are selected."""
        return await self._many(Operation.URL_FETCH, list(fetches), url.URL)

    async def url_delete(self, deletes: Sequence[url.URLDelete]) -> GeneralResponse:
        """Delete URLs with their contents."""
        return await self._general(Operation.URL_DELETE, list(deletes))

    async def url_cleanup(self, cleanups: Sequence[url.URLCleanup]) -> GeneralResponse:
        """Delete the contents of URLs, and set the URLs back."""
        return await self._general(Operation.URL_CLEANUP, list(cleanups))

    async def url_content(
        self, requests: Sequence[content.URLContentRequest]
    ) -> list[content.URLContentResponse]:
        """Return contents of URLs."""
        return await self._many(Operation.URL_CONTENT, list(requests), content.URLContentResponse)

    async def url_purge(self, purges: Sequence[url.URLPurge]) -> GeneralResponse:
        """Remove the contents of deleted URLs."""
        return await self._general(Operation.URL_PURGE, list(purges))

    async def url_age(self, ages: Sequence[url.URLAge]) -> GeneralResponse:
        """Delete URLs that are too old."""
        return await self._general(Operation.URL_AGE, list(ages))

    async def url_put(self, puts: Sequence[url.URLPut]) -> GeneralResponse:
        """Store contents for URLs."""
        return await self._general(Operation.URL_PUT, list(puts))

    async def url_verify(self, verifies: Sequence[url.URLVerify]) -> list[url.URL]:
        """Return the URLs as the database has them."""
        return await self._many(Operation.URL_VERIFY, list(verifies), url.URL)

    async def url_history(
        self, requests: Sequence[url.URLHistoryRequest]
    ) -> list[answers.URLHistoryResponse]:
        """Return what happened to URLs."""
        return await self._many(Operation.URL_HISTORY, list(requests), answers.URLHistoryResponse)

    async def url_stats(
        self, requests: Sequence[url.URLStatsRequest]
    ) -> list[answers.URLStatsResponse]:
        """Return how often things happened to URLs."""
        return await self._many(Operation.URL_STATS, list(requests), answers.URLStatsResponse)

    # Everything else.

    async def batch(self, order: batch.Batch) -> list[content.URLContentResponse]:
        """Crawl and process some URLs at once, and return their contents."""
        return await self._many(Operation.BATCH, order, content.URLContentResponse)

    async def field_recalculate(self, requests: Sequence[url.FieldRecalculator]) -> GeneralResponse:
        """Count the counters of sites again."""
        return await self._general(Operation.FIELD_RECALCULATE, list(requests))

    async def sql_custom(self, request: extras.CustomRequest) -> extras.CustomResponse:
        """Run a query of one's own, if the service allows that."""
        return await self._one(Operation.SQL_CUSTOM, request, extras.CustomResponse)

    async def attr_set(self, attributes: Sequence[extras.Attribute]) -> GeneralResponse:
        """Set attributes."""
        return await self._general(Operation.ATTR_SET, list(attributes))

    async def attr_update(self, updates: Sequence[extras.AttributeUpdate]) -> GeneralResponse:
        """Change attributes."""
        return await self._general(Operation.ATTR_UPDATE, list(updates))

    async def attr_delete(self, deletes: Sequence[extras.AttributeDelete]) -> GeneralResponse:
        """Delete attributes."""
        return await self._general(Operation.ATTR_DELETE, list(deletes))

    async def attr_fetch(self, fetches: Sequence[extras.AttributeFetch]) -> list[extras.Attribute]:
        """Return attributes."""
        return await self._many(Operation.ATTR_FETCH, list(fetches), extras.Attribute)

    async def proxy_new(self, proxies: Sequence[extras.Proxy]) -> GeneralResponse:
        """Add proxies."""
        return await self._general(Operation.PROXY_NEW, list(proxies))

    async def proxy_update(self, updates: Sequence[extras.ProxyUpdate]) -> GeneralResponse:
        """Change proxies."""
        return await self._general(Operation.PROXY_UPDATE, list(updates))

    async def proxy_delete(self, deletes: Sequence[extras.ProxyDelete]) -> GeneralResponse:
        """Delete proxies."""
        return await self._general(Operation.PROXY_DELETE, list(deletes))

    async def proxy_status(self, statuses: Sequence[extras.ProxyStatus]) -> list[extras.Proxy]:
        """Return proxies of a site."""
        return await self._many(Operation.PROXY_STATUS, list(statuses), extras.Proxy)

    async def proxy_find(self, finds: Sequence[extras.ProxyFind]) -> list[extras.Proxy]:
        """Return proxies that are looked for."""
        return await self._many(Operation.PROXY_FIND, list(finds), extras.Proxy)


async def _reach(socket: "Socket", node: Endpoint, keys: ClientKeys | None) -> None:
    monitor: Socket = watched(socket)
    try:
        connect(socket, node, keys)
        async with asyncio.timeout(CONNECT_SECONDS):
            await monitor.recv_multipart()
    finally:
        socket.disable_monitor()
        monitor.close(linger=0)


def _object_in(operation: Operation, response: ClientResponse) -> object:
    """Return the object of an answer; raise ServiceError if it tells of an error."""
    if not is_good(response) or not response.items_list:
        raise ServiceError(f"{operation.name}: {complaint(response)}")
    return response.items_list[0].item_object


def _only(operation: Operation, answer: object, kind: type[_Kind]) -> _Kind:
    if isinstance(answer, kind):
        return answer
    raise ServiceError(f"{operation.name}: {_words(answer)}")


def _words(answer: object) -> str:
    if isinstance(answer, GeneralResponse) and answer.error_message:
        return answer.error_message
    return "the answer has another shape than expected"
