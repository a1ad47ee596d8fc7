/* Makes the plain references of a page absolute, and the keys of its links, all in one call each.
 *
 * Theory of operation. Most references are a climb and a path, or a whole URL, in characters that
 * stay as they are: canonical.py says which (`_PLAIN`, `_PLAIN_URL`), and this agrees with it to the
 * letter, so that no reference means another thing here; what is not plain is left to it. Pages
 * repeat the links of their neighbours. So there is a table of URLs with their keys, in which each
 * has one slot where it may be: what was made lately is found there, and the string, its hash and
 * its md5 need not be made again. What it forgets is only made anew.
 *
 * All bytes come from strangers. Every read is checked against the end, every write against the
 * room; nothing recurses; the work is proportional to the length of the references.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

#include "keyset.h"
#include "md5.h"

/* Longer URLs are not kept, so that the room a table takes is known. */
enum { LONGEST_KEPT = 256 };
enum { DEEPEST = 64 };

/* ------------------------------------------------------------------ which references are plain */

enum { STARTS_PATH = 1, IN_PATH = 2, IN_QUERY = 4, IN_LABEL = 8, IN_LAST_LABEL = 16 };
static byte uses[256];

static void allow(const char *bytes, byte use)
{
    for (; *bytes; bytes++)
        uses[(byte)*bytes] |= use;
}

static void fill_uses(void)
{
    static const char digits[] = "0123456789", lower[] = "abcdefghijklmnopqrstuvwxyz";
    static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const byte anywhere = STARTS_PATH | IN_PATH | IN_QUERY;
    allow("_~,;=+()!$*@-", anywhere);
    allow(upper, anywhere);
    allow(lower, anywhere | IN_LABEL | IN_LAST_LABEL);
    allow(digits, anywhere | IN_LABEL);
    allow("-", IN_LABEL);
    allow("/.", IN_PATH | IN_QUERY);
    allow(":&", IN_QUERY);
}

/* `_PATH` without dot segments: whether it is that up to the end, and whether a query is in it. */
static int is_path(const byte *at, const byte *end, int *has_query)
{
    if (at == end || !(uses[*at] & STARTS_PATH))
        return 0;
    byte use = IN_PATH, before = *at++;
    *has_query = 0;
    for (; at < end; before = *at++) {
        if (*at == '?' && !*has_query) {
            if (at + 1 == end)
                return 0;
            *has_query = 1;
            use = IN_QUERY;
        } else if (!(uses[*at] & use) || (*at == '.' && before == '/')) {
            return 0;
        }
    }
    return 1;
}

/* The path of a URL whose host is a plain name; NULL if it is not. */
static const byte *after_host(const byte *at, const byte *end)
{
    const byte *label = at;
    int labels = 0, has_letters_only = 1;
    for (; at < end && *at != '/'; at++) {
        if (*at == '.') {
            if (at == label)
                return NULL;
            labels++;
            label = at + 1;
            has_letters_only = 1;
        } else if (!(uses[*at] & IN_LABEL)) {
            return NULL;
        } else {
            has_letters_only &= (uses[*at] & IN_LAST_LABEL) != 0;
            /* Punycode is to be checked. */
            if (*at == 'x' && end - at >= 4 && !memcmp(at, "xn--", 4))
                return NULL;
        }
    }
    return at < end && labels && has_letters_only && at - label >= 2 ? at : NULL;
}

/* `_PLAIN_URL`. */
static int is_url(const byte *at, const byte *end, int *has_query)
{
    if (end - at < 8 || memcmp(at, "http", 4))
        return 0;
    at += 4;
    if (*at == 's')
        at++;
    if (memcmp(at, "://", 3))
        return 0;
    at = after_host(at + 3, end);
    *has_query = 0;
    return at && (at + 1 == end || is_path(at + 1, end, has_query));
}

/* ------------------------------------------------------------------ the table of URLs */

struct slot {
    PyObject *url;    /* NULL if the slot is empty */
    const byte *text;
    uint32_t hash;
    uint32_t length;
    byte key[KEY_BYTES];
    byte has_key;
};

typedef struct {
    PyObject_HEAD
    struct slot *slots;
    size_t mask;
    byte *room;       /* for a URL that is being made */
    Py_ssize_t max_bytes;
    int tidies;       /* queries are to be changed */
} Urls;

static uint64_t hash_of(const byte *at, size_t length)
{
    uint64_t sum = length, word;
    for (; length >= sizeof word; at += sizeof word, length -= sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
        sum ^= sum >> 32;
    }
    if (length) {
        word = 0;
        memcpy(&word, at, length);
        sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
        sum ^= sum >> 32;
    }
    return sum;
}

