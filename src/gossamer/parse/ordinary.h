/* An ordinary page, put together in one call: it has plain links, and pieces that only name assets.
 *
 * Most pages are. What would be done with such a page in Python is little, and takes as long as to
 * skim it, since it is spread over many functions. No rule is here: what pieces say, what a
 * reference means and what an encoding is called is asked, and mostly remembered, in Python. Where
 * a page has anything else, what was skimmed of it is handed out, and html.py goes on.
 */

/* All that is the same for many pages; new references. */
typedef struct {
    PyObject_HEAD
    PyObject *entities, *rows, *names;
    PyObject *encodings;    /* label -> encoding, "" if there is none of that name */
    PyObject *pages;        /* all pieces of a page, in a tuple -> what they say (pieces.py), or None */
    PyObject *not_ascii;    /* encodings that do not read ASCII as ASCII */
    PyObject *shortened;    /* (text, most) -> the text on one line */
    PyObject *fingerprint;  /* prepared text -> fingerprint */
    PyObject *link, *page, *skimmed; /* the types */
    Py_ssize_t most_places, text_length, most_links, longest_title, longest_description;
} Reader;

enum { READER_OBJECTS = 11 };

static PyObject **objects_of(Reader *reader)
{
    return &reader->entities;
}

/* A title or a description: most are on one line already. */
static PyObject *shortened(const Reader *reader, PyObject *text, Py_ssize_t most)
{
    Py_ssize_t length;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (!bytes)
        PyErr_Clear();
    int is_short = bytes && length <= most;
    char before = ' ';
    for (Py_ssize_t at = 0; is_short && at < length; before = bytes[at++])
        is_short = bytes[at] > ' ' ? bytes[at] < 0x7F : bytes[at] == ' ' && before != ' ';
    if (is_short && (!length || before != ' '))
        return Py_NewRef(text);
    return PyObject_CallFunction(reader->shortened, "On", text, most);
}

/* The encoding of a page, given that of its header or ""; NULL if it is not certain, or an error. */
static PyObject *encoding_of(const Reader *reader, const struct page *page, PyObject *given,
                             int is_ascii)
{
    PyObject *encoding = NULL;
    if (PyUnicode_GetLength(given)) {
        encoding = Py_NewRef(given);
    } else if (length_of(page->label)) {
        PyObject *label =
            PyUnicode_FromStringAndSize((const char *)page->label.at, length_of(page->label));
        encoding = label ? PyObject_GetItem(reader->encodings, label) : NULL;
        Py_XDECREF(label);
    } else {
        /* What a page in ASCII without any label is taken for. */
        encoding = PyUnicode_FromString("windows-1252");
    }
    if (!encoding || !PyUnicode_CompareWithASCIIString(encoding, "UTF-8"))
        return encoding;
    int is_wide = PySet_Contains(reader->not_ascii, encoding);
    if (is_ascii && !is_wide && PyUnicode_GetLength(encoding))
        return encoding;
    Py_DECREF(encoding);
    return NULL;
}

/* Appends a link for each of the URLs from `start` to `end` that is one, each once. */
static int add_links(const Reader *reader, PyObject *links, PyObject *urls, Py_ssize_t start,
                     Py_ssize_t end, PyObject *kind)
{
    PyObject *met = PySet_New(NULL);
    int failed = !met;
    for (Py_ssize_t number = start; !failed && number < end; number++) {
        PyObject *url = PyList_GetItem(urls, number);
        if (url == Py_None)
            continue;
        Py_ssize_t before = PySet_Size(met);
        failed = PySet_Add(met, url) < 0;
        if (failed || PySet_Size(met) == before)
            continue;
        PyObject *link = PyObject_CallFunctionObjArgs(reader->link, url, kind, NULL);
        failed = !link || PyList_Append(links, link) < 0;
        Py_XDECREF(link);
    }
    Py_XDECREF(met);
    return failed ? -1 : 0;
}

/* Appends the references of one kind of asset. */
static int add_all(PyObject *list, PyObject *references)
{
    for (Py_ssize_t number = 0; number < PyTuple_Size(references); number++)
        if (PyList_Append(list, PyTuple_GetItem(references, number)) < 0)
            return -1;
    return 0;
}

/* All references: those of links, then those of assets. There is none that is empty. */
static PyObject *all_references(const struct page *page, PyObject *needed)
{
    PyObject *empty = PyUnicode_FromStringAndSize(NULL, 0);
    int has_empty = empty ? PyDict_Contains(page->references, empty) : -1;
    if (has_empty > 0)
        has_empty = PyDict_DelItem(page->references, empty);
    Py_XDECREF(empty);
    PyObject *all = has_empty < 0 ? NULL : PyDict_Keys(page->references);
    for (Py_ssize_t number = 0; all && number < PyTuple_Size(needed); number++)
        if (add_all(all, PyTuple_GetItem(PyTuple_GetItem(needed, number), 1)) < 0)
            Py_CLEAR(all);
    return all;
}

