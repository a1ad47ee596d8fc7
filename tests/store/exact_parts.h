/* Put before group.c in a build with sanitizers: all texts and bytes are in memory of exactly their
 * length, so that reading one too far is noticed. (Those of Python have a zero after their end.) The
 * copies live to the end. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdlib.h>
#include <string.h>

static char *exact_copy(const char *own, Py_ssize_t length)
{
    char *copy = malloc((size_t)length);
    memcpy(copy, own, (size_t)length);
    return copy;
}

static const char *exact_text(PyObject *string, Py_ssize_t *length)
{
    const char *own = PyUnicode_AsUTF8AndSize(string, length);
    return own ? exact_copy(own, *length) : NULL;
}

static int exact_bytes(PyObject *bytes, char **at, Py_ssize_t *length)
{
    if (PyBytes_AsStringAndSize(bytes, at, length) < 0)
        return -1;
    *at = exact_copy(*at, *length);
    return 0;
}

#define PyUnicode_AsUTF8AndSize exact_text
#define PyBytes_AsStringAndSize exact_bytes
