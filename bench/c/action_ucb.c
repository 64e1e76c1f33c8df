/* Algorithm 1: UCB over the grid of allocations, the largest index found by the same dynamic programme in O(K N^2). */
#include <string.h>

#include "world.h"

#define MAX_LEVELS 128

typedef double row[MAX_LEVELS];

typedef struct {
    int64_t arms, count; /* count: N, the number of levels */
    int64_t low[MAX_ARMS], high[MAX_ARMS], levels[MAX_ARMS];
    int64_t unswept;
    double factor;
    row deployed[MAX_ARMS], sum[MAX_ARMS], value[MAX_ARMS], root[MAX_ARMS], fresh[MAX_ARMS];
    row plain[MAX_ARMS], taken[MAX_ARMS];
    uint64_t *rng;
} action_ucb;

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }

/* One of the equal best of totals[start..stop], at random. */
static inline int64_t draw_best(const double *totals, int64_t start, int64_t stop, double best, uint64_t *rng)
{
    int64_t chosen = start, equals = 0;
    for (int64_t l = start; l <= stop; l++)
        if (totals[l] == best && pick(rng, ++equals))
            chosen = l;
    return chosen;
}

/* best[b + l] = max over levels l of before[b] + value[l]. */
static void convolve(const double *restrict before, const double *restrict value, double *restrict best,
                     int64_t first, int64_t last, int64_t low, int64_t high, int64_t top)
{
    for (int64_t b = first + low; b <= least(last + high, top); b++)
        best[b] = NEVER;
    for (int64_t l = low; l <= high; l++) {
        const double gain = value[l];
        for (int64_t b = first; b <= least(last, top - l); b++)
            best[b + l] = larger(before[b] + gain, best[b + l]);
    }
}

/* The same, keeping beside it the best that has taken one bonus; budget by budget, which gcc makes the fastest of. */
static void scan_both(const double *restrict before, const double *restrict before_taken,
                      const double *restrict value, const double *restrict root, double scale,
                      double *restrict best, double *restrict best_taken,
                      int64_t first, int64_t last, int64_t low, int64_t high, int64_t top)
{
    row with_bonus;
    for (int64_t l = low; l <= high; l++)
        with_bonus[l] = value[l] + scale * root[l];
    for (int64_t b = first + low; b <= least(last + high, top); b++) {
        double plain = NEVER, taken = NEVER;
        for (int64_t l = most(low, b - last); l <= least(high, b - first); l++) {
            plain = larger(before[b - l] + value[l], plain);
            taken = larger(larger(before_taken[b - l] + value[l], before[b - l] + with_bonus[l]), taken);
        }
        best[b] = plain;
        best_taken[b] = taken;
    }
}

/* The layers of all arms but the last. */
static inline void forward(action_ucb *p, const row *value, double scale, int with_bonus)
{
    int64_t first = 0, last = 0, later = 0;
    for (int64_t k = 1; k < p->arms; k++)
        later += p->low[k];
    for (int64_t k = 0; k < p->arms - 1; k++) {
        const int64_t top = p->count - later, low = p->low[k], high = p->high[k];
        if (k == 0) {
            for (int64_t l = low; l <= least(high, top); l++) {
                p->plain[0][l] = value[0][l];
                p->taken[0][l] = value[0][l] + scale * p->root[0][l];
            }
        } else if (with_bonus) {
            scan_both(p->plain[k - 1], p->taken[k - 1], value[k], p->root[k], scale, p->plain[k], p->taken[k],
                      first, last, low, high, top);
        } else {
            convolve(p->plain[k - 1], value[k], p->plain[k], first, last, low, high, top);
        }
        first += low;
        last = least(last + high, top);
        later -= p->low[k + 1];
    }
}

