"""Which arms are seen in a round, how rewards scatter around their mean, and what drives the impact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from aftereffect.errors import require, require_numbers, require_one_of, shown

Feedback = Literal["independent", "one", "split"]
"""`independent`: each arm is activated with probability its share, on its own (the paper). `one`: a single arm is
activated, drawn from the allocation. `split`: the shares split a resource and every arm with a share is seen."""

Driver = Literal["intended", "realised"]
"""What the impact follows: the shares as deployed (the paper), or the activations that came of them."""

INDEPENDENT, ONE, SPLIT = 0, 1, 2
BERNOULLI, BETA, NONE, CONTINUOUS = 0, 1, 2, 3
NO_SHOCK, COMMON, EACH = 0, 1, 2


def feedback_code(feedback: str) -> int:
    """The number that kernels know a feedback by."""
    names = get_args(Feedback)
    require_one_of("feedback", feedback, names)
    return names.index(feedback)


def resolved_feedback(feedback: Feedback | None, units: int | None) -> Feedback:
    """The feedback, where it is left open: whole units are split over the arms, single rewards are the paper's."""
    if feedback is None:
        return "independent" if units is None else "split"
    feedback_code(feedback)
    require(
        units is None or feedback == "split",
        f"units are split over the arms: feedback must be 'split', got {shown(feedback)}",
    )
    return feedback


def check_driver(driver: str) -> None:
    """Refuse a driver that does not exist."""
    require_one_of("driver", driver, get_args(Driver))


def follows_activations(driver: str, feedback: str) -> bool:
    """Is the impact driven by who was activated? When all are seen in parts, shares and activations are the same."""
    return driver == "realised" and feedback != "split"


NOISES = {"bernoulli": BERNOULLI, "beta": BETA, "none": NONE, "continuous": CONTINUOUS}


@dataclass(frozen=True)
class Noise:
    """How a reward scatters around its mean m: Bernoulli(m), Beta(c m, c (1 - m)) with concentration c, or not at all.

    `continuous` is a Beta too, with a stated `deviation` (at most what the mean allows, sqrt(m (1 - m))).
    """

    kind: Literal["bernoulli", "beta", "none", "continuous"] = "bernoulli"
    concentration: float = 10.0
    deviation: float | None = None

    def __post_init__(self) -> None:
        require_one_of("noise", self.kind, NOISES)
        require_numbers("noise", concentration=self.concentration)
        require(0 < self.concentration < 1e12, f"beta noise: concentration must be above 0, got {self.concentration}")
        if self.kind == "continuous":
            require(self.deviation is not None, "continuous noise needs a deviation, as in continuous(deviation=0.05)")
            _check_deviation("continuous noise", self.deviation)
        else:
            require(self.deviation is None, f"{self.kind} noise has no deviation to give (continuous noise has)")

    @property
    def code(self) -> int:
        return NOISES[self.kind]

    @property
    def spread(self) -> float:
        """The number that kernels draw with: the deviation, or the concentration."""
        return self.concentration if self.deviation is None else float(self.deviation)


def as_noise(value: Noise | str) -> Noise:
    """A noise from its name or itself."""
    return value if isinstance(value, Noise) else Noise(value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Shock:
    """Weeks that are better or worse than the responses say: a normal deviation a round, on top of the noise.

    `common`: one for all arms; `each`: one for every arm on its own. Means stay within [0, 1].
    """

    deviation: float
    kind: Literal["common", "each"] = "common"

    def __post_init__(self) -> None:
        _check_deviation("shock", self.deviation)
        require_one_of("shock", self.kind, ("common", "each"))

    @property
    def code(self) -> int:
        return COMMON if self.kind == "common" else EACH


def as_shock(value: Shock | float | None) -> Shock | None:
    """A shock from itself or from its deviation, common to all arms."""
    require(
        not isinstance(value, str),
        f"shock: a deviation, or by name with one as in each(deviation=0.03), got {shown(value)}",
    )
    return value if value is None or isinstance(value, Shock) else Shock(value)


def _check_deviation(what: str, deviation: object) -> None:
    require_numbers(what, deviation=deviation)
    require(0 < float(deviation) <= 1, f"{what}: deviation must lie in (0, 1], got {shown(deviation)}")  # type: ignore[arg-type]
