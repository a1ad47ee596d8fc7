/* SHA-1 (FIPS 180-4) of short blocks, and base 32 (RFC 4648, section 6) of the sum. Of a few hundred
 * bytes the library spends most of the time on what is around the sum; payloads are left to it. */

enum { SHA1_BYTES = 20, SHA1_BLOCK = 64, SHA1_LENGTH = 8, SHA1_LETTERS = 32 };

static uint32_t sha1_turned(uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

/* A step gives the sum of all to the last of the five words, which take turns. */
#define SHA1_STEP(mix, constant, a, b, c, d, e, number) \
    e += sha1_turned(a, 5) + (mix(b, c, d)) + (constant) + sha1_word(words, number); \
    b = sha1_turned(b, 30)
#define SHA1_STEPS(mix, constant, number) \
    SHA1_STEP(mix, constant, a, b, c, d, e, number); \
    SHA1_STEP(mix, constant, e, a, b, c, d, number + 1); \
    SHA1_STEP(mix, constant, d, e, a, b, c, number + 2); \
    SHA1_STEP(mix, constant, c, d, e, a, b, number + 3); \
    SHA1_STEP(mix, constant, b, c, d, e, a, number + 4)
#define SHA1_CHOICE(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define SHA1_PARITY(x, y, z) ((x) ^ (y) ^ (z))
#define SHA1_MAJORITY(x, y, z) (((x) & (y)) | ((z) & ((x) | (y))))

/* The first sixteen words are the block's; each later one takes the place of one that is done with. */
static uint32_t sha1_word(uint32_t words[16], int number)
{
    if (number >= 16)
        words[number % 16] = sha1_turned(words[(number + 13) % 16] ^ words[(number + 8) % 16] ^
                                             words[(number + 2) % 16] ^ words[number % 16],
                                         1);
    return words[number % 16];
}

static void sha1_add(uint32_t state[5], const byte *block)
{
    uint32_t words[16];
    for (int number = 0; number < 16; number++, block += 4)
        words[number] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
                        (uint32_t)block[2] << 8 | (uint32_t)block[3];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int number = 0; number < 20; number += 5) {
        SHA1_STEPS(SHA1_CHOICE, 0x5a827999, number);
    }
    for (int number = 20; number < 40; number += 5) {
        SHA1_STEPS(SHA1_PARITY, 0x6ed9eba1, number);
    }
    for (int number = 40; number < 60; number += 5) {
        SHA1_STEPS(SHA1_MAJORITY, 0x8f1bbcdc, number);
    }
    for (int number = 60; number < 80; number += 5) {
        SHA1_STEPS(SHA1_PARITY, 0xca62c1d6, number);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

static void sha1(const byte *text, size_t length, byte sum[SHA1_BYTES])
{
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    size_t left = length;
    for (; left >= SHA1_BLOCK; left -= SHA1_BLOCK, text += SHA1_BLOCK)
        sha1_add(state, text);
    /* What is left, a bit, zeros, and the length in bits at the end of a block. */
    byte last[2 * SHA1_BLOCK] = {0};
    if (left)
        memcpy(last, text, left);
    last[left] = 0x80;
    size_t end = left < SHA1_BLOCK - SHA1_LENGTH ? SHA1_BLOCK : 2 * SHA1_BLOCK;
    for (int number = 0; number < SHA1_LENGTH; number++)
        last[end - 1 - (size_t)number] = (byte)((uint64_t)length * 8 >> (8 * number));
    for (size_t at = 0; at < end; at += SHA1_BLOCK)
        sha1_add(state, last + at);
    for (int number = 0; number < SHA1_BYTES; number++)
        sum[number] = (byte)(state[number / 4] >> (24 - 8 * (number % 4)));
}

static void base32(const byte sum[SHA1_BYTES], char letters[SHA1_LETTERS])
{
    uint32_t bits = 0;
    int waiting = 0;
    for (int number = 0; number < SHA1_BYTES; number++) {
        bits = bits << 8 | sum[number];
        for (waiting += 8; waiting >= 5; waiting -= 5)
            *letters++ = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[bits >> (waiting - 5) & 31];
    }
}
