"""Runs in its own environment: PyMC-Marketing's media-mix model and budget optimiser on records, in the usual way.

Reads a JSON line for each case, `{"amounts": [[..]..], "total": [..]}` by rounds, and answers with the split it would take.
"""

import json
import sys
import time
import warnings
from contextlib import redirect_stdout
from importlib.metadata import version

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from pymc_marketing.mmm import GeometricAdstock, LogisticSaturation  # type: ignore[import-not-found]  # noqa: E402
from pymc_marketing.mmm.multidimensional import (  # type: ignore[import-not-found]  # noqa: E402
    MMM,
    MultiDimensionalBudgetOptimizerWrapper,
)

LONGEST = 12  # weeks of carryover
AHEAD = 26  # weeks that the budget is optimised for
SAMPLING = {"chains": 2, "tune": 500, "draws": 500, "cores": 1, "progressbar": False, "random_seed": 1}


def split(amounts: list[list[float]], total: list[float]) -> list[float]:
    """The budget split that the optimiser gives for the weeks to come."""
    table, channels = np.array(amounts), [f"channel_{k}" for k in range(len(amounts[0]))]
    weeks = pd.date_range("2024-01-01", periods=len(table), freq="W-MON")
    data = pd.DataFrame(table, columns=channels).assign(date=weeks)
    model = MMM(
        date_column="date",
        channel_columns=channels,
        target_column="y",
        adstock=GeometricAdstock(l_max=LONGEST),
        saturation=LogisticSaturation(),
    )
    model.fit(data, pd.Series(total, name="y"), **SAMPLING)
    start, end = (str((weeks[-1] + pd.Timedelta(weeks=n)).date()) for n in (1, AHEAD))
    optimiser = MultiDimensionalBudgetOptimizerWrapper(model=model, start_date=start, end_date=end)
    found, _ = optimiser.optimize_budget(budget=float(table.sum(axis=1).mean()))
    shares = np.array([float(found.sel(channel=channel)) for channel in channels])
    return (shares / shares.sum()).tolist()  # type: ignore[no-any-return]


if __name__ == "__main__":
    for line in sys.stdin:
        case, begun = json.loads(line), time.process_time()
        with redirect_stdout(sys.stderr):  # it shows its progress there
            shares = split(case["amounts"], case["total"])
        seconds = time.process_time() - begun
        print(json.dumps({"version": version("pymc-marketing"), "split": shares, "seconds": seconds}), flush=True)
