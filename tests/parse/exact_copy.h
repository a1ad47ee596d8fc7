/* Put before skim.c in a build with sanitizers: the page is in memory of exactly its length, so that
 * reading one byte too far is noticed. (A bytes object has a zero after its end.) */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdlib.h>
#include <string.h>

static int exact_copy(PyObject *body, char **bytes, Py_ssize_t *length)
{
    static char *last;
    char *own;
    if (PyBytes_AsStringAndSize(body, &own, length) < 0)
        return -1;
    free(last);
    last = malloc((size_t)*length);
    memcpy(last, own, (size_t)*length);
    *bytes = last;
    return 0;
}

#define PyBytes_AsStringAndSize exact_copy
