"""Plain-Python twins of the policies, written from the paper's equations and kept apart from the package on purpose.

Lists, dicts and `math` only. A twin is told what the policy is told and judges each allocation the policy chose: policies
that draw or break ties with the generator must choose exactly what the twin chooses; policies that search the grid may break
ties their own way, so there the index of the chosen allocation must be the largest of all, found by brute force.

Two conventions cannot come from the paper and are shared with the package: its random generator, and the order in which
options are listed (first arm's share rising slowest), on which the draws among equals depend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

MASK = (1 << 64) - 1
TOLERANCE = 1e-12


class Xoshiro:
    """xoshiro256++ of Blackman and Vigna, on Python's integers."""

    def __init__(self, words: Sequence[int]) -> None:
        self.s = [int(w) for w in words]

    def word(self) -> int:
        s = self.s
        mixed = (s[0] + s[3]) & MASK
        result = (_rotate(mixed, 23) + s[0]) & MASK
        shifted = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = _rotate(s[3], 45)
        return result

    def uniform(self) -> float:
        return (self.word() >> 11) / 2**53

    def normal(self) -> float:
        """Marsaglia's polar method, one of the pair."""
        while True:
            x, y = 2 * self.uniform() - 1, 2 * self.uniform() - 1
            r = x * x + y * y
            if 0 < r < 1:
                return x * math.sqrt(-2 * math.log(r) / r)

    def gamma(self, shape: float) -> float:
        """Marsaglia and Tsang, for shapes from one on."""
        assert shape >= 1
        d = shape - 1 / 3
        while True:
            x = self.normal()
            v = 1 + x / math.sqrt(9 * d)
            if v <= 0:
                continue
            v = v * v * v
            if math.log(1 - self.uniform()) < x * x / 2 + d * (1 - v + math.log(v)):
                return d * v

    def beta(self, a: float, b: float) -> float:
        x, y = self.gamma(a), self.gamma(b)
        return x / (x + y)

    def argmax(self, values: Sequence[float]) -> int:
        """Place of the largest value; each further equal one takes over with chance one over how many there are so far."""
        best, equals = 0, 1
        for i in range(1, len(values)):
            if values[i] > values[best]:
                best, equals = i, 1
            elif values[i] == values[best]:
                equals += 1
                if self.uniform() * equals < 1:
                    best = i
        return best


