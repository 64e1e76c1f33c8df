"""`make demo`: the paper's algorithms beside their baselines on the paper's own problem, in a table and a picture."""

from __future__ import annotations

import argparse
import time
from pathlib import Path


def main() -> None:
    """Simulate, print the tables, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/demo"))
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--instances", type=int, default=10)
    parser.add_argument("--runs", type=int, default=4)
    arguments = parser.parse_args()
    show(arguments.out, arguments.horizon, arguments.instances, arguments.runs)


def show(out: Path, horizon: int, instances: int, runs: int) -> Path:
    """Run both halves of the paper's main figure; gives the picture's path."""
    import matplotlib
    from rich.console import Console

    import aftereffect as ae

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    console = Console()
    console.print("[bold]Aftereffect[/bold]: the paper's algorithms and baselines on the paper's own problem")
    console.print("(the first run compiles the simulator for a minute; later ones start at once)\n")
    halves = [
        (
            "Only today's action matters (memory 0), as in Fig. 2(a)",
            0.0,
            [ae.ActionUCB(), ae.CUCB(), ae.MetaExp3(), ae.Exp3()],
        ),
        (
            "The past matters (memory 0.4), as in Fig. 2(c)",
            0.4,
            [ae.HistoryUCB(), ae.HistoryUCB(log="printed"), ae.DUCB(), ae.SWUCB(), ae.Exp3()],
        ),
    ]
    figure, axes = plt.subplots(1, 2, figsize=(13.5, 4.4), layout="constrained")
    for (title, memory, policies), ax in zip(halves, axes, strict=True):
        began = time.perf_counter()
        family = ae.family("gaussian", arms=2, memory=memory)
        comparison = ae.simulate(family, policies, horizon, instances=instances, runs=runs, seed=1)
        rounds = horizon * instances * runs * len(policies)
        seconds = time.perf_counter() - began
        console.print(f"[bold]{title}[/bold]")
        print(comparison)
        console.print(f"  {rounds / 1e6:.0f} million rounds in {seconds:.1f} s\n")
        ae.plot(comparison, title=f"{title}\n{instances} instances x {runs} runs; band: ±2 standard deviations", ax=ax)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "regret.png"
    figure.savefig(path, dpi=110)
    console.print(f"Picture: {path}")
    return path


if __name__ == "__main__":
    main()
