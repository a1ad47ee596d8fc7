/* Looks for bytes, sixteen at a time where the processor can (SSE2, which every x86-64 has), else one
 * by one. Names and words are short: what saves is that none of this is a loop in most cases, so that
 * the processor need not guess where it ends. Nothing is read beyond the end that is given. */

#ifndef GOSSAMER_SCAN_H
#define GOSSAMER_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

#if defined __SSE2__ && defined __GNUC__
#define HAS_SIXTEENS
#include <immintrin.h>

typedef __m128i sixteen;

static inline sixteen sixteen_at(const byte *at)
{
    return _mm_loadu_si128((const sixteen *)at);
}

static inline sixteen are(sixteen bytes, byte value)
{
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)value));
}

static inline sixteen either(sixteen one, sixteen other)
{
    return _mm_or_si128(one, other);
}

static inline sixteen are_up_to(sixteen bytes, byte most)
{
    return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8((char)most)), bytes);
}

/* One bit for each byte. */
static inline uint32_t bits_of(sixteen bytes)
{
    return (uint32_t)_mm_movemask_epi8(bytes);
}

/* See below. */
__attribute__((target("avx"))) static void clear_upper_halves(void)
{
    _mm256_zeroupper();
}
#endif

/* Others, as compressors do, leave wide registers in use, which makes all of this slower by a third on
 * some processors. This says that nobody needs their upper halves any more. */
static inline void release_wide_registers(void)
{
#ifdef HAS_SIXTEENS
    if (__builtin_cpu_supports("avx"))
        clear_upper_halves();
#endif
}

/* The number of the first bit that is set; one is. */
static inline int first_bit(uint64_t bits)
{
#ifdef __GNUC__
    return __builtin_ctzll(bits);
#else
    int number = 0;
    for (; !(bits & 1); bits >>= 1)
        number++;
    return number;
#endif
}

/* Where a byte is met first; NULL if it is not there. */
static inline const byte *find(const byte *at, const byte *end, byte value)
{
#ifdef HAS_SIXTEENS
    for (; end - at >= 32; at += 32) {
        uint32_t met = bits_of(are(sixteen_at(at), value)) |
                       bits_of(are(sixteen_at(at + 16), value)) << 16;
        if (met)
            return at + first_bit(met);
    }
#endif
    return memchr(at, value, (size_t)(end - at));
}

/* Where there is something else than ASCII, or a zero, or the end. */
static inline const byte *after_plain(const byte *at, const byte *end)
{
#ifdef HAS_SIXTEENS
    for (const sixteen zero = _mm_setzero_si128(); end - at >= 32; at += 32) {
        uint32_t plain = bits_of(_mm_cmpgt_epi8(sixteen_at(at), zero)) |
                         bits_of(_mm_cmpgt_epi8(sixteen_at(at + 16), zero)) << 16;
        if (plain != UINT32_MAX)
            return at + first_bit(~plain);
    }
#else
    for (uint64_t eight; end - at >= 8; at += 8) {
        memcpy(&eight, at, 8);
        if ((eight | (eight - 0x0101010101010101ULL)) & 0x8080808080808080ULL)
            break;
    }
#endif
    while (at < end && *at && *at < 0x80)
        at++;
    return at;
}

/* Where the first of three bytes is met, or the end; bytes behind that may be read up to `limit`. */
static inline const byte *first_of(
    const byte *at, const byte *end, const byte *limit, byte one, byte two, byte three)
{
#ifdef HAS_SIXTEENS
    for (; at < end && limit - at >= 16; at += 16) {
        sixteen bytes = sixteen_at(at);
        uint32_t met = bits_of(either(either(are(bytes, one), are(bytes, two)), are(bytes, three)));
        if (met)
            return first_bit(met) < end - at ? at + first_bit(met) : end;
    }
#else
    (void)limit;
#endif
    while (at < end && *at != one && *at != two && *at != three)
        at++;
    return at < end ? at : end;
}

/* Copies bytes up to the first of three, or some of them; returns how many. There is room for as many
 * as are copied at once. */
