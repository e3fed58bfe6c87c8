/* CRC-32C (Castagnoli), the checksum of record batches since magic 2, computed without the GIL. This code uses the
 * instructions of SSE 4.2 or of ARMv8's CRC extension if the processor has them. Otherwise, it uses eight tables that
 * are computed when the module is loaded (M. Kounavis, F. Berry: "A Systematic Approach to Building High Performance,
 * Software-based, CRC Generators", 2005). */
#ifndef TAGWIRE_CRC32C_H
#define TAGWIRE_CRC32C_H

#include <stdint.h>
#include <string.h>

/* How the processor extends `sum`, a uint64_t, by a word or byte. The ARM code is assembly, because older compilers
 * declare its intrinsics only if every ARM processor that the program may run on has the extension. */
#if defined(__GNUC__) && defined(__x86_64__)
#  include <nmmintrin.h>
#  define TW_CRC32C_CODE __attribute__((target("sse4.2")))
#  define TW_EXTEND_BY_WORD(sum, word) (sum = _mm_crc32_u64(sum, word))
#  define TW_EXTEND_BY_BYTE(sum, byte) (sum = _mm_crc32_u8((uint32_t)sum, byte))
#elif defined(__GNUC__) && defined(__AARCH64EL__) && (defined(__linux__) || defined(__APPLE__))
#  ifdef __linux__
#    include <sys/auxv.h>
#  endif
#  define TW_CRC32C_CODE
#  define TW_EXTEND_BY_WORD(sum, word) __asm__(".arch_extension crc\n crc32cx %w0, %w0, %x1" : "+r"(sum) : "r"(word))
#  define TW_EXTEND_BY_BYTE(sum, byte) __asm__(".arch_extension crc\n crc32cb %w0, %w0, %w1" : "+r"(sum) : "r"(byte))
#endif

#define TW_CRC32C_POLYNOMIAL 0x82F63B78u /* in reversed bit order */
#define TW_CRC32_POLYNOMIAL 0xEDB88320u  /* for magic 0 and 1. zlib isn't used, because calling it requires the GIL */

/* The processor's code computes the checksums of three blocks at once. This is the size of a block in bytes. */
#define TW_LANE 1024

typedef struct {
    uint32_t table[8][256];
    /* Tables to extend a checksum by TW_LANE zero bytes. The new checksum is the XOR of over[i][byte i of the old
     * checksum] for i from 0 to 3. */
    uint32_t over[4][256];
    int by_processor;
} tw_crc32c_tables;

static inline void tw_crc_prepare(tw_crc32c_tables *t, uint32_t polynomial)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (polynomial & (0u - (crc & 1)));
        t->table[0][byte] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = t->table[slice - 1][byte];
            t->table[slice][byte] = crc >> 8 ^ t->table[0][crc & 0xFF];
        }
    for (int byte = 0; byte < 4; byte++)
        for (uint32_t value = 0; value < 256; value++) {
            /* CRCs are linear: the entry for a value is the XOR of the entries for its lowest 1 bit and its `rest`. */
            uint32_t rest = value & (value - 1);
            uint32_t crc = (value ^ rest) << 8 * byte;
            for (int zero = 0; zero < TW_LANE && !rest; zero++)
                crc = crc >> 8 ^ t->table[0][crc & 0xFF];
            t->over[byte][value] = rest ? t->over[byte][rest] ^ t->over[byte][value ^ rest] : crc;
        }
    t->by_processor = 0;
}

static inline void tw_crc32c_prepare(tw_crc32c_tables *t)
{
    tw_crc_prepare(t, TW_CRC32C_POLYNOMIAL);
#if defined(TW_CRC32C_CODE) && defined(__x86_64__)
    __builtin_cpu_init();
    t->by_processor = __builtin_cpu_supports("sse4.2") != 0;
#elif defined(TW_CRC32C_CODE) && defined(__linux__)
    t->by_processor = (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#elif defined(TW_CRC32C_CODE)
    t->by_processor = 1; /* all of Apple's ARM processors for Macs */
#endif
}

static uint32_t tw_crc32c_by_tables(const tw_crc32c_tables *t, uint32_t crc, const uint8_t *p, int64_t size)
{
    for (; size >= 8; p += 8, size -= 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        crc = t->table[7][low & 0xFF] ^ t->table[6][low >> 8 & 0xFF] ^ t->table[5][low >> 16 & 0xFF] ^
              t->table[4][low >> 24] ^ t->table[3][p[4]] ^ t->table[2][p[5]] ^ t->table[1][p[6]] ^ t->table[0][p[7]];
    }
    for (; size > 0; p++, size--)
        crc = crc >> 8 ^ t->table[0][(crc ^ *p) & 0xFF];
    return crc;
}

#ifdef TW_CRC32C_CODE
static inline uint32_t tw_over_a_lane(const tw_crc32c_tables *t, uint32_t crc)
{
    return t->over[0][crc & 0xFF] ^ t->over[1][crc >> 8 & 0xFF] ^ t->over[2][crc >> 16 & 0xFF] ^ t->over[3][crc >> 24];
}

TW_CRC32C_CODE static uint32_t tw_crc32c_by_processor(
    const tw_crc32c_tables *t, uint32_t crc, const uint8_t *p, int64_t size)
{
    uint64_t sum = crc, word;
    for (; size >= 3 * TW_LANE; p += 3 * TW_LANE, size -= 3 * TW_LANE) {
        uint64_t second = 0, third = 0;
        for (int at = 0; at < TW_LANE; at += 8) {
            memcpy(&word, p + at, 8);
            TW_EXTEND_BY_WORD(sum, word);
            memcpy(&word, p + TW_LANE + at, 8);
            TW_EXTEND_BY_WORD(second, word);
            memcpy(&word, p + 2 * TW_LANE + at, 8);
            TW_EXTEND_BY_WORD(third, word);
        }
        sum = tw_over_a_lane(t, (uint32_t)sum) ^ second;
        sum = tw_over_a_lane(t, (uint32_t)sum) ^ third;
    }
    for (; size >= 8; p += 8, size -= 8) {
        memcpy(&word, p, 8);
        TW_EXTEND_BY_WORD(sum, word);
    }
    for (; size > 0; p++, size--)
        TW_EXTEND_BY_BYTE(sum, *p);
    return (uint32_t)sum;
}
#endif

static inline uint32_t tw_crc32c_extended(const tw_crc32c_tables *t, uint32_t crc, const uint8_t *p, int64_t size)
{
#ifdef TW_CRC32C_CODE
    if (t->by_processor)
        return ~tw_crc32c_by_processor(t, ~crc, p, size);
#endif
    return ~tw_crc32c_by_tables(t, ~crc, p, size);
}

static inline uint32_t tw_crc32c(const tw_crc32c_tables *t, const uint8_t *p, int64_t size)
{
    return tw_crc32c_extended(t, 0, p, size);
}

#endif
