/* From the keys of links to the URLs of a map, all of a page in one call.
 *
 * Theory of operation. The link graph names pages by keys of 8 bytes, the first half of the md5 of
 * their URLs. `Urls` is a table from these to the strings, with a mark for each that a walk has met:
 * for what takes a few nanoseconds here, Python would make a number of each key, look that up, and
 * the string in a set.
 *
 * The keys come from strangers. Each is read whole, and how they are spread differs in each process;
 * nothing recurses; the work is proportional to the number of keys.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

enum { KEY_BYTES = 8, FEWEST_PLACES = 64 };

/* Open addressing with linear probing; no URL is an empty place. */
struct place {
    uint64_t key;
    PyObject *url;
    int is_met;
};

typedef struct {
    PyObject_HEAD
    struct place *places;
    size_t mask;    /* the number of places, a power of two, less one */
    size_t filled;
} Urls;

/* Odd, and different in each process, so that nobody can choose URLs whose keys meet. */
static uint64_t key_spread = 0x9E3779B97F4A7C15u;

/* The place of a key, or the empty one where it would be. */
static struct place *place_of(const Urls *urls, const byte *key_bytes)
{
    uint64_t key;
    memcpy(&key, key_bytes, KEY_BYTES);
    uint64_t spread = key * key_spread;
    size_t number = (size_t)(spread ^ spread >> 32) & urls->mask;
    while (urls->places[number].url && urls->places[number].key != key)
        number = (number + 1) & urls->mask;
    return &urls->places[number];
}

static int grow(Urls *urls)
{
    size_t count = urls->mask + 1;
    struct place *old = urls->places, *places = PyMem_Calloc(2 * count, sizeof *places);
    if (!places) {
        PyErr_NoMemory();
        return -1;
    }
    urls->places = places;
    urls->mask = 2 * count - 1;
    for (size_t number = 0; number < count; number++)
        if (old[number].url)
            *place_of(urls, (const byte *)&old[number].key) = old[number];
    PyMem_Free(old);
    return 0;
}

static int put(Urls *urls, const byte *key, PyObject *url)
{
    if (!PyUnicode_Check(url)) {
        PyErr_SetString(PyExc_TypeError, "a URL is a string");
        return -1;
    }
    /* Half of the places stay empty: with fewer, the way to one becomes long. */
    if (urls->filled + 1 > (urls->mask + 1) / 2 && grow(urls) < 0)
        return -1;
    struct place *place = place_of(urls, key);
    PyObject *old = place->url;
    urls->filled += !old;
    memcpy(&place->key, key, KEY_BYTES);
    place->url = Py_NewRef(url);
    place->is_met = 0;
    Py_XDECREF(old);
    return 0;
}

static const byte *keys_in(PyObject *given, Py_ssize_t *length)
{
    char *bytes;
    if (PyBytes_AsStringAndSize(given, &bytes, length) < 0)
        return NULL;
    if (*length % KEY_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a key has 8 bytes");
        return NULL;
    }
    return (const byte *)bytes;
}

static PyObject *urls_add(PyObject *self, PyObject *arguments)
{
    PyObject *given, *urls;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "SO!", &given, &PyTuple_Type, &urls))
        return NULL;
    const byte *keys = keys_in(given, &length);
    if (!keys)
        return NULL;
    if (PyTuple_Size(urls) != length / KEY_BYTES) {
        PyErr_SetString(PyExc_ValueError, "there are more keys or more URLs");
        return NULL;
    }
    for (Py_ssize_t number = 0; number < length / KEY_BYTES; number++)
        if (put((Urls *)self, keys + number * KEY_BYTES, PyTuple_GetItem(urls, number)) < 0)
            return NULL;
    Py_RETURN_NONE;
}

static PyObject *urls_begin(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    Urls *urls = (Urls *)self;
    for (size_t number = 0; number <= urls->mask; number++)
        urls->places[number].is_met = 0;
    Py_RETURN_NONE;
}

static PyObject *urls_targets(PyObject *self, PyObject *given)
{
    Py_ssize_t length, count = 0;
    const byte *keys = keys_in(given, &length);
    PyObject *found = keys ? PyList_New(length / KEY_BYTES) : NULL;
    if (!found)
        return NULL;
    for (Py_ssize_t at = 0; at < length; at += KEY_BYTES) {
        PyObject *url = place_of((Urls *)self, keys + at)->url;
        if (url)
            PyList_SetItem(found, count++, Py_NewRef(url));
    }
    /* What is not known is left out; the rest of the list is empty. */
    if (count < length / KEY_BYTES && PyList_SetSlice(found, count, length / KEY_BYTES, NULL) < 0)
        Py_CLEAR(found);
    return found;
}

