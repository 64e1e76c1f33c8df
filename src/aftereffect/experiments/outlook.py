"""What a reproduction means, in sentences that its own verdicts and runs bear out: the others are left unsaid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aftereffect.experiments.figures.judging import Experiments, final
from aftereffect.experiments.parameters import which
from aftereffect.model.impacts import Discounted, Power


@dataclass(frozen=True)
class Remark:
    """A sentence, the verdicts that it rests on, and the number in it if there is one."""

    text: str
    needs: Mapping[str, str]  # claim -> verdict
    number: Callable[[Experiments], float] = lambda _: 1.0  # the remark is made where it is above 0


def _verdicts(word: str, *claims: str) -> dict[str, str]:
    return dict.fromkeys(claims, word)


def _both(*places: str) -> tuple[str, ...]:
    return tuple(f"{place}-{reading}" for place in places for reading in ("lemma", "printed"))


def _saved_by_zero(experiments: Experiments) -> float:
    """What share of its regret the printed radius saves with zero on the grid, five arms and a million rounds."""
    r, problem = experiments["long"], which("gaussian", arms=5, memory=0.4)
    with_zero, without = (which("history-ucb", log="printed", zero=zero) for zero in (True, False))
    return 1.0 - float(final(r, with_zero, problem).mean() / final(r, without, problem).mean())


def _spread_of_printed(experiments: Experiments) -> float:
    """How many times wider the printed radius spreads over runs than the lemmas', less two."""
    r = experiments["fig2c"]
    printed, lemma = (final(r, which("history-ucb", log=log)).std() for log in ("printed", "lemma"))
    return float(printed / lemma) - 2.0


def _earned_by_turns(experiments: Experiments) -> float:
    """What D-UCB earns beyond the best fixed allocation under g(x) = x^2."""
    square = which("gaussian", impact=Discounted(0.4, Power(2)))
    return -float(final(experiments["general"], which("d-ucb"), square).mean())


REMARKS = (
    Remark(
        "**Fig. 2(a), 2(b) and 2(c)** come out as the paper says, in its own reading of the baselines.",
        _verdicts("holds", "2a", "2a-meta", *_both("2b", "2c")),
    ),
    Remark(
        """**At memory .6 and for three arms and more, D-UCB with discount .8 has lower regret than Algorithm 3 at
  T = 100,000.** With that discount D-UCB keeps at most five effective samples and plays the arms in turn, whatever
  they pay. That is not learning: its regret is a straight line. But on this problem an arm that comes up every K
  rounds happens to have, when it is played, an impact close to the responses' peak, so the line is flat; Algorithm
  3's radii, as wide as its proof needs, make it explore almost uniformly for the whole of this horizon.""",
        _verdicts("fails", *_both("2d", "3a", "3b", "3c")),
    ),
    Remark(
        """**At T = 1,000,000** the printed radius has passed D-UCB at memory .6. For four arms and more D-UCB still leads.
  Sublinear beats linear in the end, but with these radii the end is beyond a million rounds.""",
        {
            **_verdicts("holds", "long-memory-.6-log=printed"),
            **_verdicts("fails", *(f"long-{k}-arms-log={log}" for k in (4, 5) for log in ("lemma", "printed"))),
        },
    ),
    Remark(
        """**The grid without zero** costs Algorithm 3 a constant share for three arms and more, where the best allocation
  gives all but two arms nothing: at T = 1,000,000 and five arms the printed radius loses {number:.0%} less with zero.""",
        {},
        _saved_by_zero,
    ),
    Remark(
        """**Fig. 2(a)'s order turns with details** that the paper does not state: CUCB without clipping on the coarser grid of
  its own analysis passes Algorithm 1. With clipped bounds many cells tie; ties are broken at random here.""",
        _verdicts("fails", "2a-options"),
    ),
    Remark(
        """**The printed radius** ln(L rho) is nearly greedy at rho = .2 and sometimes gets stuck: in Fig. 2(c) its spread over
  runs is more than twice that of the lemmas'.""",
        {},
        _spread_of_printed,
    ),
    Remark(
        """**The grid searches** do not pick .8 and 200. All discounts up to .8 come down to playing the arms in turn.""",
        _verdicts("fails", "tuning-d-ucb", "tuning-sw-ucb"),
    ),
    Remark(
        """**A fixed allocation is not always the best one can do.** With g(x) = x^2 (figure `general`) D-UCB's regret is
  negative, -{number:,.0f}: playing the arms in turn earns more than any fixed allocation does; see
  [dynamic.md](dynamic.md).""",
        {},
        _earned_by_turns,
    ),
)


def remarks(verdicts: Sequence[Mapping[str, Any]], experiments: Experiments) -> Iterator[str]:
    """The remarks that these verdicts and runs bear out."""
    found = {v["id"]: v["verdict"] for v in verdicts}
    for remark in REMARKS:
        if any(found.get(claim) != word for claim, word in remark.needs.items()):
            continue
        try:
            number = remark.number(experiments)
        except KeyError:  # its experiment was not run
            continue
        if number > 0:
            yield remark.text.format(number=number)