/* The slot of a URL of at most LONGEST_KEPT bytes; it is in it only if `is_in` says so. */
static struct slot *slot_of(const Urls *urls, const byte *text, size_t length, uint32_t *hash)
{
    uint64_t sum = hash_of(text, length);
    *hash = (uint32_t)(sum >> 32);
    return &urls->slots[(size_t)sum & urls->mask];
}

static int is_in(const struct slot *slot, const byte *text, size_t length, uint32_t hash)
{
    return slot->url && slot->hash == hash && slot->length == length &&
           !memcmp(slot->text, text, length);
}

/* Puts a string of ASCII into a slot. `text` is its own, and lives as long as it does. */
static void put(struct slot *slot, PyObject *url, const byte *text, size_t length, uint32_t hash)
{
    PyObject *old = slot->url;
    slot->url = Py_NewRef(url);
    slot->text = text;
    slot->length = (uint32_t)length;
    slot->hash = hash;
    slot->has_key = 0;
    Py_XDECREF(old);
}

/* The string for a URL: one that was made before, or else `own`, or else a new one. */
static PyObject *string_of(Urls *urls, const byte *text, size_t length, PyObject *own)
{
    struct slot *slot = NULL;
    uint32_t hash = 0;
    if (length <= LONGEST_KEPT) {
        slot = slot_of(urls, text, length, &hash);
        if (is_in(slot, text, length, hash))
            return Py_NewRef(slot->url);
    }
    PyObject *url =
        own ? Py_NewRef(own) : PyUnicode_FromStringAndSize((const char *)text, (Py_ssize_t)length);
    if (!url || !slot)
        return url;
    const char *kept = PyUnicode_AsUTF8AndSize(url, NULL);
    if (!kept) {
        Py_DECREF(url);
        return NULL;
    }
    put(slot, url, (const byte *)kept, length, hash);
    return url;
}

/* ------------------------------------------------------------------ references made absolute */

/* The directory of a page, and how much of it is left after so many climbs. */
struct base {
    const byte *text;
    size_t authority;
    size_t lengths[DEEPEST];
    int depth;        /* how many lengths there are */
    int is_whole;     /* the last one is the root */
};

/* `text` has a slash where the authority ends, and one at its end. */
static void set_base(struct base *base, const char *text, Py_ssize_t length, Py_ssize_t authority)
{
    base->text = (const byte *)text;
    base->authority = (size_t)authority;
    base->depth = 0;
    for (Py_ssize_t at = length - 1; at >= authority && base->depth < DEEPEST; at--)
        if (text[at] == '/')
            base->lengths[base->depth++] = (size_t)at + 1;
    base->is_whole = base->lengths[base->depth - 1] == base->authority + 1;
}

static int open_base(struct base *base, PyObject *directory, Py_ssize_t authority)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(directory, &length);
    if (!text)
        return -1;
    if (authority < 0 || authority >= length || text[authority] != '/' || text[length - 1] != '/') {
        PyErr_SetString(PyExc_ValueError, "a directory is an authority and a path between slashes");
        return -1;
    }
    set_base(base, text, length, authority);
    return 0;
}

enum answer { JOINED, TOO_LONG, NOT_PLAIN, NOT_ASCII, FAILED };

/* Puts the URL of a path into the room. */
static enum answer join_path(
    Urls *urls, const struct base *base, const byte *at, const byte *end, size_t *length)
{
    int climbs = 0, has_query;
    for (; end - at >= 3 && !memcmp(at, "../", 3); at += 3)
        climbs += climbs < DEEPEST;
    int is_rooted = at < end && *at == '/';
    if (!is_path(at + is_rooted, end, &has_query) || (is_rooted && climbs) ||
        (has_query && urls->tidies))
        return NOT_PLAIN;
    if (climbs >= base->depth) {
        if (!base->is_whole)
            return NOT_PLAIN;
        climbs = base->depth - 1;
    }
    size_t start = is_rooted ? base->authority : base->lengths[climbs], rest = (size_t)(end - at);
    if (start + rest > (size_t)urls->max_bytes)
        return TOO_LONG;
    memcpy(urls->room, base->text, start);
    memcpy(urls->room + start, at, rest);
    *length = start + rest;
    return JOINED;
}

