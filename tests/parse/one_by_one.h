/* As exact_copy.h, in a build for processors on which bytes are looked at one by one. */

#undef __SSE2__
#include "exact_copy.h"
