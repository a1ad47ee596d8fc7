/* Writes the records of an ordinary fetch, all in one call.
 *
 * Theory of operation. records.py says how a fetch is written. Most fetches are ordinary: their heads
 * stay as they are, nothing is odd about them, and their records are always the same lines with
 * other words in them. Of these this makes the same bytes as records.py; of all others it makes
 * nothing, and they are left to it.
 *
 * Heads and bodies come from strangers. Every read is checked against the end, every write against
 * the room; nothing recurses; the work is proportional to the length of what is written.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

#include "sha1.h"

/* ------------------------------------------------------------------------------ text, in parts */

enum { MOST_TEXT = 4096, MOST_DIGITS = 20 };

/* Lines that are put together. */
typedef struct {
    size_t length;
    int is_cut;
    char bytes[MOST_TEXT];
} Text;

/* Bytes of somebody else. */
typedef struct {
    const byte *at;
    size_t length;
} Part;

static void begin(Text *text)
{
    text->length = 0;
    text->is_cut = 0;
}

static void put(Text *text, const void *bytes, size_t length)
{
    if (length > MOST_TEXT - text->length) {
        text->is_cut = 1;
        return;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

#define PUT(text, literal) put(text, literal, sizeof literal - 1)

static void put_part(Text *text, Part part)
{
    put(text, part.at, part.length);
}

/* With zeros before it, up to a width. */
static void put_number(Text *text, uint64_t number, int width)
{
    char digits[MOST_DIGITS];
    int at = MOST_DIGITS;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number || MOST_DIGITS - at < width);
    put(text, digits + at, (size_t)(MOST_DIGITS - at));
}

static Part part_of(const Text *text)
{
    return (Part){(const byte *)text->bytes, text->length};
}

/* ---------------------------------------------------------------------------- what is ordinary */

/* `target_uri` leaves it as it is. */
static int is_plain_url(Part url)
{
    for (size_t number = 0; number < url.length; number++)
        if (url.at[number] <= ' ' || url.at[number] > '~')
            return 0;
    return 1;
}

/* `_ADDRESS` of fields.py. */
static int is_address(Part address)
{
    for (size_t number = 0; number < address.length; number++) {
        byte each = address.at[number];
        int is_digit = (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f') ||
                       (each >= 'A' && each <= 'F');
        if (!is_digit && each != ':' && each != '.')
            return 0;
    }
    return address.length >= 2 && address.length <= 45;
}

/* `BLANK_BYTES` of heads.py. */
static int is_blank(byte each)
{
    return (each >= 9 && each <= 13) || (each >= 28 && each <= 32) || each >= 128;
}

/* `lower` in any case. */
static int begins_with(const byte *at, const byte *end, const char *lower)
{
    for (; *lower; lower++, at++)
        if (at == end || (*at >= 'A' && *at <= 'Z' ? *at | 32 : *at) != (byte)*lower)
            return 0;
    return 1;
}

/* Whether `ended_head` leaves it as it is: one line seems blank, and that is its end. */
static int is_ended(Part head)
{
    const byte *at = head.at, *end = head.at + head.length;
    if (at == end || is_blank(*at))
        return 0;
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        const byte *line = ++at;
        while (at < end && *at != '\n' && is_blank(*at))
            at++;
        if (at < end && *at == '\n')
            return at + 1 == end && (at == line || (at == line + 1 && *line == '\r'));
    }
    return 0;
}

/* Whether `stored_head` leaves a head that is ended as it is, and `protocol_of` has nothing to say. */
static int is_plain_head(Part head)
{
    const byte *at = head.at, *end = head.at + head.length;
    if (head.length < 6 || memcmp(at, "HTTP/1", 6) != 0)
        return 0;
    while ((at = memchr(at, '\n', (size_t)(end - at))))
        if (begins_with(++at, end, "transfer-encoding"))
            return 0;
    return 1;
}

/* ---------------------------------------------------------------------------- what records say */

typedef struct {
    Part group, digest, head, raw, request, outcome;
    uint64_t numbers[4];
    Text shared;
} Fetch;

/* `record_date`. A year begins in March here, so that the day that is not in all of them is its
 * last; days are counted from the year 0. */
static void put_date(Text *text, double moment)
{
    double exact = moment * 1000000;
    uint64_t microseconds = (uint64_t)exact;
    double rest = exact - (double)microseconds;
    microseconds += rest > 0.5 || (rest == 0.5 && microseconds & 1);
    uint64_t seconds = microseconds / 1000000, days = seconds / 86400 + 719468;
    uint64_t of_era = days % 146097;
    uint64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    uint64_t after_march = (5 * of_year + 2) / 153;
    uint64_t month = after_march < 10 ? after_march + 3 : after_march - 9;
    put_number(text, days / 146097 * 400 + years + (month <= 2), 4);
    PUT(text, "-");
    put_number(text, month, 2);
    PUT(text, "-");
    put_number(text, of_year - (153 * after_march + 2) / 5 + 1, 2);
    PUT(text, "T");
    put_number(text, seconds / 3600 % 24, 2);
    PUT(text, ":");
    put_number(text, seconds / 60 % 60, 2);
    PUT(text, ":");
    put_number(text, seconds % 60, 2);
    PUT(text, ".");
    put_number(text, microseconds % 1000000, 6);
    PUT(text, "Z");
}

static void put_shared(Text *text, double moment, Part url, Part address)
{
    PUT(text, "WARC-Date: ");
    put_date(text, moment);
    PUT(text, "\r\nWARC-Target-URI: ");
    put_part(text, url);
    PUT(text, "\r\nWARC-IP-Address: ");
    put_part(text, address);
    PUT(text, "\r\n");
}

static void put_start(Text *text, const Fetch *fetch, const char *kind, char number)
{
    PUT(text, "WARC/1.1\r\nWARC-Type: ");
    put(text, kind, strlen(kind));
    PUT(text, "\r\nWARC-Record-ID: ");
    put_part(text, fetch->group);
    put(text, &number, 1);
    PUT(text, ">\r\n");
    put_part(text, part_of(&fetch->shared));
}

/* A record: its lines, its block in two parts, and what ends it; NULL without an error if the lines
 * were too long. */
static PyObject *record(const Text *lines, Part first, Part second)
{
    if (lines->is_cut)
        return NULL;
    size_t length = lines->length + first.length + second.length + 4;
    PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)length);
    char *at = made ? PyBytes_AsString(made) : NULL;
    if (!at)
        return NULL;
    memcpy(at, lines->bytes, lines->length);
    at += lines->length;
    memcpy(at, first.at, first.length);
    at += first.length;
    memcpy(at, second.at, second.length);
    memcpy(at + second.length, "\r\n\r\n", 4);
    return made;
}

