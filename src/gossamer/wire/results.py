"""The link from the Spider to the Store Server: binary results (S0.31-S0.45).

A result is a header of 20 bytes in network byte order, then URL, new URL and document. There is
nothing between two results, and nothing in a result from which a reader that lost its place could
find it again: so a reader must never lose it, whatever it does not want to keep.
"""

from struct import Struct as Layout
from struct import error as FormatError  # noqa: N812 - a class, though written like a function
from typing import Final, NamedTuple

from msgspec import Struct

from gossamer.errors import WireError

HEADER: Final = Layout("!IBBBBIHHI")
"""doc_id, success, specific code, HTTP enumeration, padding (form), milliseconds, url_len,
new_url_len, document length."""
MAX_DOC_ID: Final = 2**32 - 1
MAX_MILLISECONDS: Final = 2**32 - 1
MAX_URL_BYTES: Final = 2**16 - 1
MAX_DOCUMENT_BYTES: Final = 2**32 - 1
PLAIN: Final = 0
"""The form of the source documents: the document is what a page's reader would see."""
FULL: Final = 1
"""Our own form, only for a Store Server that greeted: the document is a FullFetch."""
FORMS: Final = frozenset((PLAIN, FULL))


class Result(Struct, gc=False):
    """What became of one URL, as it crosses the link."""

    doc_id: int
    success: bool
    specific: int
    http: int
    milliseconds: int
    url: bytes
    new_url: bytes = b""
    document: bytes = b""
    form: int = PLAIN
    cut: bool = False
    """The document was longer than the reader keeps; here is its beginning."""


def encode(result: Result) -> bytes:
    """Return the bytes of a result; raises WireError for one that the format cannot carry."""
    return b"".join((header_of(result), result.url, result.new_url, result.document))


def header_of(result: Result) -> bytes:
    """Return the 20 bytes that come first: for a writer that sends the document by itself."""
    _check_url(result.url)
    try:
        return HEADER.pack(
            result.doc_id,
            bool(result.success),
            result.specific,
            result.http,
            result.form,
            min(max(result.milliseconds, 0), MAX_MILLISECONDS),
            len(result.url),
            len(result.new_url),
            len(result.document),
        )
    except FormatError as error:
        raise WireError(
            f"doc_id {result.doc_id}, codes {result.specific} {result.http} {result.form}, URLs of "
            f"{len(result.url)} and {len(result.new_url)} bytes and a document of "
            f"{len(result.document)} bytes do not fit a result: {error}"
        ) from error


class ResultReader:
    """Cuts what arrives on one link into results; keeps at most one unfinished result.

    Theory of operation. Bytes are gathered until what is wanted next is there: the header, then
    the URLs, then the document as far as it is kept. What of a document exceeds the limit is
    counted and thrown away as it comes. So memory is bounded by the limit, and the next header is
    found where it must be. A stream that makes no sense raises WireError, at this and at every
    further call; whatever was complete before the nonsense comes out first.
    """

    def __init__(self, max_document_bytes: int = MAX_DOCUMENT_BYTES) -> None:
        self._max_document = max_document_bytes
        self._held = bytearray()
        self._need = HEADER.size
        self._skip = 0
        """How much of the present document is still to be thrown away."""
        self._header: Header | None = None
        self._has_urls = False
        self._fault = ""

    @property
    def waiting_bytes(self) -> int:
        """How much of an unfinished result is kept; 0 when a result ended with the last byte."""
        return len(self._held)

    def feed(self, data: bytes) -> list[Result]:
        """Return the results that are complete now; raises WireError when there is nonsense."""
        results: list[Result] = []
        if not self._fault:
            try:
                self._read(data, results)
            except WireError as error:
                self._fault = str(error)
                self._held.clear()
        if self._fault and not results:
            raise WireError(self._fault)
        return results

    def _read(self, data: bytes, results: list[Result]) -> None:
        position = 0
        with memoryview(data) as view:
            while True:
                wanted = self._need - len(self._held)
                if wanted:
                    piece = view[position : position + wanted]
                    self._held += piece
                    position += len(piece)
                    if len(piece) < wanted:
                        return
                if not self._has_urls:
                    self._advance()
                    continue
                skipped = min(self._skip, len(data) - position)
                self._skip -= skipped
                position += skipped
                if self._skip:
                    return
                results.append(self._take())

    def _advance(self) -> None:
        """Look at what is complete now and say what is wanted next."""
        if self._header is None:
            self._header = Header(*HEADER.unpack(self._held))
            if self._header.success > 1:
                raise WireError(f"not a result: success is {self._header.success}, not 0 or 1")
            self._need += self._header.url_length + self._header.new_url_length
            return
        _check_url(self._held[HEADER.size : HEADER.size + self._header.url_length])
        kept = min(self._header.document_length, self._max_document)
        self._skip = self._header.document_length - kept
        self._need += kept
        self._has_urls = True

    def _take(self) -> Result:
        header = self._header
        assert header is not None
        url_end = HEADER.size + header.url_length
        new_url_end = url_end + header.new_url_length
        with memoryview(self._held) as held:
            result = Result(
                doc_id=header.doc_id,
                success=header.success == 1,
                specific=header.specific,
                http=header.http,
                milliseconds=header.milliseconds,
                url=bytes(held[HEADER.size : url_end]),
                new_url=bytes(held[url_end:new_url_end]),
                document=bytes(held[new_url_end:]),
                # The documents call this byte unused: what others leave there means nothing.
                form=header.form if header.form in FORMS else PLAIN,
                cut=header.document_length > self._max_document,
            )
        self._held = bytearray()
        self._need = HEADER.size
        self._header = None
        self._has_urls = False
        return result


class Header(NamedTuple):
    """The 20 bytes, unpacked."""

    doc_id: int
    success: int
    specific: int
    http: int
    form: int
    milliseconds: int
    url_length: int
    new_url_length: int
    document_length: int


_PRINTABLE: Final = bytes(range(0x21, 0x7F))


def _check_url(url: bytes | bytearray) -> None:
    """Orders carry URLs of printable ASCII, so a result about anything else is out of step."""
    if url.translate(None, _PRINTABLE):
        raise WireError(f"not a result: its URL is {ascii(bytes(url[:100]))[1:]}")
