/* Fetches ordinary pages over kept connections: lane.py says when, and what becomes of the others.
 *
 * Theory of operation. A place holds one connection, which libcurl has made and used before. It is
 * idle, and then its number is in the list of its route, or busy with one visit. What arrives is only
 * looked at (MSG_PEEK) until the whole response is there and found to be usual; then it is taken in one
 * piece. So whatever else arrives is still in the connection when it is handed back, and
 * whoever gets it sees what it would have seen without us. Only the body of a usual response that is
 * longer than what a connection holds is taken as it comes; what was taken goes with the connection.
 *
 * Responses come from strangers. No more than PEEK_BYTES of one are looked at, MOST_LOOKS times; one
 * that is longer than MOST_BYTES is nobody's here. Nothing recurses, and the number of places is fixed.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <errno.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "usual_head.h"

enum {
    /* Well below what the system takes in for a connection that nobody reads. */
    PEEK_BYTES = 32768,
    MOST_BYTES = 262144,
    MOST_LOOKS = 32,
    MOST_EVENTS = 64,
    MOST_URL_BYTES = 4096,
};

/* What a response begins with that may be ordinary. */
static const char BEGINNING[] = "HTTP/1.1 200";
enum { BEGINNING_BYTES = sizeof BEGINNING - 1 };

typedef struct {
    /* Below zero when the place is free. */
    int descriptor;
    int looks;
    /* How many responses were taken from this connection. */
    long served;
    /* How much makes the response whole; 0 before that is known. */
    Py_ssize_t whole;
    /* Of a long response that is being taken: its head, its body, and how much of that is there. */
    PyObject *head;
    PyObject *body;
    Py_ssize_t filled;
    /* Connections of the same route that are idle. */
    PyObject *idle;
    PyObject *address;
    /* NULL when the connection is idle. */
    PyObject *visit;
    PyObject *request;
    double started;
    double wall;
    double sent_at;
    double grace;
    double idle_since;
} Place;

/* Attributes of visits that are read. */
enum { URL, KIND, TRIES, REPORT_START, ETAG, LAST_MODIFIED, MANNER, TRANS_ID, NAMES };
static const char *const NAMES_READ[NAMES] = {
    "url", "kind", "tries", "report_start", "etag", "last_modified", "manner", "trans_id",
};

typedef struct {
    PyObject_HEAD
    int poller;
    Py_ssize_t count;
    Py_ssize_t busy;
    Py_ssize_t fresh_count;
    Py_ssize_t max_body;
    Place *places;
    /* Busy ones whose sending has not been timed yet. */
    Py_ssize_t *fresh;
    Heads heads;
    PyObject *make_fetch;
    PyObject *outcome;
    PyObject *no_text;
    PyObject *no_flags;
    PyObject *names[NAMES];
    /* Of the route in use: its URLs up to the path, what follows the path in a request. */
    PyObject *base;
    PyObject *rest;
    PyObject *idle;
    char bytes[PEEK_BYTES];
} Lane;

/* --------------------------------------------------------------------------------------- places */

static void set(PyObject **where, PyObject *value)
{
    PyObject *before = *where;
    Py_XINCREF(value);
    *where = value;
    Py_XDECREF(before);
}

static void clear_visit(Lane *lane, Place *place)
{
    if (place->visit)
        lane->busy--;
    Py_CLEAR(place->visit);
    Py_CLEAR(place->request);
    Py_CLEAR(place->head);
    Py_CLEAR(place->body);
    place->filled = 0;
}

