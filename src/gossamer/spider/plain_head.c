/* Reads usual heads (usual_head.h), in one call with the look at the connection. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <errno.h>
#include <sys/socket.h>

#include "usual_head.h"

enum { PEEK_BYTES = 4096 };

typedef struct {
    PyObject_HEAD
    PyObject *make;
    Heads heads;
} Reader;

/* Returns the head at the start of a response; NULL without an error if it is left to others. */
static PyObject *head_in(Reader *reader, Part data)
{
    Usual usual;
    if (!read_usual(&reader->heads, data, &usual))
        return NULL;
    PyObject *arguments = Py_BuildValue(
        "(y#iOOOLO)", data.at, usual.size, usual.status, usual.version, usual.headers, Py_True,
        usual.length, usual.status == 200 ? Py_True : Py_False);
    PyObject *head = arguments ? PyObject_Call(reader->make, arguments, NULL) : NULL;
    Py_XDECREF(arguments);
    Py_DECREF(usual.headers);
    return head;
}

/* ---------------------------------------------------------------------------------- for Python */

static PyObject *read_head(PyObject *self, PyObject *bytes)
{
    char *at;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(bytes, &at, &length) < 0)
        return NULL;
    PyObject *head = head_in((Reader *)self, (Part){at, length});
    if (!head && !PyErr_Occurred())
        Py_RETURN_NONE;
    return head;
}

static PyObject *peek(PyObject *self, PyObject *number)
{
    char bytes[PEEK_BYTES];
    ssize_t size;
    int descriptor = (int)PyLong_AsLong(number);
    if (descriptor == -1 && PyErr_Occurred())
        return NULL;
    while ((size = recv(descriptor, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT)) < 0) {
        if (errno != EINTR)
            return PyErr_SetFromErrno(PyExc_OSError);
        if (PyErr_CheckSignals() < 0)
            return NULL;
    }
    PyObject *head = head_in((Reader *)self, (Part){bytes, size});
    if (!head && !PyErr_Occurred())
        return PyBytes_FromStringAndSize(bytes, size);
    return head;
}

static void reader_free(PyObject *self)
{
    Reader *reader = (Reader *)self;
    PyTypeObject *type = Py_TYPE(self);
    free_heads(&reader->heads);
    Py_XDECREF(reader->make);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *reader_new(PyTypeObject *type, PyObject *given, PyObject *named)
{
    PyObject *make;
    Py_ssize_t max_end, max_lines;
    if (named && PyDict_Size(named)) {
        PyErr_SetString(PyExc_TypeError, "Reader takes no arguments by name");
        return NULL;
    }
    if (!PyArg_ParseTuple(given, "Onn", &make, &max_end, &max_lines))
        return NULL;
    Reader *reader = (Reader *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!reader)
        return NULL;
    Py_INCREF(make);
    reader->make = make;
    if (make_heads(&reader->heads, max_end, max_lines) < 0) {
        Py_DECREF(reader);
        return NULL;
    }
    return (PyObject *)reader;
}

static PyMethodDef READER_METHODS[] = {
    {"read", read_head, METH_O,
     "read(data) -> the Head at the start of a response; None if it is not a usual one."},
    {"peek", peek, METH_O,
     "peek(descriptor) -> the Head of what has arrived, which stays there; if it is not a usual "
     "one, the first bytes."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot READER_SLOTS[] = {
    {Py_tp_new, reader_new},
    {Py_tp_dealloc, reader_free},
    {Py_tp_methods, READER_METHODS},
    {Py_tp_doc, "Reader(make_head, max_end, max_lines): reads usual heads."},
    {0, NULL},
};

static PyType_Spec READER = {
    "gossamer.spider._plain_head.Reader", sizeof(Reader), 0, Py_TPFLAGS_DEFAULT, READER_SLOTS,
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_plain_head", "Usual heads.", 0, NULL, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__plain_head(void)
{
    PyObject *module = PyModule_Create(&MODULE);
    PyObject *type = module ? PyType_FromSpec(&READER) : NULL;
    if (!type || PyModule_AddObjectRef(module, "Reader", type) < 0)
        Py_CLEAR(module);
    Py_XDECREF(type);
    return module;
}
