/* The world of the benchmark's hand-written loops: independent feedback, discounted impact, tabulated responses,
 * Bernoulli rewards. It draws exactly the numbers that the package's world draws, so regrets can be compared. */
#ifndef WORLD_H
#define WORLD_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#define GUIDE 512
#define MAX_ARMS 16

/* In place of infinities: the loops are compiled for finite numbers, so that maxima vectorise. */
#define NEVER (-DBL_MAX)
#define ALWAYS DBL_MAX

/* Rows of the package's arrays; the names of the fields are its column names. */
typedef struct { double x, y, slope; } knot;
typedef struct { double value, weight, memory; } impact;

typedef struct {
    int64_t arms;
    int64_t rows; /* knots per arm */
    const knot *knots;
    const int64_t *guide;
    impact *impacts;
    uint64_t *rng;
} world;

typedef struct {
    double allocation[MAX_ARMS];
    double seen[MAX_ARMS];
    double reward[MAX_ARMS];
} round_data;

typedef struct { double expected, realised; } utility;

static inline uint64_t rotate(uint64_t word, int by) { return (word << by) | (word >> (64 - by)); }

/* xoshiro256++ */
static inline uint64_t next_word(uint64_t *rng)
{
    const uint64_t result = rotate(rng[0] + rng[3], 23) + rng[0];
    const uint64_t shifted = rng[1] << 17;
    rng[2] ^= rng[0];
    rng[3] ^= rng[1];
    rng[1] ^= rng[2];
    rng[0] ^= rng[3];
    rng[2] ^= shifted;
    rng[3] = rotate(rng[3], 45);
    return result;
}

static inline double unit(uint64_t word) { return (double)(word >> 11) * 0x1p-53; }

/* Reservoir draw among equals. */
static inline int pick(uint64_t *rng, int64_t equals)
{
    return equals == 1 || unit(next_word(rng)) * (double)equals < 1.0;
}

static inline double response(const world *w, int64_t arm, double x)
{
    const knot *at = w->knots + arm * w->rows + w->guide[arm * (GUIDE + 2) + (int64_t)(x * GUIDE)];
    while (x > at[1].x)
        at++;
    return at->y + at->slope * (x - at->x);
}

static inline utility step(world *w, round_data *r)
{
    utility total = {0.0, 0.0};
    for (int64_t k = 0; k < w->arms; k++) {
        const double share = r->allocation[k];
        const int active = unit(next_word(w->rng)) < share;
        const double mark = unit(next_word(w->rng));
        impact *past = &w->impacts[k];
        past->weight = 1.0 + past->memory * past->weight;
        past->value += (share - past->value) * (1.0 / past->weight);
        const double mean = response(w, k, past->value);
        total.expected += share * mean;
        r->seen[k] = active ? 1.0 : 0.0;
        r->reward[k] = active && mark < mean ? 1.0 : 0.0;
        total.realised += r->reward[k];
    }
    return total;
}

/* Sums of both utilities at the checkpoints. */
typedef struct {
    const int64_t *rounds;
    int64_t count;
    double (*sums)[2];
    int64_t place;
    utility total;
} record;

static inline void keep(record *kept, int64_t t, utility got)
{
    kept->total.expected += got.expected;
    kept->total.realised += got.realised;
    if (t == kept->rounds[kept->place]) {
        kept->sums[kept->place][0] = kept->total.expected;
        kept->sums[kept->place][1] = kept->total.realised;
        if (kept->place + 1 < kept->count)
            kept->place++;
    }
}

#endif
