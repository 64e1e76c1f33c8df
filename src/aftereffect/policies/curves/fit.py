"""Response curves fitted to booked observations: level, shape and noise of every arm, and draws from what is believed.

An arm's curve is a level plus a field (`field`) that reverts to zero where nothing was seen, so an estimate never runs on as a
straight line into a range nobody has visited: it goes back to the arm's own level, and its deviation grows. How long and how
large fields are is chosen by the evidence of all arms together. Some fields *lean*: arms then have a slope in common, so that
what a few arms showed, that responses rise with the share or tire of it, is expected of the others too. Fields that *rise* do
so before anything is seen: a group's standing is expected to grow with its share, in proportion, until the data say otherwise.
Sizes are relative to the `scale` that rewards suggest: their mean where rates are low, the deviation of a coin elsewhere.

Observations are booked at the node nearest to the impact they were made at: `booked` is (arms, nodes), see BOOKED. The
precision of an observation is that of a coin with the mean foretold for it (`noise`, (arms, nodes)), so it does not depend on
what came, nor on where another model of the impact books it; a fit's weight has the round's shock in it too. `spread` says for
every arm how rewards scatter compared with a coin, and the variance that a round adds whatever the number of observations.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from aftereffect._by_address import passed_by_address
from aftereffect._compile import helper, in_python, kernel
from aftereffect._random import Words, uniform
from aftereffect.model.curves import Floats, Records
from aftereffect.policies.curves.field import (
    colour,
    factorise,
    prior_precisions,
    refresh_white,
    solve,
    solve_both,
    variances,
)

LENGTHS = (0.12, 0.3, 0.8, 2.0)  # over which a curve forgets what it was: from kinks to nearly straight lines
AMPLITUDES = (0.1, 0.3, 0.9)  # of the scale: how far a curve strays from its level
STEEP = (0.3, 0.9)  # the exploring field: as wide as curves get, without excluding bumps
LEVEL = 0.8  # of the scale: how far arms' levels lie apart
# length and amplitude from which on a field is tried with slopes too: others follow any line themselves
LEANING = (0.8, 0.3)
SHARED = 0.7  # deviation of the slope that all arms have in common, in an arm's rate for a whole share
OWN = 0.2  # and of an arm's own part of it
PROPORTIONAL = 1.0  # the slope that is expected where curves rise, in an arm's rate over the share it was seen at
EASES = 0.4  # share, from the middle of what was seen, over which a slope goes on
LEAST_NOISE = 1e-4  # variance of a coin: rewards that were all alike so far still vary a little
RARE = 0.1  # of the typical coin's variance: no place scatters less, or one rare failure would decide on a memory
LEAST_DISPERSION = 1e-4  # of the coin's variance
MISFIT = (
    1e-8  # variance of a node's mean whatever its rounds: the curve between two nodes is not known better than to 1e-4
)
MOST_REVIEWED = 20_000  # nodes whose evidence is weighed in one review: it bounds the slowest decision

# in how many rounds, how many, their precision, means and squares weighted by it; weight and weighted means as a fit reads them
BOOKED = np.dtype([(name, "f8") for name in ("rounds", "count", "precision", "pulled", "square", "weight", "pull")])
SPREAD = np.dtype([("dispersion", "f8"), ("shock", "f8")])
FIELD = np.dtype([("length", "f8"), ("amplitude", "f8"), ("determinant", "f8"), ("leans", "i8"), ("rise", "f8")])
BELIEF = np.dtype([("rate", "f8"), ("scale", "f8")])
PLACES = 10  # ranges of shares that count alike for how far curves may lie from the typical rate
LEAST_RATE, MOST_RATE = 1e-4, 0.98  # that are believed typical: curves have to have room to differ from it


class Posterior(NamedTuple):
    """Every arm's curve as fitted, (arms, nodes) each: the level's `tilt` is by how much a curve moves with its arm's level."""

    diagonal: Floats  # the factorised precision, see field
    beside: Floats
    second: Floats
    mean: Floats
    tilt: Floats
    variance: Floats
    sure: Floats  # (arms,): the precision of each arm's level
    lift: Floats  # what a slope of one adds to the curve
    told: Floats  # (arms,): how precisely the arm's data tell its slope
    tug: Floats  # (arms,): that precision times what they say
    lean: Floats  # (arms,): the slope's variance
    # workspace: what one arm's fit reads, (nodes,)
    weight: Floats
    pull: Floats