/* Finds the text of the URL that a reference means: in the room, or the reference itself. */
static enum answer find_url(
    Urls *urls, const struct base *base, PyObject *href, const byte **text, size_t *length)
{
    if (!PyUnicode_CheckExact(href))
        return NOT_PLAIN;
    Py_ssize_t characters = PyUnicode_GetLength(href), bytes;
    if (characters > urls->max_bytes)
        return NOT_PLAIN;
    const byte *own = (const byte *)PyUnicode_AsUTF8AndSize(href, &bytes);
    if (!own) {
        /* Half characters. */
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return FAILED;
        PyErr_Clear();
        return NOT_ASCII;
    }
    if (bytes != characters)
        return NOT_ASCII;
    int has_query;
    enum answer answer = join_path(urls, base, own, own + bytes, length);
    *text = urls->room;
    if (answer == NOT_PLAIN && is_url(own, own + bytes, &has_query) &&
        !(has_query && urls->tidies)) {
        *text = own;
        *length = (size_t)bytes;
        return JOINED;
    }
    return answer;
}

static enum answer join_one(Urls *urls, const struct base *base, PyObject *href, PyObject **url)
{
    const byte *text;
    size_t length;
    enum answer answer = find_url(urls, base, href, &text, &length);
    if (answer == JOINED) {
        *url = string_of(urls, text, length, text == urls->room ? NULL : href);
        return *url ? JOINED : FAILED;
    }
    return answer == NOT_ASCII ? NOT_PLAIN : answer;
}

static PyObject *urls_join(PyObject *self, PyObject *arguments)
{
    PyObject *directory, *hrefs;
    Py_ssize_t authority;
    struct base base;
    if (!PyArg_ParseTuple(arguments, "UnO!", &directory, &authority, &PyList_Type, &hrefs) ||
        open_base(&base, directory, authority) < 0)
        return NULL;
    Py_ssize_t count = PyList_Size(hrefs);
    PyObject *found = PyList_New(count), *others = PyList_New(0);
    for (Py_ssize_t number = 0; found && others && number < count; number++) {
        PyObject *url = NULL;
        enum answer answer = join_one((Urls *)self, &base, PyList_GetItem(hrefs, number), &url);
        if (answer == FAILED || (answer == NOT_PLAIN && append_number(others, number) < 0)) {
            Py_XDECREF(url);
            Py_CLEAR(found);
            break;
        }
        PyList_SetItem(found, number, url ? url : Py_NewRef(Py_None));
    }
    PyObject *result = found && others ? PyTuple_Pack(2, found, others) : NULL;
    Py_XDECREF(found);
    Py_XDECREF(others);
    return result;
}

/* ------------------------------------------------------------------ keys */

static int key_of(Urls *urls, PyObject *url, byte *key)
{
    Py_ssize_t length;
    byte sum[MD5_BYTES];
    const byte *text = (const byte *)PyUnicode_AsUTF8AndSize(url, &length);
    if (!text)
        return -1;
    struct slot *slot = NULL;
    /* What is not ASCII, and no canonical URL, would have a copy of its text kept with it. */
    if (length <= LONGEST_KEPT && length == PyUnicode_GetLength(url) && PyUnicode_CheckExact(url)) {
        uint32_t hash;
        slot = slot_of(urls, text, (size_t)length, &hash);
        if (!is_in(slot, text, (size_t)length, hash))
            put(slot, url, text, (size_t)length, hash);
        if (slot->has_key) {
            memcpy(key, slot->key, KEY_BYTES);
            return 0;
        }
    }
    md5(text, (size_t)length, sum);
    memcpy(key, sum, KEY_BYTES);
    if (slot) {
        memcpy(slot->key, sum, KEY_BYTES);
        slot->has_key = 1;
    }
    return 0;
}

static PyObject *urls_keys(PyObject *self, PyObject *list)
{
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "keys() takes a list of URLs");
        return NULL;
    }
    Py_ssize_t count = PyList_Size(list);
    byte *keys = PyMem_Malloc((size_t)count * KEY_BYTES + 1);
    if (!keys)
        return PyErr_NoMemory();
    PyObject *result = NULL;
    Py_ssize_t number = 0;
    while (number < count &&
           !key_of((Urls *)self, PyList_GetItem(list, number), keys + number * KEY_BYTES))
        number++;
    if (number == count)
        result = PyBytes_FromStringAndSize((const char *)keys, count * KEY_BYTES);
    PyMem_Free(keys);
    return result;
}

