/* The fingerprint of a text, as similarity.py defines it.
 *
 * A clause picks a row by the first byte of its hash (XXH3, 64 bits, no seed); the rows are added
 * up. A text with a clause that does not fit into the room for one, which is rare, is left to the
 * library.
 *
 * Of a long text most clauses only count, by their lengths. So where they end and how many spaces are
 * in them is found out for 64 bytes at a time, and only what is hashed is brought into lower case and
 * rid of its spaces.
 */

#ifndef GOSSAMER_SIMHASH_H
#define GOSSAMER_SIMHASH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

enum { LANES = 64, ROWS = 256, LONGEST_HASHED = 4096 };
/* See similarity.py. */
enum { MIN_CLAUSES = 16, MAX_CLAUSES = 32000, FEW_CLAUSES = 128, LENGTH_BITS_OF_SAMPLE = 3 };

static const uint64_t PRIME_1 = 0x9E3779B185EBCA87ULL, PRIME_2 = 0xC2B2AE3D27D4EB4FULL,
                      PRIME_3 = 0x165667B19E3779F9ULL, PRIME_MX1 = 0x165667919E3779F9ULL,
                      PRIME_MX2 = 0x9FB21C651E98DF25ULL;

/* The default secret of XXH3. */
enum { SECRET_BYTES = 192 };
static const uint8_t SECRET[SECRET_BYTES] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

static uint64_t little_64(const uint8_t *at)
{
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t value;
    memcpy(&value, at, sizeof value);
#else
    uint64_t value = 0;
    for (int number = 7; number >= 0; number--)
        value = value << 8 | at[number];
#endif
    return value;
}

static uint32_t little_32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t swapped_64(uint64_t value)
{
#ifdef __GNUC__
    return __builtin_bswap64(value);
#else
    uint64_t swapped = 0;
    for (int number = 0; number < 8; number++, value >>= 8)
        swapped = swapped << 8 | (value & 0xFF);
    return swapped;
#endif
}

/* Both halves of the product of two numbers, folded into one. */
static uint64_t folded_product(uint64_t one, uint64_t other)
{
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)one * other;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t one_low = one & 0xFFFFFFFF, one_high = one >> 32;
    uint64_t other_low = other & 0xFFFFFFFF, other_high = other >> 32;
    uint64_t low = one_low * other_low;
    uint64_t middle = one_high * other_low + (low >> 32);
    uint64_t second = one_low * other_high + (middle & 0xFFFFFFFF);
    uint64_t high = one_high * other_high + (middle >> 32) + (second >> 32);
    return high ^ (second << 32 | (low & 0xFFFFFFFF));
#endif
}

static uint64_t avalanche(uint64_t hash)
{
    hash ^= hash >> 37;
    hash *= PRIME_MX1;
    return hash ^ hash >> 32;
}

static uint64_t mix_16(const uint8_t *at, const uint8_t *secret)
{
    return folded_product(
        little_64(at) ^ little_64(secret), little_64(at + 8) ^ little_64(secret + 8));
}

static uint64_t hash_up_to_16(const uint8_t *at, size_t length)
{
    if (length > 8) {
        uint64_t low = little_64(at) ^ little_64(SECRET + 24) ^ little_64(SECRET + 32);
        uint64_t high =
            little_64(at + length - 8) ^ little_64(SECRET + 40) ^ little_64(SECRET + 48);
        return avalanche(length + swapped_64(low) + high + folded_product(low, high));
    }
    if (length >= 4) {
        uint64_t both = little_32(at + length - 4) + ((uint64_t)little_32(at) << 32);
        uint64_t hash = both ^ little_64(SECRET + 8) ^ little_64(SECRET + 16);
        hash ^= (hash << 49 | hash >> 15) ^ (hash << 24 | hash >> 40);
        hash *= PRIME_MX2;
        hash ^= (hash >> 35) + length;
        hash *= PRIME_MX2;
        return hash ^ hash >> 28;
    }
    uint64_t hash = (uint64_t)at[0] << 16 | (uint64_t)at[length >> 1] << 24 | at[length - 1] |
                    (uint64_t)length << 8;
    hash ^= little_32(SECRET) ^ little_32(SECRET + 4);
    hash ^= hash >> 33;
    hash *= PRIME_2;
    hash ^= hash >> 29;
    hash *= PRIME_3;
    return hash ^ hash >> 32;
}