/* Takes the number of a place off the list of idle ones, if it is there. */
static int unlist(Lane *lane, Place *place)
{
    Py_ssize_t index = place - lane->places;
    for (Py_ssize_t i = PyList_Size(place->idle) - 1; i >= 0; i--) {
        PyObject *number = PyList_GetItem(place->idle, i);
        if (number && PyLong_AsSsize_t(number) == index)
            return PyList_SetSlice(place->idle, i, i + 1, NULL);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Frees a place; returns the descriptor of its connection, which is nobody's now. */
static int vacate(Lane *lane, Place *place)
{
    int descriptor = place->descriptor;
    epoll_ctl(lane->poller, EPOLL_CTL_DEL, descriptor, NULL);
    place->descriptor = -1;
    clear_visit(lane, place);
    Py_CLEAR(place->idle);
    Py_CLEAR(place->address);
    return descriptor;
}

static void close_place(Lane *lane, Place *place)
{
    close(vacate(lane, place));
}

static int close_idle(Lane *lane, Place *place)
{
    int result = unlist(lane, place);
    close_place(lane, place);
    return result;
}

/* Makes a place busy; the reference to the request becomes its own. */
static void occupy(Lane *lane, Place *place, PyObject *visit, PyObject *request, double started,
                   double wall)
{
    set(&place->visit, visit);
    place->request = request;
    place->started = started;
    place->wall = wall;
    place->sent_at = place->grace = 0.0;
    place->looks = 0;
    place->whole = 0;
    lane->busy++;
}

static int become_idle(Lane *lane, Place *place, double now)
{
    PyObject *number = PyLong_FromSsize_t(place - lane->places);
    place->idle_since = now;
    int result = number ? PyList_Append(place->idle, number) : -1;
    Py_XDECREF(number);
    return result;
}

/* Returns a free place; if there is none, that of the connection which has been idle for longest. */
static Place *free_place(Lane *lane)
{
    Place *oldest = NULL;
    for (Py_ssize_t i = 0; i < lane->count; i++) {
        Place *place = lane->places + i;
        if (place->descriptor < 0)
            return place;
        if (!place->visit && (!oldest || place->idle_since < oldest->idle_since))
            oldest = place;
    }
    return oldest && !close_idle(lane, oldest) ? oldest : NULL;
}

/* Whether nothing came since the last response, not even the end: as libcurl asks before each use. */
static int is_quiet(int descriptor)
{
    char byte;
    return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* Takes a connection of the route that can be used off the list; NULL if there is none. */
static Place *take_idle(Lane *lane)
{
    Py_ssize_t left;
    while ((left = PyList_Size(lane->idle)) > 0) {
        PyObject *number = PyList_GetItem(lane->idle, left - 1);
        Py_ssize_t index = number ? PyLong_AsSsize_t(number) : -1;
        if (index < 0 || index >= lane->count || lane->places[index].visit ||
            lane->places[index].descriptor < 0) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a list of idle connections was changed");
            return NULL;
        }
        if (PyList_SetSlice(lane->idle, left - 1, left, NULL) < 0)
            return NULL;
        if (is_quiet(lane->places[index].descriptor))
            return lane->places + index;
        close_place(lane, lane->places + index);
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------- requests */

/* Returns the number that an attribute of a visit is; -1 with an error. */
static long number_in(Lane *lane, PyObject *visit, int name)
{
    PyObject *value = PyObject_GetAttr(visit, lane->names[name]);
    long number = value ? PyLong_AsLong(value) : -1;
    Py_XDECREF(value);
    return number;
}

/* Whether an attribute of a visit is none or false; -1 with an error. */
static int is_nothing(Lane *lane, PyObject *visit, int name)
{
    PyObject *value = PyObject_GetAttr(visit, lane->names[name]);
    if (!value)
        return -1;
    int result = value == Py_None || value == Py_False;
    Py_DECREF(value);
    return result;
}

/* Whether nothing makes the visit differ from most; -1 with an error. */
static int is_ordinary(Lane *lane, PyObject *visit)
{
    long kind = number_in(lane, visit, KIND), tries = number_in(lane, visit, TRIES);
    if (PyErr_Occurred())
        return -1;
    /* SITEMAP has limits of its own, CHECK asks for the head only. */
    int result = !tries && kind >= 0 && kind <= 4 && kind != 1;
    for (int name = REPORT_START; result > 0 && name <= MANNER; name++)
        result = is_nothing(lane, visit, name);
    return result;
}

/* Returns the request for a visit of the route; NULL without an error if libcurl shall make it. */
static PyObject *request_for(Lane *lane, PyObject *visit)
{
    Py_ssize_t length, base_length, rest_length;
    char *rest;
    PyObject *url = PyObject_GetAttr(visit, lane->names[URL]), *request = NULL;
    const char *text = url ? PyUnicode_AsUTF8AndSize(url, &length) : NULL;
    const char *base = text ? PyUnicode_AsUTF8AndSize(lane->base, &base_length) : NULL;
    if (!base || PyBytes_AsStringAndSize(lane->rest, &rest, &rest_length) < 0 ||
        length < base_length || length > MOST_URL_BYTES ||
        memcmp(text, base, (size_t)base_length))
        goto done;
    for (Py_ssize_t i = base_length; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '#')
            goto done;
    Py_ssize_t path_length = length - base_length + 1;
    request = PyBytes_FromStringAndSize(NULL, 4 + path_length + rest_length);
    char *at = request ? PyBytes_AsString(request) : NULL;
    if (at) {
        memcpy(at, "GET ", 4);
        memcpy(at + 4, text + base_length - 1, (size_t)path_length);
        memcpy(at + 4 + path_length, rest, (size_t)rest_length);
    }
done:
    Py_XDECREF(url);
    return request;
}

/* ------------------------------------------------------------------------------------- responses */

typedef enum { WAITING, TAKEN, LEFT, DEAD, FAILED } Found;

/* Whether nothing that is said about the connection keeps it from being used again. */
static int is_kept(PyObject *headers)
{
    Py_ssize_t count = PyTuple_Size(headers);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *field = PyTuple_GetItem(headers, i);
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GetItem(field, 0), "connection") &&
            PyUnicode_CompareWithASCIIString(PyTuple_GetItem(field, 1), "keep-alive"))
            return 0;
    }
    return 1;
}

static int is_head_over(Part data)
{
    const char *at = data.at, *end = data.at + data.length;
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        if (at < end && (*at == '\n' || (*at == '\r' && at + 1 < end && at[1] == '\n')))
            return 1;
    }
    return 0;
}

