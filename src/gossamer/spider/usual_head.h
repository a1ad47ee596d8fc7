/* Reads usual heads: for plain_head.c and lane.c.
 *
 * Theory of operation. plain_head.py says which heads are plain and what they say. Most are usual
 * beyond that: ASCII, a length, nothing else that matters for the transfer. Of these this makes the same
 * as plain_head.py; of all others it makes nothing, and they are left to it. A server repeats most of
 * its lines in each response, so lines are remembered with what became of them.
 *
 * Heads come from strangers. Every read is checked against the end; nothing recurses; the work is
 * proportional to the length of a head, and what is remembered has a fixed number of places.
 */

#include <stdint.h>
#include <string.h>

enum {
    MOST_FIELDS = 64,
    MOST_DIGITS = 18,
    PLACE_BITS = 10,
    PLACES = 1 << PLACE_BITS,
    MOST_KNOWN_BYTES = 256,
};

/* Bytes of somebody else. */
typedef struct {
    const char *at;
    Py_ssize_t length;
} Part;

/* ------------------------------------------------------------------------- what is remembered */

/* A line or a name, and what became of it. */
typedef struct {
    PyObject *written;
    Part part;
    PyObject *meaning;
} Known;

/* Where something is remembered: its ends are enough to tell most apart. */
static Known *place_of(Known *places, Part part)
{
    uint64_t first = 0, last = 0;
    size_t length = (size_t)part.length;
    size_t size = length < sizeof first ? length : sizeof first;
    memcpy(&first, part.at, size);
    memcpy(&last, part.at + length - size, size);
    uint64_t mixed = first ^ (last << 29 | last >> 35) ^ length;
    return places + (mixed * UINT64_C(0x9E3779B97F4A7C15) >> (64 - PLACE_BITS));
}

static int is_there(const Known *known, Part part)
{
    return known->meaning && known->part.length == part.length &&
           !memcmp(known->part.at, part.at, (size_t)part.length);
}

static void forget(Known *known)
{
    Py_CLEAR(known->meaning);
    Py_CLEAR(known->written);
}

static int remember(Known *known, Part part, PyObject *meaning)
{
    PyObject *written = PyBytes_FromStringAndSize(part.at, part.length);
    if (!written)
        return -1;
    forget(known);
    known->written = written;
    known->part.at = PyBytes_AsString(written);
    known->part.length = part.length;
    Py_INCREF(meaning);
    known->meaning = meaning;
    return 0;
}

/* ----------------------------------------------------------------------------------- one line */

/* The limits of heads, and what is remembered of them. */
typedef struct {
    PyObject *versions[2];
    Py_ssize_t max_end;
    Py_ssize_t max_lines;
    Known *fields;
    Known *names;
} Heads;

static int is_printable(Part part)
{
    for (Py_ssize_t i = 0; i < part.length; i++)
        if (part.at[i] < ' ' || part.at[i] > '~')
            return 0;
    return 1;
}

static int is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

/* Whether it may stand in a name, as the _NAME of plain_head.py has it. */
static int is_of_name(char letter)
{
    return is_digit(letter) || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '^' && letter <= 'z') || (letter >= '#' && letter <= '\'') ||
           (letter && strchr("!*+-.|~", letter));
}

static Part stripped(Part part)
{
    while (part.length && part.at[0] == ' ') {
        part.at++;
        part.length--;
    }
    while (part.length && part.at[part.length - 1] == ' ')
        part.length--;
    return part;
}

typedef enum { ORDINARY, FLEETING, LENGTH, NOTABLE } Sort;

#define IS(name, literal) ((name).length == sizeof literal - 1 && \
                           !memcmp((name).at, literal, sizeof literal - 1))

/* What kind of field a name in lower case is: NOTABLE and _FLEETING of plain_head.py. */
static Sort sort_of(Part name)
{
    if (IS(name, "content-length"))
        return LENGTH;
    if (IS(name, "etag"))
        return FLEETING;
    if (IS(name, "content-encoding") || IS(name, "location") || IS(name, "retry-after") ||
        IS(name, "set-cookie") || IS(name, "transfer-encoding"))
        return NOTABLE;
    return ORDINARY;
}

/* Returns a new reference to a name in lower case. */
static PyObject *name_of(Heads *heads, Part written, Part lower)
{
    Known *known = place_of(heads->names, written);
    if (is_there(known, written)) {
        Py_INCREF(known->meaning);
        return known->meaning;
    }
    PyObject *name = PyUnicode_FromStringAndSize(lower.at, lower.length);
    if (name && remember(known, written, name) < 0)
        Py_CLEAR(name);
    return name;
}

/* Returns the length that a field tells; -1 if it is told oddly. */
static long long length_in(Part value)
{
    long long length = 0;
    if (!value.length || value.length > MOST_DIGITS)
        return -1;
    for (Py_ssize_t i = 0; i < value.length; i++) {
        if (!is_digit(value.at[i]))
            return -1;
        length = length * 10 + (value.at[i] - '0');
    }
    return length;
}

/* Returns name and value of a line that is not remembered; NULL without an error if it is left to
 * plain_head.py. `length` is below zero as long as none was told. */
