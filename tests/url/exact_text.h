/* Put before plain.c in a build with sanitizers: each text is in memory of exactly its length, so
 * that reading one byte too far is noticed. (A string has a zero after its end.) The copies live as
 * long as the strings might, that is: to the end. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdlib.h>
#include <string.h>

static const char *exact_text(PyObject *string, Py_ssize_t *length)
{
    Py_ssize_t own_length;
    const char *own = PyUnicode_AsUTF8AndSize(string, &own_length);
    if (!own)
        return NULL;
    char *copy = malloc((size_t)own_length);
    memcpy(copy, own, (size_t)own_length);
    if (length)
        *length = own_length;
    return copy;
}

#define PyUnicode_AsUTF8AndSize exact_text