/* What is to be done about a response of which not even the head is whole. */
static Found unfinished(Place *place, Part data, int is_gone)
{
    if (is_gone)
        /* Where not even one line came, a kept connection counts as dead, as for libcurl. */
        return memchr(data.at, '\n', (size_t)data.length) ? LEFT : DEAD;
    return data.length == PEEK_BYTES || ++place->looks == MOST_LOOKS ? LEFT : WAITING;
}

/* What is to be done about a short one of which a part of the body is missing. */
static Found partial(Place *place, int is_gone)
{
    return is_gone || ++place->looks == MOST_LOOKS ? LEFT : WAITING;
}

/* Returns how much has arrived and was not taken; below zero if that cannot be told. */
static Py_ssize_t arrived(const Place *place)
{
    int size = -1;
    return ioctl(place->descriptor, FIONREAD, &size) < 0 ? -1 : size;
}

/* Tells of a whole response, which has been taken out of the connection. */
static Found finish(Lane *lane, Place *place, const char *head, const Usual *usual, PyObject *body,
                    int is_gone, double now, PyObject *finished)
{
    PyObject *arguments = Py_BuildValue(
        "(OOOiOOy#OOOOOddL)", place->visit, lane->outcome, lane->no_text, usual->status,
        usual->version, place->request, head, usual->size, usual->headers, body, body,
        lane->no_flags, place->address, place->wall, place->sent_at,
        (long long)((now - place->started) * 1000.0));
    PyObject *fetch = arguments ? PyObject_Call(lane->make_fetch, arguments, NULL) : NULL;
    Py_XDECREF(arguments);
    int result = fetch ? PyList_Append(finished, fetch) : -1;
    Py_XDECREF(fetch);
    if (result < 0)
        return FAILED;
    clear_visit(lane, place);
    place->served++;
    if (is_gone)
        close_place(lane, place);
    else if (become_idle(lane, place, now) < 0)
        return FAILED;
    return TAKEN;
}

/* Takes a whole response, all of which has been looked at, out of the connection. */
static Found take(Lane *lane, Place *place, const Usual *usual, int is_gone, double now,
                  PyObject *finished)
{
    size_t whole = (size_t)place->whole;
    PyObject *body = PyBytes_FromStringAndSize(lane->bytes + usual->size, (Py_ssize_t)usual->length);
    if (!body)
        return FAILED;
    /* Where it is not thrown away but copied, it is what stands there already. */
    if (recv(place->descriptor, lane->bytes, whole, MSG_TRUNC | MSG_DONTWAIT) != (ssize_t)whole)
        is_gone = 1;
    Found found = finish(lane, place, lane->bytes, usual, body, is_gone, now, finished);
    Py_DECREF(body);
    return found;
}