/* Whether references mean the same in any encoding. */
static int are_ascii(PyObject *references)
{
    for (Py_ssize_t number = 0; number < PyList_Size(references); number++) {
        Py_ssize_t length;
        PyObject *reference = PyList_GetItem(references, number);
        if (!PyUnicode_AsUTF8AndSize(reference, &length))
            PyErr_Clear();
        else if (length == PyUnicode_GetLength(reference))
            continue;
        return 0;
    }
    return 1;
}

/* Links and assets as two tuples; NULL with an error. */
static PyObject *links_and_assets(const Reader *reader, Py_ssize_t link_count, PyObject *needed,
                                  PyObject *urls)
{
    PyObject *anchor = PyUnicode_InternFromString("a"), *links = PyList_New(0),
             *assets = PyList_New(0), *both = NULL;
    int failed = !anchor || !links || !assets ||
                 add_links(reader, links, urls, 0, link_count, anchor) < 0;
    for (Py_ssize_t number = 0; !failed && number < PyTuple_Size(needed); number++) {
        PyObject *kind = PyTuple_GetItem(PyTuple_GetItem(needed, number), 0);
        Py_ssize_t count = PyTuple_Size(PyTuple_GetItem(PyTuple_GetItem(needed, number), 1));
        failed = add_links(reader, assets, urls, link_count, link_count + count, kind) < 0;
        link_count += count;
    }
    if (!failed)
        both = Py_BuildValue("(NN)", PyList_AsTuple(links), PyList_AsTuple(assets));
    Py_XDECREF(anchor);
    Py_XDECREF(links);
    Py_XDECREF(assets);
    return both;
}

struct visit {
    PyObject *url, *join_all, *content_type; /* borrowed */
};

/* The page; NULL if it is not ordinary, or with an error. */
static PyObject *ordinary_page(const Reader *reader, const struct page *page, PyObject *needed,
                               PyObject *encoding, PyObject *fingerprint, const struct visit *visit)
{
    PyObject *references = all_references(page, needed), *urls = NULL, *both = NULL, *title = NULL,
             *description = NULL, *empty = NULL, *result = NULL;
    if (!references || PyList_Size(references) > reader->most_links)
        goto end;
    if (PyUnicode_CompareWithASCIIString(encoding, "UTF-8") && !are_ascii(references))
        goto end;
    Py_ssize_t count = PyList_Size(references);
    urls = PyObject_CallFunctionObjArgs(visit->join_all, visit->url, references, NULL);
    if (!urls)
        goto end;
    if (!PyList_Check(urls) || PyList_Size(urls) != count) {
        PyErr_SetString(PyExc_TypeError, "join_all() gives a list of as many URLs");
        goto end;
    }
    both = links_and_assets(reader, PyDict_Size(page->references), needed, urls);
    title = page->title ? shortened(reader, page->title, reader->longest_title)
                        : PyUnicode_FromStringAndSize(NULL, 0);
    description = page->description
                      ? shortened(reader, page->description, reader->longest_description)
                      : Py_NewRef(Py_None);
    empty = PyTuple_New(0);
    if (both && title && description && empty)
        result = PyObject_CallFunctionObjArgs(
            reader->page, visit->content_type, encoding, title, PyTuple_GetItem(both, 0),
            PyTuple_GetItem(both, 1), empty, Py_None, description, empty, Py_None, Py_False,
            Py_False, fingerprint, NULL);
end:
    Py_XDECREF(references);
    Py_XDECREF(urls);
    Py_XDECREF(both);
    Py_XDECREF(title);
    Py_XDECREF(description);
    Py_XDECREF(empty);
    return result;
}

/* What the pieces say, and of those that only name assets, which: a tuple, or NULL. */
static PyObject *told_by(const Reader *reader, const struct page *page, PyObject **needed)
{
    *needed = NULL;
    PyObject *pieces = PyList_AsTuple(page->pieces);
    PyObject *told = pieces ? PyObject_GetItem(reader->pages, pieces) : NULL;
    Py_XDECREF(pieces);
    if (!told || told == Py_None)
        return told;
    PyObject *is_plain = PyObject_GetAttrString(told, "is_assets_only");
    if (is_plain == Py_True)
        *needed = PyObject_GetAttrString(told, "needed");
    Py_XDECREF(is_plain);
    if (PyErr_Occurred() || (*needed && !PyTuple_Check(*needed))) {
        Py_CLEAR(*needed);
        Py_CLEAR(told);
    }
    return told;
}

/* What html.py goes on with. */
static PyObject *handed_out(const Reader *reader, const struct page *page, PyObject *encoding,
                            PyObject *fingerprint, PyObject *told)
{
    PyObject *empty = page->title ? NULL : PyUnicode_FromStringAndSize(NULL, 0);
    PyObject *skimmed = PyObject_CallFunctionObjArgs(
        reader->skimmed, encoding, page->title ? page->title : empty,
        page->description ? page->description : Py_None, page->references, page->pieces,
        fingerprint, NULL);
    Py_XDECREF(empty);
    PyObject *both = skimmed ? PyTuple_Pack(2, skimmed, told) : NULL;
    Py_XDECREF(skimmed);
    return both;
}

