/* All references of a page in one look: the keys of the URLs that they mean, and the strings of those
 * few that somebody will ask for. Most pages lead only to where others led before, so that for most
 * references no string is made. Needs plain.c. */

/* A key that was met on the page, and where its URL stands in the lists; 0: in none. */
struct met {
    uint64_t key;
    uint32_t unreported;
    uint32_t suspected;
    byte is_used;
};

struct survey {
    Urls *urls;
    struct base base;
    PyObject *page;              /* its URL */
    PyObject *join;              /* asked for what is not plain */
    const KeySet *reported[2];
    const KeySet *suspects[2];
    struct met *table;           /* open addressing, with room for twice as many as can be met */
    size_t mask;
    byte *keys;
    size_t length;               /* of the keys */
    PyObject *unreported;
    PyObject *suspected;
};

static int is_held(const KeySet *const sets[2], uint64_t key)
{
    return holds(sets[0], key) || holds(sets[1], key);
}

static struct met *entry_of(const struct survey *survey, uint64_t key)
{
    uint64_t spread = key * key_spread;
    size_t place = (size_t)(spread ^ spread >> 32) & survey->mask;
    while (survey->table[place].is_used && survey->table[place].key != key)
        place = (place + 1) & survey->mask;
    return &survey->table[place];
}

/* The key of a URL in ASCII: from its slot, into which it is put if it is not there. */
static int key_of_text(Urls *urls, const byte *text, size_t length, PyObject *own, byte *key)
{
    byte sum[MD5_BYTES];
    if (length > LONGEST_KEPT) {
        md5(text, length, sum);
        memcpy(key, sum, KEY_BYTES);
        return 0;
    }
    uint32_t hash;
    struct slot *slot = slot_of(urls, text, length, &hash);
    if (!is_in(slot, text, length, hash)) {
        PyObject *url = string_of(urls, text, length, own);
        if (!url)
            return -1;
        Py_DECREF(url);
    }
    if (!slot->has_key) {
        md5(text, length, sum);
        memcpy(slot->key, sum, KEY_BYTES);
        slot->has_key = 1;
    }
    memcpy(key, slot->key, KEY_BYTES);
    return 0;
}

/* Puts a URL at a place of a list that begins at 1, or at its end if the place is 0. */
static int list_url(PyObject *list, uint32_t *place, PyObject *url)
{
    if (*place)
        return PyList_SetItem(list, (Py_ssize_t)*place - 1, Py_NewRef(url));
    if (PyList_Append(list, url) < 0)
        return -1;
    *place = (uint32_t)PyList_Size(list);
    return 0;
}

/* Notes a URL; of several with the same key the first one has its place, and the last one stands there. */
static int note_url(struct survey *survey, const byte *text, size_t length, PyObject *own)
{
    byte bytes[KEY_BYTES];
    if (key_of_text(survey->urls, text, length, own, bytes) < 0)
        return -1;
    uint64_t key = key_at(bytes);
    struct met *met = entry_of(survey, key);
    int is_unreported, is_suspected;
    if (met->is_used) {
        is_unreported = met->unreported != 0;
        is_suspected = met->suspected != 0;
    } else {
        met->key = key;
        met->is_used = 1;
        memcpy(survey->keys + survey->length, bytes, KEY_BYTES);
        survey->length += KEY_BYTES;
        is_unreported = !is_held(survey->reported, key);
        is_suspected = is_held(survey->suspects, key);
    }
    if (!is_unreported && !is_suspected)
        return 0;
    PyObject *url = string_of(survey->urls, text, length, own);
    int failed = !url ||
                 (is_unreported && list_url(survey->unreported, &met->unreported, url) < 0) ||
                 (is_suspected && list_url(survey->suspected, &met->suspected, url) < 0);
    Py_XDECREF(url);
    return failed ? -1 : 0;
}

/* Notes what a reference means that is not plain. */
static int note_other(struct survey *survey, PyObject *href)
{
    PyObject *url = PyObject_CallFunctionObjArgs(survey->join, survey->page, href, NULL);
    if (!url || url == Py_None) {
        Py_XDECREF(url);
        return url ? 0 : -1;
    }
    Py_ssize_t length = 0;
    const char *text = PyUnicode_CheckExact(url) ? PyUnicode_AsUTF8AndSize(url, &length) : NULL;
    int failed = !text || length != PyUnicode_GetLength(url);
    if (!failed)
        failed = note_url(survey, (const byte *)text, (size_t)length, url) < 0;
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "a canonical URL is a string of ASCII");
    Py_DECREF(url);
    return failed ? -1 : 0;
}

