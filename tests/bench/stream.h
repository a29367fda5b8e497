/* The stream of random numbers of spn/dist/random.py, and its exponential ziggurat, whose tables the programs read. */
#include <math.h>
#include <stdint.h>

static uint64_t s0 = 1, s1 = 2, s2 = 3, s3 = 4;
static double etail, ew[256], eh[256];
static long ea[256];

static inline uint64_t bits(void) {
    uint64_t total = s0 + s3, result = ((total << 23) | (total >> 41)) + s0, t = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= t;
    s3 = (s3 << 45) | (s3 >> 19);
    return result;
}

static inline double uniform(void) { return (double)(bits() >> 11) * 0x1p-53; }

static inline double exponential(void) {
    for (;;) {
        uint64_t drawn = bits() >> 3;
        long layer = drawn & 0xFF, steps = (long)(drawn >> 8);
        double x = steps * ew[layer];
        if (steps < ea[layer]) return x;
        if (layer == 0) return etail - log1p(-uniform());
        if ((eh[layer - 1] - eh[layer]) * uniform() + eh[layer] < exp(-x)) return x;
    }
}