def _rotate(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & MASK


# Tuning, as the paper has it where it says so.


def action_levels(horizon: float, arms: int, zero: bool) -> int:
    """N = ceil((T / ln T)^(1/3)), without zero at least 2K."""
    levels = math.ceil(math.pow(horizon / math.log(horizon), 1 / 3))
    return levels if zero else max(levels, 2 * arms)


def naive_levels(horizon: float, arms: int) -> int:
    """N = ceil((T / ln T)^(1/(K+1))), the grid with zero."""
    return math.ceil(math.pow(horizon / math.log(horizon), 1 / (arms + 1)))


def settle(memory: float, levels: int, arms: int) -> int:
    """s_a: the fewest rounds after which gamma^s K L* <= eps, with L* = 1 + 1; at least one."""
    s = 1
    while memory**s * arms * 2 > 1 / levels:
        s += 1
    return s


def phase_length(approach: int, estimation: float) -> int:
    """L = max(s_a + 1, round(s_a / (1 - rho)))."""
    return max(approach + 1, round(approach / (1 - estimation)))


def one_hot(arm: int, arms: int) -> list[float]:
    return [float(k == arm) for k in range(arms)]


def allocations(
    arms: int, levels: int, zero: bool, floors: Sequence[float] | None = None, caps: Sequence[float] | None = None
) -> list[tuple[int, ...]]:
    """Every allocation of the grid, in levels, within floors and caps."""
    lows = [max(0 if zero else 1, math.ceil(f * levels - 1e-9)) for f in floors or [0.0] * arms]
    highs = [math.floor(c * levels + 1e-9) for c in caps or [1.0] * arms]
    rows: list[tuple[int, ...]] = [()]
    for low, high in zip(lows, highs, strict=True):
        rows = [(*row, level) for row in rows for level in range(low, high + 1) if sum(row) + level <= levels]
    return [row for row in rows if sum(row) == levels]


class Twin:
    """A policy in plain Python: `choose` an allocation, be `tell`-told, `judge` the compiled policy's choice."""

    def choose(self) -> list[float]:
        raise NotImplementedError

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        """What was deployed, how many observations of each arm there were, and their mean reward."""

    def judge(self, p: list[float]) -> None:
        assert p == self.choose()


# Base arms.


class RoundRobin(Twin):
    def __init__(self, arms: int) -> None:
        self.arms, self.t = arms, 0

    def choose(self) -> list[float]:
        return one_hot(self.t % self.arms, self.arms)

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        self.t += 1


class Fixed(Twin):
    def __init__(self, allocation: list[float]) -> None:
        self.allocation = allocation

    def choose(self) -> list[float]:
        return self.allocation


class Recorder(Twin):
    """Keeps every round, and sums over all of them; an index per arm decides."""

    def __init__(self, arms: int, rng: Xoshiro) -> None:
        self.arms, self.rng = arms, rng
        self.records: list[list[tuple[float, float]]] = []  # rounds, arms: (observations, their summed reward)
        self.counts, self.sums = [0.0] * arms, [0.0] * arms

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        self.records.append([(n, n * r) for n, r in zip(seen, reward, strict=True)])
        for k, (n, total) in enumerate(self.records[-1]):
            self.counts[k] += n
            self.sums[k] += total

    def indices(self) -> list[float]:
        raise NotImplementedError

    def choose(self) -> list[float]:
        return one_hot(self.rng.argmax(self.indices()), self.arms)


class UCB1(Recorder):
    def indices(self) -> list[float]:
        total = sum(self.counts)
        pairs = zip(self.counts, self.sums, strict=True)
        return [s / n + math.sqrt(2 * math.log(total) / n) if n else math.inf for n, s in pairs]


class DUCB(Recorder):
    """Discounted sums, newest record with weight one; n_t is the sum of the discounted counts."""

    def __init__(self, arms: int, rng: Xoshiro, discount: float, xi: float) -> None:
        super().__init__(arms, rng)
        self.xi = xi
        self.weights = [1.0]
        while self.weights[-1] > 1e-40:  # what is older weighs nothing
            self.weights.append(discount ** len(self.weights))

    def indices(self) -> list[float]:
        recent = list(zip(self.weights, reversed(self.records), strict=False))
        counts = [sum(w * row[k][0] for w, row in recent) for k in range(self.arms)]
        sums = [sum(w * row[k][1] for w, row in recent) for k in range(self.arms)]
        log = max(0.0, math.log(sum(counts))) if sum(counts) > 0 else 0.0
        return [
            s / n + 2 * math.sqrt(self.xi * log / n) if n > 0 else math.inf for n, s in zip(counts, sums, strict=True)
        ]


class SWUCB(Recorder):
    def __init__(self, arms: int, rng: Xoshiro, window: int, xi: float) -> None:
        super().__init__(arms, rng)
        self.window, self.xi = window, xi

    def indices(self) -> list[float]:
        recent = self.records[-self.window :]
        counts = [sum(row[k][0] for row in recent) for k in range(self.arms)]
        sums = [sum(row[k][1] for row in recent) for k in range(self.arms)]
        log = math.log(min(len(self.records) + 1, self.window))
        return [s / n + 2 * math.sqrt(self.xi * log / n) if n else math.inf for n, s in zip(counts, sums, strict=True)]


class Thompson(Recorder):
    def indices(self) -> list[float]:
        return [self.rng.beta(s + 1, n - s + 1) for n, s in zip(self.counts, self.sums, strict=True)]


# EXP3, over base arms and over allocations.


class Exp3(Twin):
    """Auer et al. 2002 (mixing), or exponential weights on importance-weighted losses; logarithms of weights are kept."""

    def __init__(self, options: list[list[float]], rng: Xoshiro, rate: float, loss: bool) -> None:
        self.options, self.rng, self.rate, self.loss = options, rng, rate, loss
        self.log_weights = [0.0] * len(options)
        self.drawn, self.chance = 0, 1.0

    def chances(self) -> list[float]:
        top = max(self.log_weights)
        weights = [math.exp(w - top) for w in self.log_weights]
        mix = 0.0 if self.loss else self.rate
        return [(1 - mix) * w / sum(weights) + mix / len(weights) for w in weights]

    def draw(self) -> int:
        """One uniform draw: below the mixing rate it picks uniformly, above it by the weights."""
        u, mix, count = self.rng.uniform(), 0.0 if self.loss else self.rate, len(self.options)
        if u < mix:
            return math.floor(u / mix * count)
        top = max(self.log_weights)
        weights = [math.exp(w - top) for w in self.log_weights]
        mark = (u - mix) / (1 - mix) * sum(weights)
        for i, weight in enumerate(weights):
            if mark < weight:
                return i
            mark -= weight
        return count - 1

    def choose(self) -> list[float]:
        self.drawn = self.draw()
        self.chance = self.chances()[self.drawn]
        return self.options[self.drawn]

    def learn(self, i: int, gain: float, chance: float) -> None:
        if self.loss:
            self.log_weights[i] -= self.rate * (1 - gain) / chance
        else:
            self.log_weights[i] += self.rate * gain / chance / len(self.options)


class ArmExp3(Exp3):
    """Over base arms. An allocation people chose instead, or the distribution itself, shows arm k with chance p_k."""

    def __init__(
        self, arms: int, rng: Xoshiro, rate: float, loss: bool = False, distribution: bool = False, split: bool = False
    ) -> None:
        super().__init__([one_hot(k, arms) for k in range(arms)], rng, rate, loss)
        self.distribution, self.split = distribution, split

    def choose(self) -> list[float]:
        return self.chances() if self.distribution else super().choose()

    def judge(self, p: list[float]) -> None:
        # Shares that come out of thousands of multiplications agree up to rounding; a drawn arm must agree exactly.
        close = 1e-9 if self.distribution else 0.0
        assert all(abs(a - b) <= close for a, b in zip(p, self.choose(), strict=True))

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        if not self.distribution and list(p) == self.options[self.drawn]:
            self.learn(self.drawn, reward[self.drawn], self.chance)
            return
        for k, share in enumerate(p):
            if seen[k]:
                self.learn(k, reward[k], 1.0 if self.split else share)


def gain_of(feedback: str, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> float:
    """A round's utility over the most it can be: K under independent activation, one otherwise."""
    total = 0.0
    for share, n, r in zip(p, seen, reward, strict=True):
        if n:
            total += share * r if feedback == "split" else r
    return total / len(p) if feedback == "independent" else total


class MetaExp3(Exp3):
    """Over allocations; one that people chose instead counts for the nearest, as seen for certain."""

    def __init__(self, options: list[list[float]], rng: Xoshiro, rate: float, loss: bool, feedback: str) -> None:
        super().__init__(options, rng, rate, loss)
        self.feedback = feedback

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        gain = gain_of(self.feedback, p, seen, reward)
        if list(p) == self.options[self.drawn]:
            self.learn(self.drawn, gain, self.chance)
        else:
            self.learn(nearest(self.options, p), gain, 1.0)


def nearest(options: list[list[float]], p: Sequence[float]) -> int:
    distances = [sum(abs(a - b) for a, b in zip(option, p, strict=True)) for option in options]
    return distances.index(min(distances))


# The naive learners of App. D.


class LipschitzUCB(Twin):
    """UCB1 over all allocations."""

    def __init__(self, options: list[list[float]], rng: Xoshiro, feedback: str) -> None:
        self.options, self.rng, self.feedback = options, rng, feedback
        self.counts, self.sums = [0] * len(options), [0.0] * len(options)

    def choose(self) -> list[float]:
        # Whole rewards are summed and divided once, in this order: who ties with whom hangs on the last bit.
        spread = math.sqrt(2 * math.log(max(1, sum(self.counts))))
        most = len(self.options[0]) if self.feedback == "independent" else 1
        pairs = zip(self.counts, self.sums, strict=True)
        return self.options[
            self.rng.argmax([s / (n * most) + spread / math.sqrt(n) if n else math.inf for n, s in pairs])
        ]

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        i = nearest(self.options, p)
        self.counts[i] += 1
        most = len(p) if self.feedback == "independent" else 1
        self.sums[i] += gain_of(self.feedback, p, seen, reward) * most


class LipschitzElimination(Twin):
    """Pass after pass over the options still active; after each, what is surely worse than some other one goes."""

    def __init__(self, options: list[list[float]], horizon: int, feedback: str) -> None:
        self.horizon, self.feedback = horizon, feedback
        self.gains: dict[tuple[float, ...], list[float]] = {tuple(option): [] for option in options}
        self.left = list(self.gains)

    def choose(self) -> list[float]:
        return list(self.left[0])

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        self.gains[self.left.pop(0)].append(gain_of(self.feedback, p, seen, reward))
        if not self.left:
            mean = {option: sum(gains) / len(gains) for option, gains in self.gains.items()}
            radius = {o: math.sqrt(2 * math.log(self.horizon) / len(gains)) for o, gains in self.gains.items()}
            safe = max(mean[o] - radius[o] for o in self.gains)
            self.gains = {o: gains for o, gains in self.gains.items() if mean[o] + radius[o] >= safe}
            self.left = list(self.gains)


# The grid, searched by brute force.


class GridTwin(Twin):
    """Cells (arm, level) and their statistics; `indices` gives the index of each allocation."""

    def __init__(self, arms: int, levels: int, options: list[tuple[int, ...]], feedback: str) -> None:
        self.arms, self.levels, self.options, self.feedback = arms, levels, options, feedback
        self.t = 0  # rounds told
        self.unswept = {(k, level) for option in options for k, level in enumerate(option)}
        self.n: dict[tuple[int, int], float] = {}
        self.total: dict[tuple[int, int], float] = {}
        self.swept_in, self.judged = 0, 0  # choices judged in the sweep, and by their index

    def level(self, share: float) -> int:
        """The level nearest to a share."""
        return min(range(self.levels + 1), key=lambda level: abs(level / self.levels - share))

    def count(self, k: int, share: float, n: float, gained: float) -> None:
        cell = (k, self.level(share))
        self.n[cell] = self.n.get(cell, 0.0) + n
        self.total[cell] = self.total.get(cell, 0.0) + gained
        self.unswept.discard(cell)

    def index(self, option: tuple[int, ...]) -> float:
        raise NotImplementedError

    def judge(self, p: list[float]) -> None:
        chosen = tuple(self.level(share) for share in p)
        assert p == [level / self.levels for level in chosen]
        assert chosen in self.options
        if self.unswept:  # initialisation: an allocation that contains a cell not deployed yet
            assert self.unswept.intersection(enumerate(chosen))
            self.swept_in += 1
            return
        indices = {option: self.index(option) for option in self.options}
        best = max(indices.values())
        slack = TOLERANCE * max(1.0, abs(best))
        assert abs(indices[chosen] - best) <= slack
        self.judged += min(indices.values()) < best - slack  # where all tie, nothing can be wrong


class ActionUCB(GridTwin):
    """Algorithm 1: importance weights (5), means and UCB (6); `inside(t)` stands in the logarithm."""

    def __init__(
        self,
        arms: int,
        levels: int,
        options: list[tuple[int, ...]],
        feedback: str,
        scale: float = 1.0,
        inside: Callable[[int], float] = float,
    ) -> None:
        super().__init__(arms, levels, options, feedback)
        self.scale, self.inside = scale, inside

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        self.t += 1
        for k, share in enumerate(p):
            weighted = 0.0
            if seen[k]:
                weighted = reward[k] if self.feedback == "split" else reward[k] / share
            self.count(k, share, 1, weighted)

    def radius(self, fewest: float) -> float:
        return self.scale * math.sqrt(self.arms * math.log(self.inside(self.t + 1)) / fewest)

    def index(self, option: tuple[int, ...]) -> float:
        cells = list(enumerate(option))
        utility = sum(level / self.levels * self.total[k, level] / self.n[k, level] for k, level in cells)
        return self.radius(min(self.n[cell] for cell in cells)) + utility


class OneArmUCB(ActionUCB):
    """Remark D.6: the radius sqrt(K^2 ln(sqrt(K) t) / n)."""

    def radius(self, fewest: float) -> float:
        return self.scale * math.sqrt(self.arms**2 * math.log(math.sqrt(self.arms) * (self.t + 1)) / fewest)


class CUCB(GridTwin):
    """A bound sqrt(3 ln t / 2n) per cell, n counting activations; a cell without any counts as one reward of one."""

    def __init__(
        self, arms: int, levels: int, options: list[tuple[int, ...]], feedback: str, clip: bool = True
    ) -> None:
        super().__init__(arms, levels, options, feedback)
        self.clip = clip

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        self.t += 1
        for k, share in enumerate(p):
            self.count(k, share, seen[k], seen[k] * reward[k])

    def index(self, option: tuple[int, ...]) -> float:
        result = 0.0
        for k, level in enumerate(option):
            n, total = (self.n[k, level], self.total[k, level]) if self.n[k, level] else (1, 1.0)
            bound = total / n + math.sqrt(3 * math.log(self.t + 1) / (2 * n))
            result += level / self.levels * (min(1.0, bound) if self.clip else bound)
        return result


# KL bounds, held in epochs.


def kl(a: float, b: float) -> float:
    """Kullback-Leibler divergence of Bernoulli(a) from Bernoulli(b), with 0 ln 0 = 0."""
    total = 0.0
    for x, y in ((a, b), (1 - a, 1 - b)):
        if x > 0:
            total += x * math.log(x / y) if y > 0 else math.inf
    return total


def kl_bound(mean: float, budget: float) -> float:
    """The largest q with kl(mean, q) <= budget, by bisection."""
    low, high = mean, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if kl(mean, middle) <= budget:
            low = middle
        else:
            high = middle
    return low


class KLUCB(Twin):
    """Bounds from every window of levels, Lipschitz between levels; a choice is held until a count has grown enough."""

    def __init__(
        self,
        arms: int,
        levels: int,
        options: list[tuple[int, ...]],
        memory: float,
        lipschitz: float,
        delta: float,
        growth: float = 1.2,
        patience: float = 4.0,
    ) -> None:
        self.arms, self.levels, self.options, self.memory = arms, levels, options, memory
        self.lipschitz, self.delta, self.growth = lipschitz, delta, growth
        self.least = math.ceil(patience / (1 - memory))
        self.cells = [[(0.0, 0.0)] * (levels + 1) for _ in range(arms)]  # observations, their summed reward
        self.at_choice = self.cells
        self.shares, self.lag = [0.0] * arms, [1.0] * arms
        self.held: list[float] | None = None
        self.epochs, self.judged = 0, 0

    def pooled(self, k: int, j: int, width: int, chance: float) -> float:
        n, total, farthest = 0.0, 0.0, 0.0
        for i in range(max(0, j - width), min(self.levels, j + width) + 1):
            allowed = self.lipschitz * abs(i - j) / self.levels
            farthest = max(farthest, allowed)
            n += self.cells[k][i][0]
            total += self.cells[k][i][1] + self.cells[k][i][0] * allowed
        if n == 0:
            return 1.0
        mean = min(1.0, total / n / (1 + farthest))
        return (1 + farthest) * kl_bound(mean, math.log(math.sqrt(1 + math.pi * n) / chance) / n)

    def bounds(self, k: int) -> list[float]:
        found = []
        for j in range(self.levels + 1):
            widths = [0] + [2**i for i in range(30) if 2**i <= self.levels]
            each = self.delta / (self.arms * (self.levels + 1))
            found.append(min([1.0] + [self.pooled(k, j, w, each / 2 ** (i + 1)) for i, w in enumerate(widths)]))
        steps = range(self.levels + 1)
        return [min(found[i] + self.lipschitz * abs(i - j) / self.levels for i in steps) for j in steps]

    def judge(self, p: list[float]) -> None:
        if self.held is not None and not self.grown():
            assert p == self.held
            return
        bounds = [self.bounds(k) for k in range(self.arms)]
        worth = {o: sum(j / self.levels * bounds[k][j] for k, j in enumerate(o)) for o in self.options}
        chosen = tuple(round(share * self.levels) for share in p)
        assert p == [level / self.levels for level in chosen]
        best = max(worth.values())
        assert worth[chosen] >= best - TOLERANCE
        self.judged += min(worth.values()) < best - TOLERANCE
        self.held, self.at_choice, self.epochs = p, [list(row) for row in self.cells], self.epochs + 1

    def grown(self) -> bool:
        for row, row_then in zip(self.cells, self.at_choice, strict=True):
            for (now, _), (then, _) in zip(row, row_then, strict=True):
                if now > then and now >= max(self.growth * then, then + self.least):
                    return True
        return False

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        for k, share in enumerate(p):
            self.lag[k] = self.memory * min(1.0, self.lag[k] + abs(share - self.shares[k]))
            self.shares[k] = share
            j = min(range(self.levels + 1), key=lambda level: abs(level / self.levels - share))
            if seen[k] and self.lag[k] + abs(share - j / self.levels) <= (0.5 + 1e-9) / self.levels:
                n, total = self.cells[k][j]
                self.cells[k][j] = (n + seen[k], total + seen[k] * reward[k])


# Phases.


class Phased(Twin):
    """Algorithm 2 around a twin: ask it once a phase, tell it of the rounds after the approach.

    An allocation that people chose instead starts the approach anew: the impact has moved away.
    """

    def __init__(self, inner: Twin, approach: int, length: int, horizon: int) -> None:
        self.inner, self.approach, self.length = inner, approach, length
        self.whole = horizon // length * length
        self.t, self.stood, self.phases = 0, 0, 0
        self.held: list[float] = []
        self.last: list[float] = []

    def judge(self, p: list[float]) -> None:
        if self.t % self.length == 0 and self.t < self.whole:
            self.inner.judge(p)
            self.held, self.stood = p, 0
            self.phases += 1
        assert p == self.held

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        self.stood = self.stood + 1 if self.stood and list(p) == self.last else 1
        self.last = list(p)
        if self.stood > self.approach and self.t < self.whole:
            self.inner.tell(p, seen, reward)
        self.t += 1


class HistoryUCB(GridTwin):
    """Algorithms 2 and 3 in one piece: (7) over Gamma_m, radius scale sqrt(K ln(L rho m) / min n), or ln(L rho) as printed.

    err is the same for every allocation and left out.
    """

    def __init__(
        self,
        arms: int,
        levels: int,
        options: list[tuple[int, ...]],
        feedback: str,
        approach: int,
        length: int,
        horizon: int,
        scale: float,
        printed: bool,
    ) -> None:
        super().__init__(arms, levels, options, feedback)
        self.approach, self.length, self.horizon = approach, length, horizon
        self.scale, self.printed = scale, printed
        self.held: list[float] = []

    def judge(self, p: list[float]) -> None:
        starts = self.t % self.length == 0
        if starts and self.t + self.length <= self.horizon:
            super().judge(p)
            self.held = p
        assert p == self.held

    def tell(self, p: Sequence[float], seen: Sequence[float], reward: Sequence[float]) -> None:
        self.t += 1
        if (self.t - 1) % self.length >= self.approach:  # in Gamma_m
            for k, share in enumerate(p):
                weighted = 0.0
                if seen[k]:
                    weighted = reward[k] if self.feedback == "split" else reward[k] / share
                self.count(k, share, 1, weighted)

    def index(self, option: tuple[int, ...]) -> float:
        cells = list(enumerate(option))
        inside = (self.length - self.approach) * (1 if self.printed else self.t // self.length)
        fewest = min(self.n[cell] for cell in cells)
        utility = sum(level / self.levels * self.total[k, level] / self.n[k, level] for k, level in cells)
        return utility + self.scale * math.sqrt(self.arms * math.log(inside) / fewest)