/* Takes what has arrived of a long body. No more than that: an error is for others to find. */
static Found take_some(Lane *lane, Place *place, int is_gone, double now, PyObject *finished)
{
    Usual usual;
    char *body = PyBytes_AsString(place->body), *head = PyBytes_AsString(place->head);
    Py_ssize_t missing = PyBytes_Size(place->body) - place->filled, size = arrived(place);
    if (!body || !head)
        return FAILED;
    if (size > missing)
        return LEFT;
    if (size > 0)
        size = recv(place->descriptor, body + place->filled, (size_t)size, MSG_DONTWAIT);
    if (size > 0)
        place->filled += size;
    if (size < missing)
        return is_gone || size < 0 ? LEFT : WAITING;
    if (!read_usual(&lane->heads, (Part){head, PyBytes_Size(place->head)}, &usual))
        return PyErr_Occurred() ? FAILED : LEFT;
    Found found = finish(lane, place, head, &usual, place->body, is_gone, now, finished);
    Py_DECREF(usual.headers);
    return found;
}

/* Begins to take a response that is longer than what was looked at. */
static Found begin_taking(Lane *lane, Place *place, const Usual *usual, int is_gone, double now,
                          PyObject *finished)
{
    place->head = PyBytes_FromStringAndSize(lane->bytes, usual->size);
    place->body = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)usual->length);
    if (!place->head || !place->body)
        return FAILED;
    if (recv(place->descriptor, lane->bytes, (size_t)usual->size, MSG_DONTWAIT) != usual->size)
        return DEAD;
    return take_some(lane, place, is_gone, now, finished);
}

static Found read_response(Lane *lane, Place *place, Part data, int is_gone, double now,
                           PyObject *finished)
{
    Usual usual;
    if (!read_usual(&lane->heads, data, &usual)) {
        if (PyErr_Occurred())
            return FAILED;
        return is_head_over(data) ? LEFT : unfinished(place, data, is_gone);
    }
    Found found = LEFT;
    if (usual.length <= lane->max_body && usual.length <= MOST_BYTES && is_kept(usual.headers)) {
        place->whole = usual.size + (Py_ssize_t)usual.length;
        if (data.length == place->whole)
            found = take(lane, place, &usual, is_gone, now, finished);
        else if (place->whole > PEEK_BYTES)
            found = begin_taking(lane, place, &usual, is_gone, now, finished);
        else if (data.length < place->whole)
            found = partial(place, is_gone);
        /* What is more than the response is for libcurl to judge. */
    }
    Py_DECREF(usual.headers);
    return found;
}

/* Looks at what has arrived. */
static Found look(Lane *lane, Place *place, uint32_t events, double now, PyObject *finished)
{
    int is_gone = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    ssize_t size;
    if (place->body)
        return take_some(lane, place, is_gone, now, finished);
    if (place->whole && !is_gone && arrived(place) < place->whole)
        return partial(place, 0);
    do
        size = recv(place->descriptor, lane->bytes, PEEK_BYTES, MSG_PEEK | MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && !is_gone)
        return WAITING;
    if (size <= 0)
        return DEAD;
    if (memcmp(lane->bytes, BEGINNING, (size_t)(size < BEGINNING_BYTES ? size : BEGINNING_BYTES)))
        return LEFT;
    return read_response(lane, place, (Part){lane->bytes, size}, is_gone, now, finished);
}

/* Returns what was taken of a response. */
static PyObject *taken_of(const Place *place)
{
    if (!place->body)
        return PyBytes_FromStringAndSize(NULL, 0);
    Py_ssize_t size = PyBytes_Size(place->head);
    PyObject *taken = PyBytes_FromStringAndSize(NULL, size + place->filled);
    char *at = taken ? PyBytes_AsString(taken) : NULL;
    if (at) {
        memcpy(at, PyBytes_AsString(place->head), (size_t)size);
        memcpy(at + size, PyBytes_AsString(place->body), (size_t)place->filled);
    }
    return taken;
}

/* Vacates a place and adds what libcurl has to know to go on with its visit to a list. */
static int leave(Lane *lane, Place *place, int is_dead, PyObject *left)
{
    PyObject *taken = taken_of(place);
    PyObject *told = NULL;
    if (taken)
        told = Py_BuildValue("(iOddddlN)", is_dead ? -1 : place->descriptor, place->visit,
                             place->started, place->wall, place->sent_at, place->grace,
                             place->served, taken);
    int result = told ? PyList_Append(left, told) : -1;
    Py_XDECREF(told);
    if (result < 0)
        return -1;
    if (is_dead)
        close_place(lane, place);
    else
        vacate(lane, place);
    return 0;
}