static PyObject *response(const Fetch *fetch)
{
    Text lines;
    begin(&lines);
    put_start(&lines, fetch, "response", '0');
    PUT(&lines, "WARC-Payload-Digest: ");
    put_part(&lines, fetch->digest);
    PUT(&lines, "\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: ");
    put_number(&lines, fetch->head.length + fetch->raw.length, 1);
    PUT(&lines, "\r\n\r\n");
    return record(&lines, fetch->head, fetch->raw);
}

/* A record beside the response. */
static PyObject *beside(const Fetch *fetch, const char *kind, char number, const char *type,
                        Part block)
{
    Text lines;
    byte sum[SHA1_BYTES];
    char letters[SHA1_LETTERS];
    begin(&lines);
    put_start(&lines, fetch, kind, number);
    PUT(&lines, "WARC-Concurrent-To: ");
    put_part(&lines, fetch->group);
    PUT(&lines, "0>\r\nWARC-Block-Digest: sha1:");
    sha1(block.at, block.length, sum);
    base32(sum, letters);
    put(&lines, letters, sizeof letters);
    PUT(&lines, "\r\nContent-Type: application/");
    put(&lines, type, strlen(type));
    PUT(&lines, "\r\nContent-Length: ");
    put_number(&lines, block.length, 1);
    PUT(&lines, "\r\n\r\n");
    return record(&lines, block, (Part){block.at, 0});
}

static PyObject *metadata(const Fetch *fetch)
{
    static const char *const names[] = {"fetchTimeMs: ", "docId: ", "depth: ", "tries: "};
    Text block;
    begin(&block);
    PUT(&block, "outcome: ");
    put_part(&block, fetch->outcome);
    PUT(&block, "\r\n");
    for (int each = 0; each < 4; each++) {
        put(&block, names[each], strlen(names[each]));
        put_number(&block, fetch->numbers[each], 1);
        PUT(&block, "\r\n");
    }
    return block.is_cut ? NULL : beside(fetch, "metadata", '2', "warc-fields", part_of(&block));
}