/* Of a longer text 64 bytes at a time are added to eight sums, each with another part of the secret;
 * when all parts were used, the sums are scrambled. */
enum { STRIPE = 64, STRIPES = (SECRET_BYTES - STRIPE) / 8, LONGEST_UNSTRIPED = 240 };

static void add_stripe(uint64_t sums[8], const uint8_t *at, const uint8_t *secret)
{
    for (int number = 0; number < 8; number++) {
        uint64_t value = little_64(at + 8 * number), keyed = value ^ little_64(secret + 8 * number);
        sums[number ^ 1] += value;
        sums[number] += (keyed & 0xFFFFFFFF) * (keyed >> 32);
    }
}

static uint64_t hash_in_stripes(const uint8_t *at, size_t length)
{
    uint64_t sums[8] = {
        0xC2B2AE3DU, PRIME_1, PRIME_2, PRIME_3,
        0x85EBCA77C2B2AE63ULL, 0x85EBCA77U, 0x27D4EB2F165667C5ULL, 0x9E3779B1U,
    };
    /* The last one ends where the text ends, and is added after all others. */
    size_t stripes = (length - 1) / STRIPE;
    for (size_t stripe = 0; stripe < stripes; stripe++) {
        add_stripe(sums, at + STRIPE * stripe, SECRET + 8 * (stripe % STRIPES));
        if (stripe % STRIPES == STRIPES - 1)
            for (int number = 0; number < 8; number++) {
                sums[number] ^= sums[number] >> 47;
                sums[number] ^= little_64(SECRET + SECRET_BYTES - STRIPE + 8 * number);
                sums[number] *= 0x9E3779B1U;
            }
    }
    add_stripe(sums, at + length - STRIPE, SECRET + SECRET_BYTES - STRIPE - 7);
    uint64_t sum = length * PRIME_1;
    for (int number = 0; number < 8; number += 2)
        sum += folded_product(sums[number] ^ little_64(SECRET + 11 + 8 * number),
                              sums[number + 1] ^ little_64(SECRET + 19 + 8 * number));
    return avalanche(sum);
}

/* XXH3 of a text that is not empty. */
static uint64_t xxh3(const uint8_t *at, size_t length)
{
    if (length <= 16)
        return hash_up_to_16(at, length);
    if (length > LONGEST_UNSTRIPED)
        return hash_in_stripes(at, length);
    uint64_t sum = length * PRIME_1;
    if (length <= 128) {
        for (size_t number = (length - 1) / 32 + 1; number-- > 0;) {
            sum += mix_16(at + 16 * number, SECRET + 32 * number);
            sum += mix_16(at + length - 16 * (number + 1), SECRET + 32 * number + 16);
        }
        return avalanche(sum);
    }
    for (size_t number = 0; number < 8; number++)
        sum += mix_16(at + 16 * number, SECRET + 16 * number);
    sum = avalanche(sum);
    for (size_t number = 8; number < length / 16; number++)
        sum += mix_16(at + 16 * number, SECRET + 16 * (number - 8) + 3);
    return avalanche(sum + mix_16(at + length - 16, SECRET + 136 - 17));
}

/* What becomes of a byte of text, and how many bytes are left of it. */
static uint8_t prepared[256], kept[256];

static void fill_prepared(void)
{
    for (int value = 0; value < 256; value++) {
        prepared[value] = (uint8_t)(value >= 'A' && value <= 'Z' ? value + 32 : value);
        kept[value] = value != ' ' && value != '\t';
    }
    for (const char *each = ".;!?"; *each; each++)
        prepared[(uint8_t)*each] = '\n';
}

/* U+3002, U+FF01, U+FF0C, U+FF1B, U+FF1F: they end sentences and clauses. */
static int is_wide_mark(const uint8_t at[3])
{
    if (at[0] == 0xE3)
        return at[1] == 0x80 && at[2] == 0x82;
    return at[0] == 0xEF && at[1] == 0xBC &&
           (at[2] == 0x81 || at[2] == 0x8C || at[2] == 0x9B || at[2] == 0x9F);
}

