/* Discounted UCB over base arms. */
#include "world.h"

#define FORGOTTEN 1e-280

typedef struct {
    double discount, xi;
    double counts[MAX_ARMS];
    double sums[MAX_ARMS];
    uint64_t *rng;
} d_ucb;

static inline void ask(d_ucb *p, int64_t arms, double *allocation)
{
    double total = 0.0;
    for (int64_t k = 0; k < arms; k++)
        total += p->counts[k];
    const double spread = total > 1.0 ? 2.0 * sqrt(p->xi * log(total)) : 0.0;
    double best = NEVER;
    int64_t chosen = 0, equals = 0;
    for (int64_t k = 0; k < arms; k++) {
        double index = ALWAYS;
        if (p->counts[k] > FORGOTTEN)
            index = p->sums[k] / p->counts[k] + spread / sqrt(p->counts[k]);
        if (index > best) {
            best = index;
            chosen = k;
            equals = 1;
        } else if (index == best && pick(p->rng, ++equals)) {
            chosen = k;
        }
    }
    for (int64_t k = 0; k < arms; k++)
        allocation[k] = 0.0;
    allocation[chosen] = 1.0;
}

static inline void tell(d_ucb *p, int64_t arms, const round_data *r)
{
    for (int64_t k = 0; k < arms; k++) {
        p->counts[k] = p->discount * p->counts[k] + r->seen[k];
        p->sums[k] = p->discount * p->sums[k] + r->seen[k] * r->reward[k];
    }
}

static inline __attribute__((always_inline)) void
loop(int64_t arms, int64_t rows, const knot *knots, const int64_t *guide, impact *impacts, uint64_t *world_rng,
     uint64_t *policy_rng, double discount, double xi, const int64_t *rounds, int64_t checkpoints, double (*sums)[2])
{
    world w = {arms, rows, knots, guide, impacts, world_rng};
    d_ucb p = {.discount = discount, .xi = xi, .rng = policy_rng};
    record kept = {rounds, checkpoints, sums, 0, {0.0, 0.0}};
    round_data r;
    for (int64_t t = 1; t <= rounds[checkpoints - 1]; t++) {
        ask(&p, arms, r.allocation);
        const utility got = step(&w, &r);
        tell(&p, arms, &r);
        keep(&kept, t, got);
    }
}

void run_d_ucb(int64_t arms, int64_t rows, const knot *knots, const int64_t *guide, impact *impacts,
               uint64_t *world_rng, uint64_t *policy_rng, double discount, double xi,
               const int64_t *rounds, int64_t checkpoints, double (*sums)[2])
{
    loop(arms, rows, knots, guide, impacts, world_rng, policy_rng, discount, xi, rounds, checkpoints, sums);
}

/* The same where the compiler knows that there are two arms, and unrolls. */
void run_d_ucb_two(int64_t arms, int64_t rows, const knot *knots, const int64_t *guide, impact *impacts,
                   uint64_t *world_rng, uint64_t *policy_rng, double discount, double xi,
                   const int64_t *rounds, int64_t checkpoints, double (*sums)[2])
{
    (void)arms;
    loop(2, rows, knots, guide, impacts, world_rng, policy_rng, discount, xi, rounds, checkpoints, sums);
}