static PyObject *read_field(Heads *heads, Part line, Known *known, long long *length)
{
    char letters[MOST_KNOWN_BYTES];
    const char *colon = memchr(line.at, ':', (size_t)line.length);
    if (!colon || colon == line.at || colon - line.at > MOST_KNOWN_BYTES || !is_printable(line))
        return NULL;
    Part written = {line.at, colon - line.at}, lower = {letters, written.length};
    for (Py_ssize_t i = 0; i < written.length; i++) {
        char letter = written.at[i];
        if (!is_of_name(letter))
            return NULL;
        letters[i] = letter >= 'A' && letter <= 'Z' ? (char)(letter + ('a' - 'A')) : letter;
    }
    Part value = stripped((Part){colon + 1, line.length - written.length - 1});
    Sort sort = sort_of(lower);
    if (sort == NOTABLE || (sort == LENGTH && *length >= 0))
        return NULL;
    if (sort == LENGTH && (*length = length_in(value)) < 0)
        return NULL;
    PyObject *name = name_of(heads, written, lower);
    PyObject *text = name ? PyUnicode_FromStringAndSize(value.at, value.length) : NULL;
    PyObject *field = text ? PyTuple_Pack(2, name, text) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(text);
    if (field && sort == ORDINARY && line.length <= MOST_KNOWN_BYTES &&
        remember(known, line, field) < 0)
        Py_CLEAR(field);
    return field;
}

/* ---------------------------------------------------------------------------------- whole heads */

/* Takes the line at the start of what is left; 0 if its end is not there, or is an odd one. */
static int take_line(Part *rest, Part *line)
{
    const char *end = memchr(rest->at, '\r', (size_t)rest->length);
    if (!end || end - rest->at + 2 > rest->length || end[1] != '\n')
        return 0;
    *line = (Part){rest->at, end - rest->at};
    rest->length -= line->length + 2;
    rest->at = end + 2;
    return 1;
}

/* Returns the code of a status line and which version it names; 0 if it is left to others. */
static int status_in(Part line, int *version)
{
    const char *at = line.at;
    if (line.length < 12 || memcmp(at, "HTTP/1.", 7) || (at[7] != '0' && at[7] != '1') ||
        at[8] != ' ' || at[9] < '2' || at[9] > '5' || !is_digit(at[10]) || !is_digit(at[11]) ||
        (line.length > 12 && at[12] != ' ') || !is_printable(line))
        return 0;
    *version = at[7] - '0';
    return (at[9] - '0') * 100 + (at[10] - '0') * 10 + (at[11] - '0');
}

/* Reads all fields up to the empty line; returns how many, 0 if they are left to others. */
static Py_ssize_t read_fields(Heads *heads, Part *rest, PyObject **fields, long long *length)
{
    Part line;
    Py_ssize_t count = 0;
    while (take_line(rest, &line)) {
        if (!line.length)
            return *length >= 0 ? count : 0;
        if (count == MOST_FIELDS)
            return 0;
        Known *known = place_of(heads->fields, line);
        if (is_there(known, line)) {
            fields[count] = known->meaning;
            Py_INCREF(known->meaning);
        } else {
            fields[count] = read_field(heads, line, known, length);
        }
        if (!fields[count])
            return 0;
        count++;
    }
    return 0;
}

static PyObject *tuple_of(PyObject **fields, Py_ssize_t count)
{
    PyObject *headers = PyTuple_New(count);
    for (Py_ssize_t i = 0; headers && i < count; i++) {
        PyTuple_SetItem(headers, i, fields[i]);
        fields[i] = NULL;
    }
    return headers;
}

/* What a usual head says. */
typedef struct {
    Py_ssize_t size;
    int status;
    PyObject *version;
    /* A new reference. */
    PyObject *headers;
    long long length;
} Usual;

/* Reads the head at the start of a response; 0 if it is left to others, or with an error. */
static int read_usual(Heads *heads, Part data, Usual *usual)
{
    Part rest = data, line;
    int version = 0;
    usual->status = take_line(&rest, &line) ? status_in(line, &version) : 0;
    if (!usual->status)
        return 0;
    PyObject *fields[MOST_FIELDS] = {NULL};
    usual->headers = NULL;
    usual->length = -1;
    Py_ssize_t count = read_fields(heads, &rest, fields, &usual->length);
    usual->size = rest.at - data.at;
    usual->version = heads->versions[version];
    if (count && count < heads->max_lines && usual->size - 4 < heads->max_end)
        usual->headers = tuple_of(fields, count);
    for (Py_ssize_t i = 0; i < MOST_FIELDS && fields[i]; i++)
        Py_DECREF(fields[i]);
    return usual->headers != NULL;
}

/* Returns 0, or -1 with an error; what is there by then is to be freed all the same. */
static int make_heads(Heads *heads, Py_ssize_t max_end, Py_ssize_t max_lines)
{
    heads->max_end = max_end;
    heads->max_lines = max_lines;
    heads->versions[0] = PyUnicode_FromString("1.0");
    heads->versions[1] = PyUnicode_FromString("1.1");
    heads->fields = PyMem_Calloc(PLACES, sizeof *heads->fields);
    heads->names = PyMem_Calloc(PLACES, sizeof *heads->names);
    if (heads->versions[0] && heads->versions[1] && heads->fields && heads->names)
        return 0;
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    return -1;
}

static void free_heads(Heads *heads)
{
    for (int i = 0; i < PLACES; i++) {
        if (heads->fields)
            forget(heads->fields + i);
        if (heads->names)
            forget(heads->names + i);
    }
    PyMem_Free(heads->fields);
    PyMem_Free(heads->names);
    Py_XDECREF(heads->versions[0]);
    Py_XDECREF(heads->versions[1]);
}