static int handle(Lane *lane, Place *place, uint32_t events, double now, PyObject *finished,
                  PyObject *left)
{
    /* It was closed since. */
    if (place->descriptor < 0)
        return 0;
    /* Nobody asked for anything: it has ended, or cannot be trusted. */
    if (!place->visit)
        return close_idle(lane, place);
    Found found = look(lane, place, events, now, finished);
    if (found == LEFT || found == DEAD)
        return leave(lane, place, found == DEAD, left);
    return found == FAILED ? -1 : 0;
}

/* ------------------------------------------------------------------------------------ for Python */

static PyObject *lane_fileno(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyLong_FromLong(((Lane *)self)->poller);
}

static PyObject *lane_open_count(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyLong_FromSsize_t(((Lane *)self)->busy);
}

static PyObject *lane_use(PyObject *self, PyObject *given)
{
    Lane *lane = (Lane *)self;
    PyObject *base, *rest, *idle;
    if (!PyArg_ParseTuple(given, "USO!", &base, &rest, &PyList_Type, &idle))
        return NULL;
    if (PyUnicode_GetLength(base) < 1) {
        PyErr_SetString(PyExc_ValueError, "a base ends with a slash");
        return NULL;
    }
    set(&lane->base, base);
    set(&lane->rest, rest);
    set(&lane->idle, idle);
    Py_RETURN_NONE;
}

static PyObject *lane_adopt(PyObject *self, PyObject *given)
{
    Lane *lane = (Lane *)self;
    PyObject *address, *idle, *visit, *request;
    int descriptor;
    double started, wall, sent_at, grace;
    if (!PyArg_ParseTuple(given, "iUO!OSdddd", &descriptor, &address, &PyList_Type, &idle, &visit,
                          &request, &started, &wall, &sent_at, &grace))
        return NULL;
    Place *place = free_place(lane);
    if (PyErr_Occurred())
        return NULL;
    if (!place)
        Py_RETURN_FALSE;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET,
                                .data.u64 = (uint64_t)(place - lane->places)};
    if (epoll_ctl(lane->poller, EPOLL_CTL_ADD, descriptor, &event) < 0)
        Py_RETURN_FALSE;
    place->descriptor = descriptor;
    place->served = 0;
    set(&place->idle, idle);
    set(&place->address, address);
    Py_INCREF(request);
    occupy(lane, place, visit, request, started, wall);
    place->sent_at = sent_at;
    place->grace = grace;
    Py_RETURN_TRUE;
}

static PyObject *lane_lend(PyObject *self, PyObject *Py_UNUSED(none))
{
    Lane *lane = (Lane *)self;
    Place *place = take_idle(lane);
    if (!place && PyErr_Occurred())
        return NULL;
    return PyLong_FromLong(place ? vacate(lane, place) : -1);
}

static PyObject *lane_send(PyObject *self, PyObject *given)
{
    Lane *lane = (Lane *)self;
    PyObject *visit;
    double started, wall;
    if (!PyArg_ParseTuple(given, "Odd", &visit, &started, &wall))
        return NULL;
    int ordinary = PyList_Size(lane->idle) > 0 ? is_ordinary(lane, visit) : 0;
    PyObject *request = ordinary > 0 ? request_for(lane, visit) : NULL;
    Place *place = request ? take_idle(lane) : NULL;
    if (!place) {
        Py_XDECREF(request);
        return PyErr_Occurred() ? NULL : PyBool_FromLong(0);
    }
    ssize_t size = (ssize_t)PyBytes_Size(request);
    if (send(place->descriptor, PyBytes_AsString(request), (size_t)size,
             MSG_NOSIGNAL | MSG_DONTWAIT) != size) {
        Py_DECREF(request);
        close_place(lane, place);
        Py_RETURN_FALSE;
    }
    occupy(lane, place, visit, request, started, wall);
    if (lane->fresh_count < lane->count)
        lane->fresh[lane->fresh_count++] = place - lane->places;
    Py_RETURN_TRUE;
}

static PyObject *lane_stamp(PyObject *self, PyObject *given)
{
    Lane *lane = (Lane *)self;
    double now = PyFloat_AsDouble(given);
    if (now == -1.0 && PyErr_Occurred())
        return NULL;
    while (lane->fresh_count)
        lane->places[lane->fresh[--lane->fresh_count]].sent_at = now;
    Py_RETURN_NONE;
}

