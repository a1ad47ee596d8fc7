/* What a title says, as statements.py defines it: its clauses one after the other, without the name of
 * the page if that is an id. */

#ifndef GOSSAMER_TITLE_H
#define GOSSAMER_TITLE_H

#include <stdint.h>
#include <string.h>

#include "simhash.h"

enum { LONGEST_TITLE = 2048 };

/* `_CALENDAR` of statements.py, in its order. */
static const char *const CALENDAR[] = {
    "january", "february", "march", "april", "may", "june", "july", "august",
    "september", "october", "november", "december",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
};
enum { NAMES_OF_DATES = sizeof CALENDAR / sizeof *CALENDAR, SHORTEST_NAME = 3 };

/* Of which names a byte is the first, the second and the third letter, as bits. */
static uint32_t begun[SHORTEST_NAME][256];

static void fill_begun(void)
{
    for (int name = 0; name < NAMES_OF_DATES; name++)
        for (int place = 0; place < SHORTEST_NAME; place++)
            begun[place][(uint8_t)CALENDAR[name][place]] |= (uint32_t)1 << name;
}

/* Whether a name may be in a text; it hardly ever is. */
static int may_name_dates(const uint8_t *text, size_t length)
{
    for (size_t at = 0; at + SHORTEST_NAME <= length; at++)
        if (begun[0][text[at]] & begun[1][text[at + 1]] & begun[2][text[at + 2]])
            return 1;
    return 0;
}

/* `made_up_name` of a URL in ASCII: how long it is, and where it begins. */
static size_t made_up_name(const char *url, size_t length, const char **name)
{
    size_t start = length, end, digits = 0, letters = 0;
    while (start && url[start - 1] != '/' && url[start - 1] != '=')
        start--;
    for (end = start; end < length && url[end] != '.'; end++) {
        char lower = (char)(url[end] | 32);
        digits += url[end] >= '0' && url[end] <= '9';
        letters += lower >= 'a' && lower <= 'z';
    }
    size_t size = end - start;
    *name = url + start;
    return letters == size || digits == size || 4 * digits < size ? 0 : size;
}

/* Takes a word out of a text wherever it stands; returns what is left of the length. */
static size_t without_word(uint8_t *text, size_t length, const char *word, size_t size)
{
    uint8_t *at = text, *end = text + length;
    while ((size_t)(end - at) >= size &&
           (at = memchr(at, *word, (size_t)(end - at) - size + 1))) {
        if (memcmp(at, word, size) != 0) {
            at++;
            continue;
        }
        memmove(at, at + size, (size_t)(end - at) - size);
        end -= size;
    }
    return (size_t)(end - text);
}

/* Leaves the clauses of a text, without case, white space, numbers and dates; returns their length. */
static size_t join_clauses(uint8_t *text, size_t length)
{
    size_t count = 0, joined = 0;
    int has_numbers = 0;
    for (size_t at = 0; at < length; at++) {
        uint8_t value = text[at];
        int is_digit = value >= '0' && value <= '9';
        has_numbers |= is_digit;
        text[count] = prepared[value];
        count += kept[value] & !is_digit;
    }
    /* What stands on both sides of the end of a clause makes no word. */
    if (has_numbers && may_name_dates(text, count))
        for (int name = 0; name < NAMES_OF_DATES; name++)
            count = without_word(text, count, CALENDAR[name], strlen(CALENDAR[name]));
    for (size_t at = 0; at < count; at++) {
        uint8_t value = text[at];
        text[joined] = value;
        joined += value < '\n' || value > '\r';
    }
    return joined;
}

#endif