enum { COPIED_AT_ONCE = 256 };
static inline size_t copy_until(
    byte *out, const byte *at, const byte *end, byte one, byte two, byte three)
{
#ifdef HAS_SIXTEENS
    if (end - at >= 16) {
        sixteen bytes = sixteen_at(at);
        _mm_storeu_si128((sixteen *)out, bytes);
        uint32_t met = bits_of(either(either(are(bytes, one), are(bytes, two)), are(bytes, three)));
        return (size_t)first_bit(met | 1 << 16);
    }
#endif
    const byte *start = at, *stop = end - at > COPIED_AT_ONCE ? at + COPIED_AT_ONCE : end;
    while (at < stop && *at != one && *at != two && *at != three)
        *out++ = *at++;
    return (size_t)(at - start);
}

#ifdef HAS_SIXTEENS
/* How long a name may be, up to 16, all of which can be read: before white space, `/`, `>`, for the
 * name of an attribute also `=`, and rare bytes below a space that are no white space. */
static inline int length_of_name(const byte *at, int is_attribute)
{
    sixteen bytes = sixteen_at(at);
    sixteen marks = either(either(are(bytes, '/'), are(bytes, '>')), are_up_to(bytes, ' '));
    if (is_attribute)
        marks = either(marks, are(bytes, '='));
    return first_bit(bits_of(marks) | 1 << 16);
}
#endif

/* Where a name ends: at one of the bytes that `ends` has. */
static inline const byte *end_of_name(
    const byte *at, const byte *end, const byte ends[256], int is_attribute)
{
#ifdef HAS_SIXTEENS
    if (end - at >= 16)
        at += length_of_name(at, is_attribute);
#else
    (void)is_attribute;
#endif
    while (at < end && !ends[*at])
        at++;
    return at;
}

/* Where two bytes may follow on each other, letters in either case; or where only few bytes are left. */
static inline const byte *find_pair(const byte *at, const byte *end, byte one, byte two)
{
#ifdef HAS_SIXTEENS
    const sixteen small = _mm_set1_epi8(32);
    for (; end - at > 16; at += 16) {
        uint32_t met = bits_of(are(either(sixteen_at(at), small), one | 32)) &
                       bits_of(are(either(sixteen_at(at + 1), small), two | 32));
        if (met)
            return at + first_bit(met);
    }
#else
    (void)end, (void)one, (void)two;
#endif
    return at;
}

#ifdef HAS_SIXTEENS
/* `<`, `>` and quotes among sixteen bytes; the first two differ in one bit. */
static inline uint16_t marks_in(sixteen bytes)
{
    sixteen angles = are(either(bytes, _mm_set1_epi8(2)), '>');
    return (uint16_t)bits_of(either(angles, either(are(bytes, '"'), are(bytes, '\''))));
}

/* Notes where these are: one bit for each byte, in as many bytes as MARKS_ROOM says. */
#define MARKS_ROOM(length) ((length) / 8 + 16)
static void look_for_marks(const byte *at, const byte *end, byte *marks)
{
    for (; end - at >= 64; at += 64, marks += 8) {
        uint16_t bits[4] = {marks_in(sixteen_at(at)), marks_in(sixteen_at(at + 16)),
                            marks_in(sixteen_at(at + 32)), marks_in(sixteen_at(at + 48))};
        memcpy(marks, bits, sizeof bits);
    }
    memset(marks, 0, 16);
    for (int number = 0; at < end; number++, at++)
        if (*at == '<' || *at == '>' || *at == '"' || *at == '\'')
            marks[number / 8] |= (byte)(1 << number % 8);
}

/* What comes from a place on, as bits. */
enum { AHEAD = 56 };
static inline uint64_t marks_ahead(const byte *marks, size_t place)
{
    uint64_t bits;
    memcpy(&bits, marks + place / 8, sizeof bits);
    return bits >> place % 8 & (((uint64_t)1 << AHEAD) - 1);
}
#endif

#endif
