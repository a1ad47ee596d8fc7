/* What is compared of a title: its clauses one after the other, as statements.py defines them. */

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

/* Takes a word out of a text wherever it stands; returns what is left of the length. */
static size_t without_word(uint8_t *text, size_t length, const char *word)
{
    size_t size = strlen(word);
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

/* Puts the clauses of a text that is no longer than a title where there is as much room, without
 * case, white space, numbers and dates; returns their length. */
static size_t join_clauses(const uint8_t *text, size_t length, uint8_t *clauses)
{
    size_t count = 0, joined = 0;
    int has_numbers = 0;
    for (size_t at = 0; at < length; at++) {
        int is_digit = text[at] >= '0' && text[at] <= '9';
        has_numbers |= is_digit;
        clauses[count] = prepared[text[at]];
        count += kept[text[at]] & !is_digit;
    }
    /* What stands on both sides of the end of a clause makes no word. */
    for (size_t name = 0; has_numbers && name < sizeof CALENDAR / sizeof *CALENDAR; name++)
        count = without_word(clauses, count, CALENDAR[name]);
    for (size_t at = 0; at < count; at++) {
        clauses[joined] = clauses[at];
        joined += clauses[at] < '\n' || clauses[at] > '\r';
    }
    return joined;
}

#endif
