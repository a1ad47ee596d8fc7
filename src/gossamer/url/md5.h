/* MD5 (RFC 1321) of short texts. Where many are asked for, the library spends most of the time on
 * what is around the sum; that it names URLs only, and guards nothing, is why MD5 will do. */

enum { MD5_BYTES = 16, MD5_BLOCK = 64, MD5_LENGTH = 8 };

static const uint32_t MD5_SINES[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static uint32_t md5_turned(uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

#define MD5_F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define MD5_G(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define MD5_H(x, y, z) ((x) ^ (y) ^ (z))
#define MD5_I(x, y, z) ((y) ^ ((x) | ~(z)))
#define MD5_STEP(mix, a, b, c, d, word, sine, bits) \
    a = b + md5_turned(a + mix(b, c, d) + words[word] + MD5_SINES[sine], bits)
/* Four steps of a round, in which the words are taken `stride` apart, beginning at `first`. */
#define MD5_STEPS(mix, at, first, stride, s1, s2, s3, s4) \
    MD5_STEP(mix, a, b, c, d, ((at) * (stride) + (first)) % 16, at, s1); \
    MD5_STEP(mix, d, a, b, c, ((at + 1) * (stride) + (first)) % 16, at + 1, s2); \
    MD5_STEP(mix, c, d, a, b, ((at + 2) * (stride) + (first)) % 16, at + 2, s3); \
    MD5_STEP(mix, b, c, d, a, ((at + 3) * (stride) + (first)) % 16, at + 3, s4)
#define MD5_ROUND(mix, at, first, stride, s1, s2, s3, s4) \
    MD5_STEPS(mix, at, first, stride, s1, s2, s3, s4); \
    MD5_STEPS(mix, at + 4, first, stride, s1, s2, s3, s4); \
    MD5_STEPS(mix, at + 8, first, stride, s1, s2, s3, s4); \
    MD5_STEPS(mix, at + 12, first, stride, s1, s2, s3, s4)

static void md5_add(uint32_t state[4], const byte *block)
{
    uint32_t words[16];
    for (int number = 0; number < 16; number++, block += 4)
        words[number] = (uint32_t)block[0] | (uint32_t)block[1] << 8 | (uint32_t)block[2] << 16 |
                        (uint32_t)block[3] << 24;
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    MD5_ROUND(MD5_F, 0, 0, 1, 7, 12, 17, 22);
    MD5_ROUND(MD5_G, 16, 1, 5, 5, 9, 14, 20);
    MD5_ROUND(MD5_H, 32, 5, 3, 4, 11, 16, 23);
    MD5_ROUND(MD5_I, 48, 0, 7, 6, 10, 15, 21);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

static void md5(const byte *text, size_t length, byte sum[MD5_BYTES])
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    size_t left = length;
    for (; left >= MD5_BLOCK; left -= MD5_BLOCK, text += MD5_BLOCK)
        md5_add(state, text);
    /* What is left, a bit, zeros, and the length in bits at the end of a block. */
    byte last[2 * MD5_BLOCK] = {0};
    if (left)
        memcpy(last, text, left);
    last[left] = 0x80;
    size_t end = left < MD5_BLOCK - MD5_LENGTH ? MD5_BLOCK : 2 * MD5_BLOCK;
    for (int number = 0; number < MD5_LENGTH; number++)
        last[end - MD5_LENGTH + (size_t)number] = (byte)((uint64_t)length * 8 >> (8 * number));
    for (size_t at = 0; at < end; at += MD5_BLOCK)
        md5_add(state, last + at);
    for (int number = 0; number < MD5_BYTES; number++)
        sum[number] = (byte)(state[number / 4] >> (8 * (number % 4)));
}