static PyObject *lane_collect(PyObject *self, PyObject *given)
{
    Lane *lane = (Lane *)self;
    struct epoll_event events[MOST_EVENTS];
    PyObject *finished, *left;
    double now;
    if (!PyArg_ParseTuple(given, "dO!O!", &now, &PyList_Type, &finished, &PyList_Type, &left))
        return NULL;
    int count = epoll_wait(lane->poller, events, MOST_EVENTS, 0);
    for (int i = 0; i < count; i++)
        if (handle(lane, lane->places + events[i].data.u64, events[i].events, now, finished,
                   left) < 0)
            return NULL;
    Py_RETURN_NONE;
}

static PyObject *lane_sweep(PyObject *self, PyObject *given)
{
    Lane *lane = (Lane *)self;
    double now, patience, longest_idle;
    PyObject *left = NULL;
    if (!PyArg_ParseTuple(given, "ddd", &now, &patience, &longest_idle) || !(left = PyList_New(0)))
        return NULL;
    for (Py_ssize_t i = 0; i < lane->count; i++) {
        Place *place = lane->places + i;
        int result = 0;
        if (place->descriptor < 0)
            continue;
        if (place->visit && place->started + place->grace + patience <= now)
            result = leave(lane, place, 0, left);
        else if (!place->visit && place->idle_since + longest_idle <= now)
            result = close_idle(lane, place);
        if (result < 0) {
            Py_DECREF(left);
            return NULL;
        }
    }
    return left;
}

static PyObject *lane_forgive(PyObject *self, PyObject *given)
{
    Lane *lane = (Lane *)self;
    double now, lag;
    if (!PyArg_ParseTuple(given, "dd", &now, &lag))
        return NULL;
    for (Py_ssize_t i = 0; i < lane->count; i++) {
        Place *place = lane->places + i;
        if (place->visit)
            place->grace += lag < now - place->started ? lag : now - place->started;
    }
    Py_RETURN_NONE;
}

static PyObject *lane_cancel(PyObject *self, PyObject *chosen)
{
    Lane *lane = (Lane *)self;
    PyObject *visits = PyList_New(0);
    for (Py_ssize_t i = 0; visits && i < lane->count; i++) {
        Place *place = lane->places + i;
        int result = place->visit != NULL;
        if (result && chosen != Py_None) {
            PyObject *number = PyObject_GetAttr(place->visit, lane->names[TRANS_ID]);
            result = number ? PySequence_Contains(chosen, number) : -1;
            Py_XDECREF(number);
        }
        if (result > 0)
            result = PyList_Append(visits, place->visit);
        else if (!result)
            continue;
        if (result < 0)
            Py_CLEAR(visits);
        else
            close_place(lane, place);
    }
    return visits;
}

static PyObject *lane_close(PyObject *self, PyObject *Py_UNUSED(none))
{
    Lane *lane = (Lane *)self;
    for (Py_ssize_t i = 0; i < lane->count; i++) {
        Place *place = lane->places + i;
        if (place->descriptor >= 0) {
            if (!place->visit)
                PyList_SetSlice(place->idle, 0, PyList_Size(place->idle), NULL);
            close_place(lane, place);
        }
    }
    if (lane->poller >= 0)
        close(lane->poller);
    lane->poller = -1;
    Py_RETURN_NONE;
}