/* ------------------------------------------------------------------------------ for Python */

enum { GROUP, MOMENT, URL, ADDRESS, DIGEST, HEAD, RAW, REQUEST, OUTCOME, NUMBERS, ARGUMENTS = 13 };

static int bytes_in(PyObject *object, Part *part)
{
    char *at;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(object, &at, &length) < 0)
        return -1;
    *part = (Part){(const byte *)at, (size_t)length};
    return 0;
}

static int text_in(PyObject *object, Part *part)
{
    Py_ssize_t length;
    const char *at = PyUnicode_AsUTF8AndSize(object, &length);
    if (!at)
        return -1;
    *part = (Part){(const byte *)at, (size_t)length};
    return 0;
}

/* Takes what Python gave; 0 if that is not ordinary, -1 if it cannot be taken. */
static int take(Fetch *fetch, PyObject *const *given)
{
    Part url, address;
    double moment = PyFloat_AsDouble(given[MOMENT]);
    if ((moment == -1 && PyErr_Occurred()) || bytes_in(given[GROUP], &fetch->group) < 0 ||
        text_in(given[URL], &url) < 0 || text_in(given[ADDRESS], &address) < 0 ||
        text_in(given[DIGEST], &fetch->digest) < 0 || bytes_in(given[HEAD], &fetch->head) < 0 ||
        bytes_in(given[RAW], &fetch->raw) < 0 || bytes_in(given[REQUEST], &fetch->request) < 0 ||
        text_in(given[OUTCOME], &fetch->outcome) < 0)
        return -1;
    for (int each = 0; each < 4; each++) {
        fetch->numbers[each] = PyLong_AsUnsignedLongLong(given[NUMBERS + each]);
        if (fetch->numbers[each] == (unsigned long long)-1 && PyErr_Occurred())
            return -1;
    }
    begin(&fetch->shared);
    /* Years have four digits for longer than anybody can fetch. */
    if (!(moment >= 0 && moment < 1e11) || !is_plain_url(url) || !is_address(address) ||
        !is_ended(fetch->head) || !is_plain_head(fetch->head) || !is_ended(fetch->request))
        return 0;
    put_shared(&fetch->shared, moment, url, address);
    return !fetch->shared.is_cut;
}

static PyObject *group(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    Fetch fetch;
    if (count != ARGUMENTS) {
        PyErr_SetString(PyExc_TypeError, "group takes 13 arguments");
        return NULL;
    }
    int taken = take(&fetch, given);
    PyObject *first = taken > 0 ? response(&fetch) : NULL;
    PyObject *second = first ? beside(&fetch, "request", '1', "http;msgtype=request", fetch.request)
                             : NULL;
    PyObject *third = second ? metadata(&fetch) : NULL;
    PyObject *all = third ? PyTuple_Pack(3, first, second, third) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    Py_XDECREF(third);
    /* What is not ordinary is no error, nor is a text that cannot be written as UTF-8. */
    if (!all && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_UnicodeError) ||
                 PyErr_ExceptionMatches(PyExc_OverflowError))) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    return all;
}

static PyObject *digest(PyObject *module, PyObject *sum)
{
    (void)module;
    Part part;
    char letters[5 + SHA1_LETTERS] = "sha1:";
    if (bytes_in(sum, &part) < 0)
        return NULL;
    if (part.length != SHA1_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a sum of SHA-1 has 20 bytes");
        return NULL;
    }
    base32(part.at, letters + 5);
    return PyUnicode_FromStringAndSize(letters, sizeof letters);
}

static PyMethodDef METHODS[] = {
    {"group", (PyCFunction)(void (*)(void))group, METH_FASTCALL,
     "group(identity, fetched_at, url, address, payload_digest, head, raw, request_head, outcome, "
     "milliseconds, doc_id, depth, tries) -> (response, request, metadata); None if this fetch is "
     "not ordinary."},
    {"digest", digest, METH_O, "digest(sum) -> a sum of SHA-1 as WARC writes it."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_group", "Records of ordinary fetches.", 0, METHODS, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__group(void)
{
    return PyModule_Create(&MODULE);
}