passed_by_address(Posterior)


def empty_posterior(arms: int, nodes: int) -> Posterior:
    """Room for the curves of so many arms."""
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(Posterior._fields, (arms, nodes))
    shapes |= dict.fromkeys(("weight", "pull"), (nodes,)) | dict.fromkeys(("sure", "told", "tug", "lean"), (arms,))
    return Posterior(**{name: np.zeros(shape) for name, shape in shapes.items()})


def fresh_spread(arms: int) -> Records:
    """Before anything was seen rewards scatter as coins do."""
    return np.array([(1.0, 0.0)] * arms, dtype=SPREAD)


def fields_tried(nodes: int, leaning: bool = True) -> Records:
    """The fields that the evidence chooses from, the exploring one first; those that lean, if any, last."""
    pairs = [STEEP, *((length, size) for length in LENGTHS for size in AMPLITUDES if (length, size) != STEEP)]
    fields = [(length, size, prior_determinant(length, nodes), 0, 0.0) for length, size in pairs]
    fields += [(*f[:3], 1, 0.0) for f in fields if leaning and f[0] >= LEANING[0] and f[1] >= LEANING[1]]
    return np.array(fields, dtype=FIELD)


def fields_that_rise(nodes: int) -> Records:
    """The same for curves that are expected to rise with the share: all of them lean, around that slope."""
    fields = fields_tried(nodes, leaning=False)
    fields["leans"], fields["rise"] = 1, PROPORTIONAL
    return fields


@cache
def prior_determinant(length: float, nodes: int) -> float:
    """Log determinant of the prior's precisions at amplitude one; by the interpreter, sooner than two kernels are compiled."""
    diagonal, beside, second, unseen = np.zeros((4, nodes))
    in_python(prior_precisions)(length, 1.0, diagonal, beside, second)
    return float(in_python(factorise)(diagonal, beside, second, unseen))


@helper
def node_of(impact: float, steps: int) -> int:
    """The node nearest to an impact."""
    return min(steps, int(impact * steps + 0.5))


@helper
def book(booked: Any, k: int, impact: float, seen: float, reward: float, noise: float, shock: float) -> None:
    """Book a round's observations of arm k at an impact, with the variances foretold for one of them and for the round."""
    here = booked[k, node_of(impact, booked.shape[1] - 1)]
    precision, weight = seen / noise, 1.0 / (noise / seen + shock)
    here.rounds += 1.0
    here.count += seen
    here.precision += precision
    here.pulled += precision * reward
    here.square += precision * reward * reward
    here.weight += weight
    here.pull += weight * reward


@kernel
def renew_scale(booked: Any, belief: Any) -> None:
    """The typical rate, each arm's mean counting alike, and how far curves may lie from it.

    Where rates are low that is by the rate of a typical place too, not only of where most rewards come from: else what was
    seen elsewhere would look less and less possible the longer one stays where responses are low.
    """
    total, at_places, arms, seen = 0.0, 0.0, 0.0, 0.0
    for k in range(booked.shape[0]):
        count, precision, pulled = 0.0, 0.0, 0.0
        for i in range(booked.shape[1]):
            count += booked[k, i].count
            precision += booked[k, i].precision
            pulled += booked[k, i].pulled
        if count > 0.0:
            trust = count / (count + 4.0)
            total += trust * pulled / precision
            at_places += trust * rate_of_places(booked[k], belief.scale)
            arms += trust
            seen += count
    doubt = 1.0 / (1.0 + seen)  # before any data the rate may be anything
    rate = min(MOST_RATE, max(LEAST_RATE, (total + doubt * 0.5) / (arms + doubt)))
    belief.rate = rate
    belief.scale = min(max(rate, (at_places + doubt * 0.5) / (arms + doubt)), math.sqrt(rate * (1.0 - rate)))