static PyObject *urls_unmet(PyObject *self, PyObject *given)
{
    Py_ssize_t length;
    const byte *keys = keys_in(given, &length);
    PyObject *found = keys ? PyList_New(0) : NULL;
    for (Py_ssize_t at = 0; found && at < length; at += KEY_BYTES) {
        struct place *place = place_of((Urls *)self, keys + at);
        if (!place->url || place->is_met)
            continue;
        place->is_met = 1;
        if (PyList_Append(found, place->url) < 0)
            Py_CLEAR(found);
    }
    return found;
}

static PyObject *urls_met(PyObject *self, PyObject *given)
{
    Py_ssize_t length;
    const byte *keys = keys_in(given, &length);
    PyObject *found = keys ? PyList_New(0) : NULL;
    for (Py_ssize_t at = 0; found && at < length; at += KEY_BYTES) {
        const struct place *place = place_of((Urls *)self, keys + at);
        if (place->url && place->is_met && PyList_Append(found, place->url) < 0)
            Py_CLEAR(found);
    }
    return found;
}

static PyObject *urls_leave(PyObject *self, PyObject *given)
{
    Py_ssize_t length;
    const byte *keys = keys_in(given, &length);
    if (!keys)
        return NULL;
    for (Py_ssize_t at = 0; at < length; at += KEY_BYTES)
        place_of((Urls *)self, keys + at)->is_met = 0;
    Py_RETURN_NONE;
}

static PyObject *urls_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "", names))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Urls *urls = (Urls *)allocate(type, 0);
    if (!urls)
        return NULL;
    urls->mask = FEWEST_PLACES - 1;
    urls->places = PyMem_Calloc(FEWEST_PLACES, sizeof *urls->places);
    if (!urls->places) {
        Py_DECREF(urls);
        return PyErr_NoMemory();
    }
    return (PyObject *)urls;
}

static void urls_dealloc(PyObject *self)
{
    Urls *urls = (Urls *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    for (size_t number = 0; urls->places && number <= urls->mask; number++)
        Py_XDECREF(urls->places[number].url);
    PyMem_Free(urls->places);
    free_object(self);
    Py_DECREF(type);
}

/* ------------------------------------------------------------------ the type and the module */

static PyMethodDef URLS_METHODS[] = {
    {"add", urls_add, METH_VARARGS,
     "add(keys, urls): know these; of two URLs with one key the later is known."},
    {"begin", urls_begin, METH_NOARGS, "begin(): let a walk begin, which has met none yet."},
    {"targets", urls_targets, METH_O, "targets(keys) -> the URLs of those keys that are known."},
    {"unmet", urls_unmet, METH_O,
     "unmet(keys) -> those of them that the walk has not met; from now on it has."},
    {"met", urls_met, METH_O, "met(keys) -> those of them that the walk has met."},
    {"leave", urls_leave, METH_O, "leave(keys): let the walk meet these again."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot URLS_SLOTS[] = {
    {Py_tp_doc, "URLs by their keys of 8 bytes."},
    {Py_tp_new, urls_new},
    {Py_tp_dealloc, urls_dealloc},
    {Py_tp_methods, URLS_METHODS},
    {0, NULL},
};

static PyType_Spec URLS_SPEC = {
    "gossamer.site._keys.Urls", sizeof(Urls), 0, Py_TPFLAGS_DEFAULT, URLS_SLOTS,
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_keys", "URLs by their keys.", 0, NULL, NULL, NULL, NULL, NULL,
};

/* How this process hashes strings is chosen at random, unless somebody asked for the same always. */
static int spread_keys(void)
{
    PyObject *word = PyUnicode_FromString("gossamer.site._keys");
    Py_hash_t chosen = word ? PyObject_Hash(word) : -1;
    Py_XDECREF(word);
    key_spread ^= (uint64_t)chosen << 1;
    return word ? 0 : -1;
}

PyMODINIT_FUNC PyInit__keys(void)
{
    PyObject *module = PyModule_Create(&MODULE), *type = NULL;
    if (module && (spread_keys() < 0 || !(type = PyType_FromSpec(&URLS_SPEC)) ||
                   PyModule_AddObjectRef(module, "Urls", type) < 0))
        Py_CLEAR(module);
    Py_XDECREF(type);
    return module;
}