/* Brings a text into lower case, cuts it into clauses by line ends, and takes out spaces; returns its
 * length. What was prepared stays as it is. */
static size_t prepare(uint8_t *text, size_t length)
{
    const uint8_t *at = text, *end = text + length;
    uint8_t *out = text;
    while (at < end) {
        if (*at >= 0xE0 && *at < 0xF0 && end - at >= 3) {
            if (is_wide_mark(at)) {
                *out++ = '\n';
            } else {
                memmove(out, at, 3);
                out += 3;
            }
            at += 3;
        } else {
            *out = prepared[*at];
            out += kept[*at++];
        }
    }
    return (size_t)(out - text);
}

/* How long a text of so many characters is, in bytes. */
static size_t length_of_characters(const uint8_t *text, size_t length, size_t characters)
{
    size_t at = 0;
    for (; at < length && (characters || (text[at] & 0xC0) == 0x80); at++)
        characters -= (text[at] & 0xC0) != 0x80;
    return at;
}

/* Where it begins in the text, and how long it is without spaces. */
struct clause {
    uint32_t start, length;
};

/* The clauses of a text, as many as count: those of the sample come first, the others last. */
struct clauses {
    struct clause *all;
    int room, count, sample;
};

/* Without branches: nobody can guess them. One place more than is needed is there. */
static inline void note_clause(struct clauses *clauses, uint32_t start, uint32_t length)
{
    int is_one = length > 0 && clauses->count < MAX_CLAUSES;
    int is_sample = !(length & LENGTH_BITS_OF_SAMPLE);
    int place = is_sample ? clauses->sample
                          : clauses->room - 1 - (clauses->count - clauses->sample);
    clauses->all[place] = (struct clause){start, length};
    clauses->count += is_one;
    clauses->sample += is_one & is_sample;
}

#ifdef HAS_SIXTEENS
/* Which of 64 bytes end a clause, and which are spaces, as bits. */
static inline void look_at(const uint8_t *at, uint64_t *ends, uint64_t *spaces)
{
    *ends = *spaces = 0;
    for (int number = 0; number < 64; number += 16) {
        sixteen bytes = sixteen_at(at + number);
        /* As numbers without sign, so that what is below a line end comes out large. */
        sixteen lines = are_up_to(_mm_sub_epi8(bytes, _mm_set1_epi8('\n')), '\r' - '\n');
        sixteen stops = either(either(are(bytes, '.'), are(bytes, ';')),
                               either(are(bytes, '!'), are(bytes, '?')));
        *ends |= (uint64_t)bits_of(either(lines, stops)) << number;
        *spaces |= (uint64_t)bits_of(either(are(bytes, ' '), are(bytes, '\t'))) << number;
    }
}

static uint32_t count_of(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555ULL;
    bits = (bits & 0x3333333333333333ULL) + (bits >> 2 & 0x3333333333333333ULL);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0FULL;
    return (uint32_t)(bits * 0x0101010101010101ULL >> 56);
}

static struct clauses cut(const uint8_t *text, size_t length, struct clauses clauses)
{
    uint32_t start = 0, kept_start = 0, skipped = 0;
    for (size_t base = 0; base <= length; base += 64) {
        uint8_t last[64];
        const uint8_t *at = text + base;
        if (length - base < sizeof last) {
            memset(last, '\n', sizeof last);
            at = memcpy(last, at, length - base);
        }
        uint64_t ends, spaces;
        for (look_at(at, &ends, &spaces); ends; ends &= ends - 1) {
            uint32_t end = (uint32_t)base + (uint32_t)first_bit(ends);
            uint32_t kept_end = end - skipped - count_of(spaces & ((ends & -ends) - 1));
            note_clause(&clauses, start, kept_end - kept_start);
            start = end + 1;
            kept_start = kept_end + 1;
        }
        skipped += count_of(spaces);
    }
    return clauses;
}
#else
static struct clauses cut(const uint8_t *text, size_t length, struct clauses clauses)
{
    uint32_t start = 0, kept_length = 0;
    for (size_t at = 0; at <= length; at++) {
        uint8_t value = at < length ? prepared[text[at]] : '\n';
        if (value < '\n' || value > '\r') {
            kept_length += kept[value];
            continue;
        }
        note_clause(&clauses, start, kept_length);
        start = (uint32_t)at + 1;
        kept_length = 0;
    }
    return clauses;
}
#endif