static void lane_free(PyObject *self)
{
    Lane *lane = (Lane *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(lane_close(self, NULL));
    PyMem_Free(lane->places);
    PyMem_Free(lane->fresh);
    free_heads(&lane->heads);
    Py_XDECREF(lane->make_fetch);
    Py_XDECREF(lane->outcome);
    Py_XDECREF(lane->no_text);
    Py_XDECREF(lane->no_flags);
    for (int i = 0; i < NAMES; i++)
        Py_XDECREF(lane->names[i]);
    Py_XDECREF(lane->base);
    Py_XDECREF(lane->rest);
    Py_XDECREF(lane->idle);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static int lane_fill(Lane *lane, Py_ssize_t most)
{
    lane->no_text = PyUnicode_FromString("");
    lane->no_flags = PyTuple_New(0);
    lane->base = PyUnicode_FromString("/");
    lane->rest = PyBytes_FromStringAndSize(NULL, 0);
    lane->idle = PyList_New(0);
    for (int i = 0; i < NAMES; i++)
        lane->names[i] = PyUnicode_InternFromString(NAMES_READ[i]);
    lane->places = PyMem_Calloc((size_t)most, sizeof *lane->places);
    lane->fresh = PyMem_Calloc((size_t)most, sizeof *lane->fresh);
    if (!lane->places || !lane->fresh)
        PyErr_NoMemory();
    if (PyErr_Occurred())
        return -1;
    for (Py_ssize_t i = 0; i < most; i++)
        lane->places[i].descriptor = -1;
    lane->count = most;
    lane->poller = epoll_create1(EPOLL_CLOEXEC);
    if (lane->poller < 0)
        PyErr_SetFromErrno(PyExc_OSError);
    return lane->poller < 0 ? -1 : 0;
}

static PyObject *lane_new(PyTypeObject *type, PyObject *given, PyObject *named)
{
    PyObject *make, *outcome;
    Py_ssize_t most, max_end, max_lines, max_body;
    if (named && PyDict_Size(named)) {
        PyErr_SetString(PyExc_TypeError, "Lane takes no arguments by name");
        return NULL;
    }
    if (!PyArg_ParseTuple(given, "OOnnnn", &make, &outcome, &most, &max_end, &max_lines, &max_body))
        return NULL;
    if (most < 1 || most > 65536) {
        PyErr_SetString(PyExc_ValueError, "a lane has 1 to 65536 places");
        return NULL;
    }
    Lane *lane = (Lane *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!lane)
        return NULL;
    lane->poller = -1;
    lane->max_body = max_body;
    set(&lane->make_fetch, make);
    set(&lane->outcome, outcome);
    if (make_heads(&lane->heads, max_end, max_lines) < 0 || lane_fill(lane, most) < 0) {
        Py_DECREF(lane);
        return NULL;
    }
    return (PyObject *)lane;
}

static PyMethodDef LANE_METHODS[] = {
    {"fileno", lane_fileno, METH_NOARGS, "fileno() -> what can be read when there is something to collect."},
    {"open_count", lane_open_count, METH_NOARGS, "open_count() -> how many visits are out."},
    {"use", lane_use, METH_VARARGS, "use(base, rest, idle): the route of the visits that follow."},
    {"adopt", lane_adopt, METH_VARARGS,
     "adopt(descriptor, address, idle, visit, request, started, wall, sent_at, grace) -> whether the "
     "connection, with the response to a request in it, is the lane's from now on."},
    {"lend", lane_lend, METH_NOARGS,
     "lend() -> the descriptor of an idle connection, which is the caller's; -1 if there is none."},
    {"send", lane_send, METH_VARARGS,
     "send(visit, started, wall) -> whether the request is out; if not, it is for libcurl."},
    {"stamp", lane_stamp, METH_O, "stamp(now): that is when all were sent that are not stamped yet."},
    {"collect", lane_collect, METH_VARARGS,
     "collect(now, finished, left): add the fetches that ended, and what libcurl has to go on with."},
    {"sweep", lane_sweep, METH_VARARGS,
     "sweep(now, patience, longest_idle) -> what libcurl has to go on with, because it takes long."},
    {"forgive", lane_forgive, METH_VARARGS, "forgive(now, lag): so much of the time is ours."},
    {"cancel", lane_cancel, METH_O,
     "cancel(trans_ids) -> the visits of these, or of None: of all, whose connections are closed."},
    {"close", lane_close, METH_NOARGS, "close(): close every connection."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot LANE_SLOTS[] = {
    {Py_tp_new, lane_new},
    {Py_tp_dealloc, lane_free},
    {Py_tp_methods, LANE_METHODS},
    {Py_tp_doc, "Lane(make_fetch, outcome, places, max_end, max_lines, max_body): fetches ordinary pages."},
    {0, NULL},
};

static PyType_Spec LANE = {
    "gossamer.spider._lane.Lane", sizeof(Lane), 0, Py_TPFLAGS_DEFAULT, LANE_SLOTS,
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_lane", "Ordinary fetches.", 0, NULL, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__lane(void)
{
    PyObject *module = PyModule_Create(&MODULE);
    PyObject *type = module ? PyType_FromSpec(&LANE) : NULL;
    if (!type || PyModule_AddObjectRef(module, "Lane", type) < 0)
        Py_CLEAR(module);
    Py_XDECREF(type);
    return module;
}
