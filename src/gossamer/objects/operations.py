"""Which object belongs to which operation, in the request and in the answer."""

from typing import Final

from msgspec import Struct

from gossamer.objects.answers import GeneralResponse, URLHistoryResponse, URLStatsResponse
from gossamer.objects.batch import Batch
from gossamer.objects.content import URLContentRequest, URLContentResponse, URLFetch
from gossamer.objects.enumerations import Operation
from gossamer.objects.extras import (
    Attribute,
    AttributeDelete,
    AttributeFetch,
    AttributeUpdate,
    CustomRequest,
    CustomResponse,
    Proxy,
    ProxyDelete,
    ProxyFind,
    ProxyStatus,
    ProxyUpdate,
)
from gossamer.objects.hosts import (
    HostClaim,
    HostClaimAnswer,
    HostDone,
    HostTask,
    HostTaskAnswer,
)
from gossamer.objects.problems import UnsupportedError
from gossamer.objects.record import Record
from gossamer.objects.site import Site, SiteCleanup, SiteDelete, SiteFind, SiteStatus, SiteUpdate
from gossamer.objects.url import (
    URL,
    FieldRecalculator,
    URLAge,
    URLCleanup,
    URLDelete,
    URLHistoryRequest,
    URLPurge,
    URLPut,
    URLStatsRequest,
    URLStatus,
    URLUpdate,
    URLVerify,
)


class Form(Struct, frozen=True):
    """What goes in and what comes out."""

    request: type[Record]
    is_list: bool
    """Whether the request is a list; one object alone is then read as a list of one."""
    answer: type[Record] = GeneralResponse
    answers_list: bool = False


# RESOURCE_FETCH and RESOURCE_DELETE have codes, but no object was ever defined for them.
FORMS: Final[dict[Operation, Form]] = {
    Operation.SITE_NEW: Form(Site, False),
    Operation.SITE_UPDATE: Form(SiteUpdate, False),
    Operation.SITE_STATUS: Form(SiteStatus, False, Site),
    Operation.SITE_DELETE: Form(SiteDelete, True),
    Operation.SITE_CLEANUP: Form(SiteCleanup, True),
    Operation.SITE_FIND: Form(SiteFind, False, Site, True),
    Operation.URL_NEW: Form(URL, True),
    Operation.URL_UPDATE: Form(URLUpdate, True),
    Operation.URL_STATUS: Form(URLStatus, True, URL, True),
    Operation.URL_DELETE: Form(URLDelete, True),
    Operation.URL_FETCH: Form(URLFetch, True, URL, True),
    Operation.URL_CLEANUP: Form(URLCleanup, True),
    Operation.URL_CONTENT: Form(URLContentRequest, True, URLContentResponse, True),
    Operation.SQL_CUSTOM: Form(CustomRequest, False, CustomResponse),
    Operation.BATCH: Form(Batch, False, URLContentResponse, True),
    Operation.URL_PURGE: Form(URLPurge, True),
    Operation.FIELD_RECALCULATE: Form(FieldRecalculator, True),
    Operation.URL_VERIFY: Form(URLVerify, True, URL, True),
    Operation.URL_AGE: Form(URLAge, True),
    Operation.URL_PUT: Form(URLPut, True),
    Operation.URL_HISTORY: Form(URLHistoryRequest, True, URLHistoryResponse, True),
    Operation.URL_STATS: Form(URLStatsRequest, True, URLStatsResponse, True),
    Operation.PROXY_NEW: Form(Proxy, True),
    Operation.PROXY_UPDATE: Form(ProxyUpdate, True),
    Operation.PROXY_DELETE: Form(ProxyDelete, True),
    Operation.PROXY_STATUS: Form(ProxyStatus, True, Proxy, True),
    Operation.PROXY_FIND: Form(ProxyFind, True, Proxy, True),
    Operation.ATTR_SET: Form(Attribute, True),
    Operation.ATTR_UPDATE: Form(AttributeUpdate, True),
    Operation.ATTR_DELETE: Form(AttributeDelete, True),
    Operation.ATTR_FETCH: Form(AttributeFetch, True, Attribute, True),
}

# What data hosts say to each other; clients have no use for it.
HOST_FORMS: Final[dict[Operation, Form]] = {
    Operation.HOST_CLAIM: Form(HostClaim, False, HostClaimAnswer),
    Operation.HOST_TASK: Form(HostTask, False, HostTaskAnswer),
    Operation.HOST_DONE: Form(HostDone, False),
}


def form_of(operation: Operation) -> Form:
    """Return what an operation takes and gives."""
    form = FORMS.get(operation) or HOST_FORMS.get(operation)
    if form is None:
        raise UnsupportedError(operation.name, "", "no object is defined for this operation")
    return form