/* The choices behind the best total, from the last arm to the first. */
static inline void walk_back(action_ucb *p, const row *value, double scale, int with_bonus)
{
    int64_t first = 0, reach = 0, budget = p->count;
    for (int64_t k = 0; k < p->arms - 1; k++) {
        first += p->low[k];
        reach += p->high[k];
    }
    int needs_bonus = with_bonus;
    row totals;
    for (int64_t k = p->arms - 1; k > 0; k--) {
        const int64_t start = most(p->low[k], budget - reach), stop = least(p->high[k], budget - first);
        const double *plain = p->plain[k - 1], *taken = p->taken[k - 1];
        double best = NEVER;
        for (int64_t l = start; l <= stop; l++) {
            const int64_t rest = budget - l;
            if (needs_bonus)
                totals[l] = larger(taken[rest] + value[k][l], plain[rest] + (value[k][l] + scale * p->root[k][l]));
            else
                totals[l] = plain[rest] + value[k][l];
            best = larger(totals[l], best);
        }
        const int64_t chosen = draw_best(totals, start, stop, best, p->rng);
        p->levels[k] = chosen;
        budget -= chosen;
        needs_bonus = needs_bonus && taken[budget] + value[k][chosen] == best;
        first -= p->low[k - 1];
        reach -= p->high[k - 1];
    }
    p->levels[0] = budget;
}

/* Two arms: a scan over the first arm's level. */
static inline void best_pair(action_ucb *p, double scale)
{
    const int64_t count = p->count;
    const int64_t start = most(p->low[0], count - p->high[1]), stop = least(p->high[0], count - p->low[1]);
    row totals;
    double best = NEVER;
    for (int64_t l = start; l <= stop; l++) {
        const double a = p->value[0][l], b = p->value[1][count - l];
        totals[l] = larger((a + scale * p->root[0][l]) + b, a + (b + scale * p->root[1][count - l]));
        best = larger(totals[l], best);
    }
    p->levels[0] = draw_best(totals, start, stop, best, p->rng);
    p->levels[1] = count - p->levels[0];
}

static inline void ask(action_ucb *p, int64_t t, double *allocation)
{
    if (p->unswept > 0) { /* initialisation: the levels that cover the most cells not deployed yet */
        forward(p, p->fresh, 0.0, 0);
        walk_back(p, p->fresh, 0.0, 0);
    } else {
        const double scale = p->factor * sqrt(log((double)t));
        if (p->arms == 2) {
            best_pair(p, scale);
        } else {
            forward(p, p->value, scale, 1);
            walk_back(p, p->value, scale, 1);
        }
    }
    for (int64_t k = 0; k < p->arms; k++)
        allocation[k] = (double)p->levels[k] / (double)p->count;
}

static inline void tell(action_ucb *p, const round_data *r)
{
    for (int64_t k = 0; k < p->arms; k++) {
        const double share = r->allocation[k];
        const int64_t l = (int64_t)(share * (double)p->count + 0.5);
        const double n = p->deployed[k][l] += 1.0;
        const double total = p->sum[k][l] += r->seen[k] > 0.0 ? r->reward[k] / share : 0.0;
        p->value[k][l] = (double)l / (double)p->count * (total / n);
        p->root[k][l] = 1.0 / sqrt(n);
        if (p->fresh[k][l] > 0.0) {
            p->fresh[k][l] = 0.0;
            p->unswept--;
        }
    }
}

void run_action_ucb(int64_t arms, int64_t rows, const knot *knots, const int64_t *guide, impact *impacts,
                    uint64_t *world_rng, uint64_t *policy_rng, double factor, int64_t count, const int64_t *low,
                    const int64_t *high, const int64_t *rounds, int64_t checkpoints, double (*sums)[2])
{
    static _Thread_local action_ucb p;
    memset(&p, 0, sizeof p);
    p.arms = arms;
    p.count = count;
    p.factor = factor;
    p.rng = policy_rng;
    for (int64_t k = 0; k < arms; k++) {
        p.low[k] = low[k];
        p.high[k] = high[k];
        for (int64_t l = low[k]; l <= high[k]; l++)
            p.fresh[k][l] = 1.0;
        p.unswept += high[k] - low[k] + 1;
    }
    world w = {arms, rows, knots, guide, impacts, world_rng};
    record kept = {rounds, checkpoints, sums, 0, {0.0, 0.0}};
    round_data r;
    for (int64_t t = 1; t <= rounds[checkpoints - 1]; t++) {
        ask(&p, t, r.allocation);
        const utility got = step(&w, &r);
        tell(&p, &r);
        keep(&kept, t, got);
    }
}
