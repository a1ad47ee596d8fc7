/* A set of keys of 8 bytes: the first half of the md5 of a URL. A set of Python holds an object for
 * each, which takes ten times the room; and it is asked about all keys of a page in one call. */

enum { KEY_BYTES = 8, FEWEST_PLACES = 64 };

/* Open addressing with linear probing; 0 is an empty place. */
typedef struct {
    PyObject_HEAD
    uint64_t *places;
    size_t mask;    /* the number of places, a power of two, less one */
    size_t filled;
    int has_zero;   /* the key that cannot stand in a place */
} KeySet;

/* Odd, and different in each process, so that nobody can choose URLs whose keys meet. */
static const uint64_t KEY_SPREAD = 0x9E3779B97F4A7C15u;
static uint64_t key_spread;
static PyObject *key_set_type;

static uint64_t key_at(const byte *bytes)
{
    uint64_t key;
    memcpy(&key, bytes, KEY_BYTES);
    return key;
}

static size_t home_of(const KeySet *set, uint64_t key)
{
    uint64_t spread = key * key_spread;
    return (size_t)(spread ^ spread >> 32) & set->mask;
}

/* The place of a key, or the empty one where it would be. */
static size_t place_of(const KeySet *set, uint64_t key)
{
    size_t place = home_of(set, key);
    while (set->places[place] && set->places[place] != key)
        place = (place + 1) & set->mask;
    return place;
}

static int holds(const KeySet *set, uint64_t key)
{
    return key ? set->places[place_of(set, key)] != 0 : set->has_zero;
}

static int key_set_grow(KeySet *set)
{
    size_t count = set->mask + 1;
    uint64_t *old = set->places, *places = PyMem_Calloc(2 * count, sizeof *places);
    if (!places)
        return -1;
    set->places = places;
    set->mask = 2 * count - 1;
    for (size_t number = 0; number < count; number++)
        if (old[number])
            places[place_of(set, old[number])] = old[number];
    PyMem_Free(old);
    return 0;
}

/* Three places of eight stay empty: with fewer, the way to one becomes long. */
static int key_set_put(KeySet *set, uint64_t key)
{
    if (!key) {
        set->has_zero = 1;
        return 0;
    }
    size_t place = place_of(set, key);
    if (set->places[place])
        return 0;
    if (set->filled + 1 > (set->mask + 1) / 8 * 5) {
        if (key_set_grow(set) < 0)
            return -1;
        place = place_of(set, key);
    }
    set->places[place] = key;
    set->filled++;
    return 0;
}

/* Those behind a place that becomes empty move up, unless they stand between their home and it. */
static void key_set_drop(KeySet *set, uint64_t key)
{
    if (!key) {
        set->has_zero = 0;
        return;
    }
    size_t hole = place_of(set, key);
    if (!set->places[hole])
        return;
    for (size_t next = (hole + 1) & set->mask; set->places[next]; next = (next + 1) & set->mask) {
        size_t way = (next - home_of(set, set->places[next])) & set->mask;
        if (way >= ((next - hole) & set->mask)) {
            set->places[hole] = set->places[next];
            hole = next;
        }
    }
    set->places[hole] = 0;
    set->filled--;
}

static PyObject *key_set_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "", names))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    KeySet *set = (KeySet *)allocate(type, 0);
    if (!set)
        return NULL;
    set->mask = FEWEST_PLACES - 1;
    set->places = PyMem_Calloc(FEWEST_PLACES, sizeof *set->places);
    if (!set->places) {
        Py_DECREF(set);
        return PyErr_NoMemory();
    }
    return (PyObject *)set;
}

static void release(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(self);
    Py_DECREF(type);
}

static void key_set_dealloc(PyObject *self)
{
    PyMem_Free(((KeySet *)self)->places);
    release(self);
}

/* The bytes of one key, or of many. */
static const byte *keys_in(PyObject *given, Py_ssize_t *length, int is_one)
{
    char *bytes;
    if (PyBytes_AsStringAndSize(given, &bytes, length) < 0)
        return NULL;
    if (is_one ? *length != KEY_BYTES : *length % KEY_BYTES != 0) {
        PyErr_SetString(PyExc_ValueError, "a key has 8 bytes");
        return NULL;
    }
    return (const byte *)bytes;
}