static PyObject *fingerprint_in_full(const Reader *reader, struct page *page)
{
    const byte *rows =
        reader->rows == Py_None ? NULL : (const byte *)PyBytes_AsString(reader->rows);
    PyObject *fingerprint = fingerprint_of(page, rows);
    if (!fingerprint || !PyBytes_Check(fingerprint))
        return fingerprint;
    /* A clause is longer than is hashed here. */
    PyObject *text = fingerprint;
    fingerprint = PyObject_CallFunctionObjArgs(reader->fingerprint, text, NULL);
    Py_DECREF(text);
    return fingerprint;
}

/* The page, or what was skimmed of it and what its pieces say; None if it needs its tree. */
static PyObject *page_or_parts(const Reader *reader, struct page *page, PyObject *given,
                               int is_ascii, const struct visit *visit)
{
    PyObject *encoding = encoding_of(reader, page, given, is_ascii);
    if (!encoding)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *needed = NULL, *result = NULL, *fingerprint = fingerprint_in_full(reader, page);
    PyObject *told = fingerprint ? told_by(reader, page, &needed) : NULL;
    if (needed)
        result = ordinary_page(reader, page, needed, encoding, fingerprint, visit);
    if (told && !result && !PyErr_Occurred())
        result = handed_out(reader, page, encoding, fingerprint, told);
    Py_DECREF(encoding);
    Py_XDECREF(fingerprint);
    Py_XDECREF(needed);
    Py_XDECREF(told);
    return result;
}

/* ------------------------------------------------------------------ the type */

static PyObject *reader_read(PyObject *self, PyObject *arguments)
{
    Reader *reader = (Reader *)self;
    PyObject *body, *given;
    struct visit visit;
    if (!PyArg_ParseTuple(arguments, "SUUOU", &body, &given, &visit.url, &visit.join_all,
                          &visit.content_type))
        return NULL;
    int is_ascii;
    struct page own, *page = &own;
    if (!open_page(page, body, reader->entities, &is_ascii))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    begin_page(page, reader->names, PyUnicode_GetLength(given) == 0, reader->most_places,
               reader->rows == Py_None ? 0 : reader->text_length);
    enum verdict verdict = page->references && page->pieces ? read_page(page) : FAILED;
    return close_page(
        page, verdict,
        verdict == FINE ? page_or_parts(reader, page, given, is_ascii, &visit) : NULL);
}

static PyObject *reader_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {
        "entities", "rows", "names", "encodings", "pages", "not_ascii", "shortened", "fingerprint",
        "link", "page", "skimmed", "most_places", "text_length", "most_links", "longest_title",
        "longest_description", NULL};
    PyObject *given[READER_OBJECTS];
    Py_ssize_t numbers[5];
    if (!PyArg_ParseTupleAndKeywords(
            arguments, named, "O!OO!OOO!OOOOOnnnnn", names, &PyDict_Type, &given[0], &given[1],
            &PyTuple_Type, &given[2], &given[3], &given[4], &PyFrozenSet_Type, &given[5], &given[6],
            &given[7], &given[8], &given[9], &given[10], &numbers[0], &numbers[1], &numbers[2],
            &numbers[3], &numbers[4]) ||
        !are_words(given[2]))
        return NULL;
    if (given[1] != Py_None && (!PyBytes_Check(given[1]) || PyBytes_Size(given[1]) != ROWS * LANES)) {
        PyErr_SetString(PyExc_ValueError, "a fingerprint takes 256 rows of 64 bytes");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Reader *reader = (Reader *)allocate(type, 0);
    if (!reader)
        return NULL;
    for (int number = 0; number < READER_OBJECTS; number++)
        objects_of(reader)[number] = Py_NewRef(given[number]);
    reader->most_places = numbers[0];
    reader->text_length = numbers[1];
    reader->most_links = numbers[2];
    reader->longest_title = numbers[3];
    reader->longest_description = numbers[4];
    return (PyObject *)reader;
}

static void reader_dealloc(PyObject *self)
{
    for (int number = 0; number < READER_OBJECTS; number++)
        Py_XDECREF(objects_of((Reader *)self)[number]);
    PyTypeObject *type = Py_TYPE(self);
    freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);
    give_back(self);
    Py_DECREF(type);
}

static PyMethodDef READER_METHODS[] = {
    {"read", reader_read, METH_VARARGS,
     "read(body, encoding, url, join_all, content_type) -> the page if it is ordinary, else (what "
     "was skimmed, what its pieces say), or None if it needs its tree."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot READER_SLOTS[] = {
    {Py_tp_doc, "Reads pages, and puts ordinary ones together."},
    {Py_tp_new, reader_new},
    {Py_tp_dealloc, reader_dealloc},
    {Py_tp_methods, READER_METHODS},
    {0, NULL},
};

static PyType_Spec READER_SPEC = {
    "gossamer.parse._skim.Reader", sizeof(Reader), 0, Py_TPFLAGS_DEFAULT, READER_SLOTS,
};