@kernel
def rate_of_places(booked: Any, scale: float) -> float:
    """An arm's mean reward where it was seen: every place counts alike, as far as its mean is known to within the scale."""
    nodes, weight, rate = booked.shape[0], 0.0, 0.0
    for place in range(PLACES):
        precision, pulled = 0.0, 0.0
        for i in range(place * nodes // PLACES, (place + 1) * nodes // PLACES):
            precision += booked[i].precision
            pulled += booked[i].pulled
        if precision * scale * scale > 0.0:  # what was all but forgotten says nothing
            known = 1.0 / (1.0 + 1.0 / (precision * scale * scale))
            weight += known
            rate += known * pulled / precision
    return float(rate / weight) if weight > 0.0 else 0.0


@helper
def precision_of(weight: float, dispersion: float) -> float:
    """Precision of the mean reward booked at a node, as a value of the curve there."""
    return weight / (dispersion + weight * MISFIT)


@helper
def line_at(x: float) -> float:
    """A line of slope one that levels off: far from where anybody looked a slope says little."""
    return EASES * math.tanh(x / EASES)


@kernel
def slope_of(posterior: Posterior, k: int, belief: Any, rise: float) -> None:
    """What arm k's data tell of its slope, within `fit_arm`: a regression of what the fit leaves over on a line.

    The line goes through the middle of what was seen. Its unit is the arm's rate for a whole share; where curves are expected
    to rise, for as much as was seen, which is in proportion. `lift` is that line less the fit to it.
    """
    weight, pull, mean, tilt = posterior.weight, posterior.pull, posterior.mean[k], posterior.tilt[k]
    lift, nodes, off = posterior.lift[k], weight.shape[0], LEVEL * belief.scale
    total, place, rest = 0.0, 0.0, 0.0
    for i in range(nodes):
        total += weight[i]
        place += weight[i] * i / (nodes - 1)
        rest += pull[i]
    place = place / total if total > 0.0 else 0.5
    unit = max(0.0, belief.rate + rest / (total + 1.0 / (off * off)))
    if rise > 0.0:
        unit /= max(place, 1.0 / (nodes - 1))
    left = 0.0
    for i in range(nodes):
        lift[i] = weight[i] * unit * line_at(i / (nodes - 1) - place)
        left += lift[i] * tilt[i]
    solve(posterior.diagonal[k], posterior.beside[k], posterior.second[k], lift)
    level, told, tug = left / posterior.sure[k], 0.0, 0.0
    for i in range(nodes):
        line = unit * line_at(i / (nodes - 1) - place)
        lift[i] = line - lift[i] - level * tilt[i]
        told += weight[i] * line * lift[i]
        tug += line * (pull[i] - weight[i] * (mean[i] - belief.rate))
    posterior.told[k], posterior.tug[k] = told, tug


@kernel
def lean_together(posterior: Posterior, first: int, looked: int, rise: float) -> float:
    """Add to some arms' curves the slope that they have in common and their own part of it, around an expected `rise`.

    Gives the log evidence of that.
    """
    arms, own = posterior.told.shape[0], OWN * OWN
    known, said, evidence = 1.0 / (SHARED * SHARED), 0.0, 0.0
    for step in range(looked):
        k = (first + step) % arms
        told, tug = posterior.told[k], posterior.tug[k] - rise * posterior.told[k]
        follow = 1.0 / (1.0 + own * told)  # how far an arm's slope goes where that of all arms goes
        known += follow * told
        said += follow * tug
        evidence += own * follow * tug * tug + math.log(follow) + rise * (posterior.tug[k] + tug)
    for step in range(looked):
        k = (first + step) % arms
        follow = 1.0 / (1.0 + own * posterior.told[k])
        slope = rise + follow * said / known + own * follow * (posterior.tug[k] - rise * posterior.told[k])
        posterior.lean[k] = follow * follow / known + own * follow
        for i in range(posterior.mean.shape[1]):
            posterior.mean[k, i] += slope * posterior.lift[k, i]
    return float(0.5 * (evidence + said * said / known - math.log(known * SHARED * SHARED)))


@kernel
def fit_arm(booked: Any, k: int, spread: Any, field: Any, belief: Any, posterior: Posterior) -> float:
    """Arm k's posterior but for its slope and its variance; gives its log evidence.

    Given the level l the mean is l tilt + rest, with tilt = 1 - A^-1 w: where much was seen, the level says nothing.
    Evidence leaves out what a track cannot change, the rewards' squares by their own precision. What a node's misfit takes
    from that is `within`: without it a track that books all in one place would gain or lose by the misfit alone.
    """
    weight, pull, dispersion, within = posterior.weight, posterior.pull, spread[k].dispersion, 0.0
    for i in range(weight.shape[0]):
        here = booked[k, i]
        weight[i], pull[i] = precision_of(here.weight, dispersion), 0.0
        if weight[i] > 0.0:
            rest = here.pull / here.weight - belief.rate
            full = here.weight / dispersion
            pull[i] = weight[i] * rest
            within += (full - weight[i]) * rest * rest - math.log(full / weight[i])
    diagonal, beside, second = posterior.diagonal[k], posterior.beside[k], posterior.second[k]
    mean, tilt = posterior.mean[k], posterior.tilt[k]
    nodes, amplitude, off = weight.shape[0], field.amplitude * belief.scale, LEVEL * belief.scale
    prior_precisions(field.length, amplitude, diagonal, beside, second)
    sure, left = 1.0 / (off * off), 0.0
    for i in range(nodes):
        mean[i] = pull[i]
        tilt[i] = weight[i]
        sure += weight[i]
        left += pull[i]
    determinant, explained, by_level = solve_both(diagonal, beside, second, weight, mean, tilt)
    sure -= by_level
    for i in range(nodes):
        left -= tilt[i] * pull[i]
    level = left / sure
    for i in range(nodes):
        tilt[i] = 1.0 - tilt[i]
        mean[i] += belief.rate + level * tilt[i]
    prior = field.determinant - 2.0 * nodes * math.log(amplitude) - 2.0 * math.log(off)
    posterior.sure[k], posterior.lean[k] = sure, 0.0
    if field.leans == 1:
        slope_of(posterior, k, belief, field.rise)
    return float(0.5 * (explained + level * left - determinant - math.log(sure) + prior + within))


@kernel
def spread_of(posterior: Posterior, k: int) -> None:
    """Arm k's variances, after `fit_arm`."""
    tilt, variance, sure = posterior.tilt[k], posterior.variance[k], posterior.sure[k]
    lift, lean = posterior.lift[k], posterior.lean[k]
    variances(posterior.diagonal[k], posterior.beside[k], posterior.second[k], variance)
    for i in range(tilt.shape[0]):
        variance[i] += tilt[i] * tilt[i] / sure
        if lean > 0.0:
            variance[i] += lean * lift[i] * lift[i]


@kernel
def covariances(posterior: Posterior, k: int, node: int, column: Floats) -> None:
    """Covariance of arm k's curve at every node with that at one, after `fit_arm`."""
    tilt, sure = posterior.tilt[k], posterior.sure[k]
    for i in range(column.shape[0]):
        column[i] = 0.0
    column[node] = 1.0
    solve(posterior.diagonal[k], posterior.beside[k], posterior.second[k], column)
    lift, lean = posterior.lift[k], posterior.lean[k]
    for i in range(column.shape[0]):
        column[i] += tilt[i] * tilt[node] / sure
        if lean > 0.0:
            column[i] += lean * lift[i] * lift[node]


@kernel
def fit_all(booked: Any, spread: Any, field: Any, belief: Any, posterior: Posterior) -> None:
    """Every arm's posterior under a field, variances included."""
    for k in range(booked.shape[0]):
        fit_arm(booked, k, spread, field, belief, posterior)
    if field.leans == 1:
        lean_together(posterior, 0, booked.shape[0], field.rise)
    for k in range(booked.shape[0]):
        spread_of(posterior, k)


@helper
def as_response(value: float) -> float:
    """Rewards lie in [0, 1], so curves do."""
    return min(1.0, max(0.0, value))


@kernel
def draw_curves(posterior: Posterior, size: float, kept: float, white: Floats, rng: Words, drawn: Floats) -> None:
    """A curve for every arm; deviations from the mean are `size` times a posterior sample's, `kept` of them the last draw's.

    `white` is (arms, nodes + 1): the noise behind the field, and behind the level.
    """
    for k in range(drawn.shape[0]):
        mean, tilt, curve = posterior.mean[k], posterior.tilt[k], drawn[k]
        nodes = curve.shape[0]
        refresh_white(rng, kept, white[k])
        colour(posterior.diagonal[k], posterior.beside[k], posterior.second[k], white[k, :nodes], curve)
        level = white[k, nodes] / math.sqrt(posterior.sure[k])
        for i in range(nodes):
            curve[i] = as_response(mean[i] + size * (curve[i] + level * tilt[i]))


@kernel
def draw_by_evidence(evidence: Floats, rng: Words) -> int:
    """An index drawn in proportion to exp(evidence)."""
    top, total = -math.inf, 0.0
    for j in range(evidence.shape[0]):
        top = max(top, evidence[j])
    for j in range(evidence.shape[0]):
        total += math.exp(evidence[j] - top)
    mark = uniform(rng) * total
    for j in range(evidence.shape[0]):
        mark -= math.exp(evidence[j] - top)
        if mark < 0.0:
            return j
    return 0


UNSEEN = 0.5  # deviations by which a coin's mean is taken nearer to one half than the exploring field has it
DOUBT = 2.0  # rounds that speak for a coin's noise, over all arms together
ALIKE = 12.0  # rounds that speak for an arm's noise being that of all arms


@kernel
def renew_noise(
    booked: Any, fields: Any, field: int, belief: Any, posterior: Posterior, noise: Floats, spread: Any, counted: bool
) -> None:
    """How much rewards scatter around the curves fitted under a field: as a coin does, times a dispersion, plus a shock."""
    fit_all(booked, spread, fields[field], belief, posterior)
    renew_spread(booked, posterior, spread, counted)
    fit_all(booked, spread, fields[0], belief, posterior)
    renew_coins(posterior, belief, noise)


@kernel
def renew_spread(booked: Any, posterior: Posterior, spread: Any, counted: bool) -> None:
    """Dispersion and shock of every arm.

    Residuals are compared with a coin's, degrees of freedom of the fit subtracted. Less scatter than a coin's makes the
    variance of one observation smaller; more is taken as a shock that all of a round's observations share.
    """
    arms, nodes = booked.shape
    all_found, all_free = DOUBT, DOUBT
    for step in range(2):
        for k in range(arms):
            found, free, shared, rounds = 0.0, 0.0, 0.0, 0.0
            mean, variance = posterior.mean[k], posterior.variance[k]
            for i in range(nodes):
                here = booked[k, i]
                if here.precision > 0.0:
                    rest = here.square - 2.0 * mean[i] * here.pulled + mean[i] * mean[i] * here.precision
                    found += max(0.0, rest)
                    fitted = precision_of(here.weight, spread[k].dispersion) * variance[i]
                    free += here.rounds - min(here.rounds, fitted)
                    rounds += here.rounds
                    shared += here.precision
            if step == 0:
                all_found += found
                all_free += free
            else:
                common = all_found / all_free
                ratio = (found + ALIKE * common) / (free + ALIKE)
                spread[k].dispersion = 1.0 if counted else min(1.0, max(LEAST_DISPERSION, ratio))
                spread[k].shock = max(0.0, ratio - 1.0) * rounds / shared if shared > 0.0 else 0.0


@kernel
def renew_coins(posterior: Posterior, belief: Any, noise: Floats) -> None:
    """A coin's variance m (1 - m) at every place, with the mean m taken nearer to one half.

    A few early rewards of one kind must not pass for certainty, nor a belief in flat curves for knowledge of places nobody has
    been to: one failure there would then decide between two memories. So the exploring field says how far off m may be.
    """
    least = max(LEAST_NOISE, RARE * belief.rate * (1.0 - belief.rate))
    for k in range(noise.shape[0]):
        mean, variance = posterior.mean[k], posterior.variance[k]
        for i in range(noise.shape[1]):
            m, off = as_response(mean[i]), UNSEEN * math.sqrt(variance[i])
            m = min(0.5, m + off) if m < 0.5 else max(0.5, m - off)
            noise[k, i] = max(m * (1.0 - m), least)
