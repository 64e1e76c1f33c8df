"""Which arms are seen in a round, how rewards scatter around their mean, and what drives the impact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from aftereffect.errors import UnknownName, require, require_numbers

Feedback = Literal["independent", "one", "split"]
"""`independent`: each arm is activated with probability its share, on its own (the paper). `one`: a single arm is
activated, drawn from the allocation. `split`: the shares split a resource and every arm with a share is seen."""

Driver = Literal["intended", "realised"]
"""What the impact follows: the shares as deployed (the paper), or the activations that came of them."""

INDEPENDENT, ONE, SPLIT = 0, 1, 2
BERNOULLI, BETA, NONE = 0, 1, 2


def feedback_code(feedback: str) -> int:
    """The number that kernels know a feedback by."""
    names = get_args(Feedback)
    if feedback not in names:
        raise UnknownName("feedback", str(feedback), names)
    return names.index(feedback)


def check_driver(driver: str) -> None:
    """Refuse a driver that does not exist."""
    if driver not in get_args(Driver):
        raise UnknownName("driver", str(driver), get_args(Driver))


@dataclass(frozen=True)
class Noise:
    """How a reward scatters around its mean m: Bernoulli(m), Beta(c m, c (1 - m)) with concentration c, or not at all."""

    kind: Literal["bernoulli", "beta", "none"] = "bernoulli"
    concentration: float = 10.0

    def __post_init__(self) -> None:
        if self.kind not in ("bernoulli", "beta", "none"):
            raise UnknownName("noise", str(self.kind), ("bernoulli", "beta", "none"))
        require_numbers("noise", concentration=self.concentration)
        require(0 < self.concentration < 1e12, f"beta noise: concentration must be above 0, got {self.concentration}")

    @property
    def code(self) -> int:
        return {"bernoulli": BERNOULLI, "beta": BETA, "none": NONE}[self.kind]


def as_noise(value: Noise | str) -> Noise:
    """A noise from its name or itself."""
    return value if isinstance(value, Noise) else Noise(value)  # type: ignore[arg-type]