static PyObject *md5_of(PyObject *module, PyObject *text)
{
    (void)module;
    Py_ssize_t length;
    byte sum[MD5_BYTES];
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (!bytes)
        return NULL;
    md5((const byte *)bytes, (size_t)length, sum);
    return PyBytes_FromStringAndSize((const char *)sum, MD5_BYTES);
}

/* ------------------------------------------------------------------ all of a page */

#include "survey.h"

/* ------------------------------------------------------------------ the type and the module */

static PyObject *urls_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"slots", "max_bytes", "tidies", NULL};
    Py_ssize_t slots, max_bytes;
    int tidies;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "nnp", names, &slots, &max_bytes, &tidies))
        return NULL;
    if (slots < 1 || slots & (slots - 1) || max_bytes < 1) {
        PyErr_SetString(PyExc_ValueError, "slots are a power of two, max_bytes at least one");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Urls *urls = (Urls *)allocate(type, 0);
    if (!urls)
        return NULL;
    urls->mask = (size_t)slots - 1;
    urls->max_bytes = max_bytes;
    urls->tidies = tidies;
    urls->slots = PyMem_Calloc((size_t)slots, sizeof *urls->slots);
    urls->room = PyMem_Malloc((size_t)max_bytes);
    if (!urls->slots || !urls->room) {
        Py_DECREF(urls);
        return PyErr_NoMemory();
    }
    return (PyObject *)urls;
}

static void urls_dealloc(PyObject *self)
{
    Urls *urls = (Urls *)self;
    for (size_t number = 0; urls->slots && number <= urls->mask; number++)
        Py_XDECREF(urls->slots[number].url);
    PyMem_Free(urls->slots);
    PyMem_Free(urls->room);
    release(self);
}

static PyMethodDef URLS_METHODS[] = {
    {"join", urls_join, METH_VARARGS,
     "join(directory, authority_length, hrefs) -> (URLs, numbers of those that are not plain); "
     "None stands for one that is too long, and for those that are not plain."},
    {"keys", urls_keys, METH_O,
     "keys(urls) -> the first 8 bytes of the md5 of each, one after the other."},
    {"survey", (PyCFunction)(void (*)(void))urls_survey, METH_FASTCALL,
     "survey(base, authority_length, references, reported, suspects, join) -> (keys, unreported, "
     "suspected), or None if the base is not plain or a reference not ASCII: the keys of the URLs "
     "that the keys of a dict mean, each once, the URLs whose keys are in neither of two KeySets, "
     "and those whose keys are in one of two others. join(base, reference) answers for what is "
     "not plain."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot URLS_SLOTS[] = {
    {Py_tp_doc, "Urls(slots, max_bytes, tidies): a table of URLs that were made lately."},
    {Py_tp_new, urls_new},
    {Py_tp_dealloc, urls_dealloc},
    {Py_tp_methods, URLS_METHODS},
    {0, NULL},
};

static PyType_Spec URLS_SPEC = {
    "gossamer.url._plain.Urls", sizeof(Urls), 0, Py_TPFLAGS_DEFAULT, URLS_SLOTS,
};

static PyMethodDef METHODS[] = {
    {"distinct", distinct, METH_O, "distinct(keys) -> the same keys, each once."},
    {"md5_of", md5_of, METH_O, "md5_of(text) -> the md5 of the text in UTF-8."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_plain", "Plain references and keys of URLs.", 0, METHODS, NULL, NULL,
    NULL, NULL,
};

/* How this process hashes strings is chosen at random, unless somebody asked for the same always. */
static int spread_keys(void)
{
    PyObject *word = PyUnicode_FromString("gossamer.url._plain");
    Py_hash_t chosen = word ? PyObject_Hash(word) : -1;
    Py_XDECREF(word);
    key_spread = KEY_SPREAD ^ (uint64_t)chosen << 1;
    return word ? 0 : -1;
}

static PyObject *add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromSpec(spec);
    if (type && PyModule_AddObjectRef(module, name, type) < 0)
        Py_CLEAR(type);
    return type;
}

PyMODINIT_FUNC PyInit__plain(void)
{
    fill_uses();
    PyObject *module = PyModule_Create(&MODULE);
    PyObject *urls_type = module ? add_type(module, &URLS_SPEC, "Urls") : NULL;
    Py_XDECREF(urls_type);
    /* Kept for as long as the process lives: what is handed over is compared with it. */
    key_set_type = urls_type ? add_type(module, &KEY_SET_SPEC, "KeySet") : NULL;
    if (!key_set_type || spread_keys() < 0)
        Py_CLEAR(module);
    return module;
}