/* Whether all references could be noted: 0 if one is not ASCII, -1 with an error. */
static int note_all(struct survey *survey, PyObject *references)
{
    PyObject *href, *unused;
    Py_ssize_t at = 0, left = PyDict_Size(references);
    while (left-- > 0 && PyDict_Next(references, &at, &href, &unused)) {
        const byte *text;
        size_t length;
        int failed = 0;
        Py_INCREF(href);
        enum answer answer = find_url(survey->urls, &survey->base, href, &text, &length);
        if (answer == JOINED)
            failed = note_url(survey, text, length, text == survey->urls->room ? NULL : href) < 0;
        else if (answer == NOT_PLAIN)
            failed = note_other(survey, href) < 0;
        Py_DECREF(href);
        if (failed || answer == FAILED)
            return -1;
        if (answer == NOT_ASCII)
            return 0;
    }
    return 1;
}

/* Opens the directory of a page that is plain; 0 if it is not, -1 with an error. */
static int open_plain_base(struct survey *survey, Py_ssize_t authority)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(survey->page, &length);
    int has_query = 0;
    if (!text)
        return -1;
    if (authority < 0 || authority >= length || text[authority] != '/' ||
        length > survey->urls->max_bytes)
        return 0;
    const byte *path = (const byte *)text + authority + 1, *end = (const byte *)text + length;
    if (path < end && !is_path(path, end, &has_query))
        return 0;
    if (has_query) {
        if (survey->urls->tidies)
            return 0;
        end = memchr(path, '?', (size_t)(end - path));
    }
    while (end[-1] != '/')
        end--;
    set_base(&survey->base, text, end - (const byte *)text, authority);
    return 1;
}

static int open_sets(const KeySet *sets[2], PyObject *pair)
{
    for (Py_ssize_t number = 0; number < 2; number++) {
        PyObject *set = PyTuple_Size(pair) == 2 ? PyTuple_GetItem(pair, number) : NULL;
        if (!set || !PyObject_TypeCheck(set, (PyTypeObject *)key_set_type)) {
            PyErr_SetString(PyExc_TypeError, "survey() takes pairs of KeySets");
            return -1;
        }
        sets[number] = (const KeySet *)set;
    }
    return 0;
}

static PyObject *survey_page(struct survey *survey, PyObject *references)
{
    size_t count = (size_t)PyDict_Size(references), places = FEWEST_PLACES;
    while (places < 2 * count)
        places *= 2;
    survey->mask = places - 1;
    survey->table = PyMem_Calloc(places, sizeof *survey->table);
    survey->keys = PyMem_Malloc(count * KEY_BYTES + 1);
    survey->unreported = PyList_New(0);
    survey->suspected = PyList_New(0);
    PyObject *result = NULL;
    if (!survey->table || !survey->keys) {
        PyErr_NoMemory();
    } else if (survey->unreported && survey->suspected) {
        int noted = note_all(survey, references);
        if (noted > 0)
            result = Py_BuildValue("(y#OO)", (const char *)survey->keys, (Py_ssize_t)survey->length,
                                   survey->unreported, survey->suspected);
        else if (!noted)
            result = Py_NewRef(Py_None);
    }
    PyMem_Free(survey->table);
    PyMem_Free(survey->keys);
    Py_XDECREF(survey->unreported);
    Py_XDECREF(survey->suspected);
    return result;
}

enum { PAGE, AUTHORITY, REFERENCES, REPORTED, SUSPECTS, JOIN, SURVEY_ARGUMENTS };

static PyObject *urls_survey(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    if (count != SURVEY_ARGUMENTS || !PyUnicode_Check(given[PAGE]) ||
        !PyDict_Check(given[REFERENCES]) || !PyTuple_Check(given[REPORTED]) ||
        !PyTuple_Check(given[SUSPECTS])) {
        PyErr_SetString(PyExc_TypeError,
                        "survey() takes a string, a number, a dict, two tuples, and a function");
        return NULL;
    }
    struct survey survey = {.urls = (Urls *)self, .page = given[PAGE], .join = given[JOIN]};
    Py_ssize_t authority = PyLong_AsSsize_t(given[AUTHORITY]);
    if ((authority == -1 && PyErr_Occurred()) || open_sets(survey.reported, given[REPORTED]) < 0 ||
        open_sets(survey.suspects, given[SUSPECTS]) < 0)
        return NULL;
    int is_plain = open_plain_base(&survey, authority);
    if (is_plain <= 0)
        return is_plain < 0 ? NULL : Py_NewRef(Py_None);
    return survey_page(&survey, given[REFERENCES]);
}
