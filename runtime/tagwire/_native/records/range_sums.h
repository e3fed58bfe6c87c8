/* Compute the checksum of a range of a file from the checksums of all bytes before its start and before its end.
 * `tagwire.log.damage` explains the method. */
#ifndef TAGWIRE_RANGE_SUMS_H
#define TAGWIRE_RANGE_SUMS_H

#include <stdint.h>

#include "engine/crc32c.h"

/* The distance in bytes between file positions for which a checksum is stored. */
#define TW_SUM_BLOCK 256

typedef struct {
    tw_crc32c_tables tables;
    uint32_t polynomial;
    /* Tables to append n zero bytes to the data of a CRC. Appending multiplies the CRC register by x**(8 * n),
     * modulo the polynomial. This factor is the product of powers[i][byte i of n] for all i. */
    uint32_t powers[5][256];
} tw_sums;

/* Except for the result of tw_sum_between, checksums in this file are plain CRC registers: they start at 0 and are not
 * inverted at the end. */

static uint32_t tw_product(uint32_t polynomial, uint32_t one, uint32_t other)
{
    uint32_t product = 0;
    for (; one; one <<= 1) {
        product ^= other & (0u - (one >> 31));
        other = other >> 1 ^ (polynomial & (0u - (other & 1)));
    }
    return product;
}

static inline void tw_prepare_sums(tw_sums *sums, uint32_t polynomial)
{
    /* powers[byte][value] is `step` to the power of `value`, where `step` is the polynomial x**(8 * 256**byte). The
     * highest bit of a polynomial is the coefficient of x**0. */
    uint32_t step = 1u << 23;
    tw_crc_prepare(&sums->tables, polynomial);
    sums->polynomial = polynomial;
    for (int byte = 0; byte < 5; byte++) {
        sums->powers[byte][0] = 1u << 31;
        for (int value = 1; value < 256; value++)
            sums->powers[byte][value] = tw_product(polynomial, sums->powers[byte][value - 1], step);
        step = tw_product(polynomial, sums->powers[byte][255], step);
    }
}

static inline uint32_t tw_extended(const tw_sums *sums, uint32_t sum, const uint8_t *p, int64_t size)
{
    return tw_crc32c_by_tables(&sums->tables, sum, p, size);
}

/* Return the CRC of a range of `size` bytes. `before` and `after` are the CRC registers at the start and the end of the
 * range. */
static inline uint32_t tw_sum_between(const tw_sums *sums, uint32_t before, uint32_t after, int64_t size)
{
    uint32_t sum = ~before;
    for (int byte = 0; size; byte++, size >>= 8)
        if (size & 255)
            sum = tw_product(sums->polynomial, sum, sums->powers[byte][size & 255]);
    return ~(sum ^ after);
}

#endif