static PyObject *key_set_add(PyObject *self, PyObject *given)
{
    Py_ssize_t length;
    const byte *key = keys_in(given, &length, 1);
    if (!key)
        return NULL;
    if (key_set_put((KeySet *)self, key_at(key)) < 0)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *key_set_discard(PyObject *self, PyObject *given)
{
    Py_ssize_t length;
    const byte *key = keys_in(given, &length, 1);
    if (!key)
        return NULL;
    key_set_drop((KeySet *)self, key_at(key));
    Py_RETURN_NONE;
}

static int key_set_contains(PyObject *self, PyObject *given)
{
    Py_ssize_t length;
    const byte *key = keys_in(given, &length, 1);
    return key ? holds((KeySet *)self, key_at(key)) : -1;
}

static Py_ssize_t key_set_length(PyObject *self)
{
    const KeySet *set = (KeySet *)self;
    return (Py_ssize_t)set->filled + set->has_zero;
}

static int append_number(PyObject *list, Py_ssize_t number)
{
    PyObject *made = PyLong_FromSsize_t(number);
    int failed = !made || PyList_Append(list, made) < 0;
    Py_XDECREF(made);
    return failed ? -1 : 0;
}

static PyObject *key_set_absent(PyObject *self, PyObject *given)
{
    Py_ssize_t length;
    const byte *keys = keys_in(given, &length, 0);
    PyObject *numbers = keys ? PyList_New(0) : NULL;
    for (Py_ssize_t number = 0; numbers && number < length / KEY_BYTES; number++)
        if (!holds((KeySet *)self, key_at(keys + number * KEY_BYTES)) &&
            append_number(numbers, number) < 0)
            Py_CLEAR(numbers);
    return numbers;
}

/* distinct(keys): the same object if each is there once. */
static PyObject *distinct(PyObject *module, PyObject *given)
{
    (void)module;
    Py_ssize_t length;
    const byte *keys = keys_in(given, &length, 0);
    if (!keys)
        return NULL;
    size_t places = FEWEST_PLACES, left = 0;
    while (places < (size_t)length / KEY_BYTES * 2)
        places *= 2;
    KeySet seen = {.mask = places - 1};
    seen.places = PyMem_Calloc(places, sizeof *seen.places);
    byte *once = PyMem_Malloc((size_t)length + 1);
    PyObject *result = NULL;
    if (seen.places && once) {
        for (const byte *key = keys; key < keys + length; key += KEY_BYTES) {
            if (holds(&seen, key_at(key)))
                continue;
            /* There is room for all, so that it never grows. */
            key_set_put(&seen, key_at(key));
            memcpy(once + left, key, KEY_BYTES);
            left += KEY_BYTES;
        }
        result = left == (size_t)length
                     ? Py_NewRef(given)
                     : PyBytes_FromStringAndSize((const char *)once, (Py_ssize_t)left);
    } else {
        PyErr_NoMemory();
    }
    PyMem_Free(seen.places);
    PyMem_Free(once);
    return result;
}

static PyMethodDef KEY_SET_METHODS[] = {
    {"add", key_set_add, METH_O, "add(key): hold a key."},
    {"discard", key_set_discard, METH_O, "discard(key): hold a key no longer."},
    {"absent", key_set_absent, METH_O,
     "absent(keys) -> the numbers of those of the keys, one after the other, that are not held."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot KEY_SET_SLOTS[] = {
    {Py_tp_doc, "A set of keys of 8 bytes."},
    {Py_tp_new, key_set_new},
    {Py_tp_dealloc, key_set_dealloc},
    {Py_tp_methods, KEY_SET_METHODS},
    {Py_sq_contains, key_set_contains},
    {Py_sq_length, key_set_length},
    {0, NULL},
};

static PyType_Spec KEY_SET_SPEC = {
    "gossamer.url._plain.KeySet", sizeof(KeySet), 0, Py_TPFLAGS_DEFAULT, KEY_SET_SLOTS,
};