/* Lanes are added up in bytes, eight at a time; these are emptied before they overflow. */
struct sums {
    uint64_t eights[LANES / 8];
    uint32_t lanes[LANES], added;
};
enum { MOST_ROWS = 127 };

static void empty(struct sums *sums)
{
    uint8_t bytes[LANES];
    memcpy(bytes, sums->eights, sizeof bytes);
    memset(sums->eights, 0, sizeof sums->eights);
    for (int lane = 0; lane < LANES; lane++)
        sums->lanes[lane] += bytes[lane];
}

static void add_row(struct sums *sums, const uint8_t *row)
{
    for (int number = 0; number < LANES / 8; number++) {
        uint64_t eight;
        memcpy(&eight, row + 8 * number, sizeof eight);
        sums->eights[number] += eight;
    }
    if (++sums->added % MOST_ROWS == 0)
        empty(sums);
}

/* What the fingerprint is: a number, nothing, or for the library to find out. */
enum fingerprint { NO_FINGERPRINT, FINGERPRINT, LEFT_TO_LIBRARY, NO_MEMORY };

/* Adds the rows of some clauses; 0 if one of them is too long to be hashed here. */
static int add_clauses(
    struct sums *sums, const uint8_t *text, int is_prepared, const struct clause *clauses, int count,
    const uint8_t *rows)
{
    for (int number = 0; number < count; number++) {
        uint8_t own[LONGEST_HASHED];
        const uint8_t *clause = text + clauses[number].start, *at = clause;
        size_t length = clauses[number].length;
        if (length > LONGEST_HASHED)
            return 0;
        if (!is_prepared) {
            for (size_t done = 0; done < length; at++) {
                own[done] = prepared[*at];
                done += kept[*at];
            }
            clause = own;
        }
        add_row(sums, rows + LANES * (xxh3(clause, length) >> 56));
    }
    return 1;
}

/* `rows` has LANES bytes for each row: 0 is minus, 1 nothing, 2 plus. Where it is left to the library,
 * the text is prepared for it. */
static enum fingerprint simhash(
    uint8_t *text, size_t *length, size_t characters, const uint8_t *rows, uint64_t *fingerprint)
{
    if (*length > characters)
        *length = length_of_characters(text, *length, characters);
    if (!*length)
        return NO_FINGERPRINT;
    int is_prepared = memchr(text, 0xE3, *length) || memchr(text, 0xEF, *length);
    if (is_prepared)
        *length = prepare(text, *length);
    /* Between two clauses is a byte at least. */
    size_t most = *length / 2 + 1 < MAX_CLAUSES ? *length / 2 + 1 : MAX_CLAUSES;
    struct clauses clauses = {malloc((most + 1) * sizeof *clauses.all), (int)most + 1, 0, 0};
    if (!clauses.all)
        return NO_MEMORY;
    clauses = cut(text, *length, clauses);
    int others = clauses.count - clauses.sample;
    if (clauses.count > FEW_CLAUSES && clauses.sample >= MIN_CLAUSES)
        others = 0;
    struct sums sums = {0};
    enum fingerprint result = FINGERPRINT;
    if (clauses.count < MIN_CLAUSES)
        result = NO_FINGERPRINT;
    else if (!add_clauses(&sums, text, is_prepared, clauses.all, clauses.sample, rows) ||
             !add_clauses(&sums, text, is_prepared, clauses.all + clauses.room - others, others,
                          rows))
        result = LEFT_TO_LIBRARY;
    free(clauses.all);
    if (result == LEFT_TO_LIBRARY)
        *length = prepare(text, *length);
    empty(&sums);
    *fingerprint = 0;
    for (int lane = 0; lane < LANES; lane++)
        *fingerprint |= (uint64_t)(sums.lanes[lane] > sums.added) << lane;
    return result;
}

#endif
