"""The commands and their options; what they do is imported when one runs, so that help is quick."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer

from aftereffect import __version__
from aftereffect.cli.imports import say_in_help, take_imports
from aftereffect.cli.mistakes import CLICK_ERROR, Commands, as_mistake
from aftereffect.cli.program_app import AsJson, program_app
from aftereffect.cli.reading import whole
from aftereffect.cli.service_app import serve, token_app

app = typer.Typer(
    name="aftereffect",
    help="Bandit learning when today's actions change tomorrow's rewards.",
    cls=Commands,
    add_completion=False,
    rich_markup_mode=None,  # plain help: rich's takes as long to import as everything else together
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(program_app, name="program")
app.add_typer(token_app, name="token")
app.command()(serve)


@cache
def _commands() -> Any:
    """All commands, put together once: typer takes longer over it than most commands take."""
    command = typer.main.get_command(app)
    say_in_help(command)
    return command


def execute(arguments: list[str]) -> int:
    """Run a command; every mistake in the arguments is raised as an `AftereffectError`."""
    arguments, modules = take_imports(arguments)
    if modules:
        from aftereffect.plugins import import_modules

        import_modules(modules)
    try:
        code = _commands().main(args=arguments, prog_name="aftereffect", standalone_mode=False)
    except CLICK_ERROR as error:
        raise as_mistake(error) from error
    except typer.Abort as error:  # what some versions of typer make of Ctrl-C, and of the end of a file
        raise (error.__cause__ if isinstance(error.__cause__, EOFError) else KeyboardInterrupt) from error
    return code if isinstance(code, int) else 0


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"aftereffect {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def problems(json: AsJson = False) -> None:
    """List the named problems with their parameters."""
    from aftereffect.cli.listing import list_problems

    list_problems(json)


@app.command()
def policies(json: AsJson = False) -> None:
    """List the policies with their parameters."""
    from aftereffect.cli.listing import list_policies

    list_policies(json)


# Numbers are taken as text and read by `reading.read_number`: it knows 1e5 and names the option in one line.
@app.command()
def simulate(
    problem: Annotated[
        str, typer.Option(metavar="NAME[:k=v,..]", help="Problem, for example gaussian:arms=3,memory=0.2.")
    ],
    policy: Annotated[
        list[str], typer.Option(metavar="NAME[:k=v,..]", help="Policy, for example history-ucb; may be repeated.")
    ],
    horizon: Annotated[str, typer.Option(metavar="T", help="Rounds in a run, for example 100000 or 1e5.")],
    runs: Annotated[str, typer.Option(metavar="R", help="Runs of each policy on each instance.")],
    instances: Annotated[
        str | None,
        typer.Option(
            metavar="I",
            help="Problems to draw from the family (default: one for each run; not with seed= in the problem).",
        ),
    ] = None,
    seed: Annotated[str, typer.Option(metavar="S", help="Seed of the instances and the runs.")] = "0",
    threads: Annotated[str | None, typer.Option(metavar="N", help="Threads (default: all cores).")] = None,
    processes: Annotated[
        str | None, typer.Option(metavar="N", help="Processes in place of threads, for policies in plain Python.")
    ] = None,
    checkpoints: Annotated[
        str, typer.Option(metavar="C", help="Number of rounds, evenly spaced, at which results are kept.")
    ] = "50",
    json: AsJson = False,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write the results, as .parquet, .csv or .json.")
    ] = None,
) -> None:
    """Run policies on a problem and compare their regret.

    All policies face the same random numbers. A problem with seed= among its parameters is that one problem; without it, a
    family whose instances are drawn with --seed. Nested parameters are written phased:inner=cucb(zero=true),memory=0.4
    (in quotes, because of the shell).
    """
    from aftereffect.cli.files import write_results
    from aftereffect.cli.outcome import document, show_json, show_table, tidy
    from aftereffect.cli.progress import progress_bar
    from aftereffect.cli.request import read_request

    numbers = {"horizon": horizon, "runs": runs, "instances": instances, "seed": seed, "checkpoints": checkpoints}
    request = read_request(problem, policy, out, threads=threads, processes=processes, **numbers)
    with progress_bar(request.rounds) as report:
        comparison = request.run(report)
    results = document(request, comparison)
    if json:
        show_json(results)
    else:
        show_table(request, comparison)
    if request.out is not None:
        write_results(request.out, results, lambda: tidy(request, comparison))


OutDirectory = Annotated[
    str | None, typer.Option("--out", metavar="DIR", help="Where results go (default: below out/).")
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler, tcp://host:port, or local:N to start one here.")
]
ThreadCount = Annotated[str | None, typer.Option("--threads", metavar="N", help="Threads (default: all cores).")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start over, even if the directory holds results.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bars.")]
Band = Annotated[
    str, typer.Option(metavar="sd|ci|none", help="Bands in figures: 2 standard deviations, confidence intervals, none.")
]


@app.command()
def run(
    spec: Annotated[str, typer.Argument(metavar="SPEC.toml", help="The experiment.")],
    out: OutDirectory = None,
    check: Annotated[bool, typer.Option("--check", help="Only validate and say what would run, and how long.")] = False,
    fresh: Fresh = False,
    scheduler: Scheduler = None,
    shard: Annotated[
        str | None, typer.Option(metavar="i/n", help="Compute the i-th of n parts, for job arrays.")
    ] = None,
    threads: ThreadCount = None,
    quiet: Quiet = False,
    band: Band = "sd",
) -> None:
    """Run an experiment of your own, described in a TOML file; running again goes on where it stopped."""
    from aftereffect.cli.experiments import check_spec, run_file

    count = _threads(threads)
    if check:
        check_spec(spec, count)
    else:
        run_file(spec, out, scheduler=scheduler, threads=count, piece=shard, fresh=fresh, quiet=quiet, band=band)


@app.command()
def reproduce(
    figure: Annotated[list[str] | None, typer.Argument(metavar="[FIGURE ..]", help="Figures (default: all).")] = None,
    scale: Annotated[str, typer.Option(metavar="quick|paper", help="How many runs.")] = "quick",
    out: OutDirectory = None,
    fresh: Fresh = False,
    scheduler: Scheduler = None,
    threads: ThreadCount = None,
    quiet: Quiet = False,
    band: Band = "sd",
) -> None:
    """Regenerate the paper's figures and say, claim by claim, what holds."""
    from aftereffect.cli.experiments import reproduce_figures

    reproduce_figures(
        figure or [],
        scale,
        out=out,
        scheduler=scheduler,
        threads=_threads(threads),
        fresh=fresh,
        quiet=quiet,
        band=band,
    )


@app.command()
def report(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="Where experiments' results are.")],
    band: Band = "sd",
    log: Annotated[bool, typer.Option("--log", help="Logarithmic axes in figures (the page has a switch).")] = False,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARAMETER",
            help="Also a figure of regret at T against a parameter, such as problem_memory, policy_discount or horizon; "
            "may be repeated.",
        ),
    ] = None,
) -> None:
    """Join what is in a directory: figures, verdicts, one HTML page and one table of all rows."""
    from aftereffect.cli.experiments import report_directory

    report_directory(directory, band, log, against or [])


@app.command()
def arena(
    quick: Annotated[bool, typer.Option("--quick", help="A smoke version of a minute: few short runs.")] = False,
    stress: Annotated[bool, typer.Option("--stress", help="Scenarios in which the policies' model is wrong.")] = False,
    weekly: Annotated[
        bool, typer.Option("--weekly", help="Tens to hundreds of rounds with many units: gains over the even split.")
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:k=v,..]",
            help="Policy; may be repeated (default: all; weekly: the recommended one and baselines). history-ucb, "
            "or weekly the even split, always runs.",
        ),
    ] = None,
    seed: Annotated[str, typer.Option(metavar="S", help="Seed of the instances and the runs.")] = "0",
    out: OutDirectory = None,
    threads: ThreadCount = None,
    docs: Annotated[str | None, typer.Option(metavar="FILE.md", help="Also write the leaderboard as a page.")] = None,
    fresh: Fresh = False,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Run every policy on a fixed set of scenarios and rank them against the paper's; running again goes on where it stopped."""
    from aftereffect.cli.arena import run_the_arena

    run_the_arena(
        quick,
        stress,
        weekly=weekly,
        policies=policy or [],
        seed=seed,
        out=out,
        threads=_threads(threads),
        docs=docs,
        fresh=fresh,
        quiet=quiet,
        as_json=json,
    )


@app.command()
def plan(
    arms: Annotated[str, typer.Option(metavar="K", help="Number of arms.")],
    horizon: Annotated[str, typer.Option(metavar="T", help="Rounds, for example 100000 or 1e5.")],
    memory: Annotated[str | None, typer.Option(metavar="M", help="How strongly the past weighs, in [0, 1).")] = None,
    half_life: Annotated[
        str | None, typer.Option(metavar="ROUNDS", help="Instead of the memory: rounds in which a weight halves.")
    ] = None,
    estimation: Annotated[str, typer.Option(metavar="RHO", help="Share of each phase that counts.")] = "0.2",
    zero: Annotated[bool, typer.Option("--zero", help="Let an arm get nothing.")] = False,
    lipschitz: Annotated[str, typer.Option(metavar="L", help="How steep a response may be.")] = "1",
    json: AsJson = False,
    out: Annotated[
        str | None, typer.Option(metavar="FILE.png", help="Also draw the first phases, as .png, .pdf or .svg.")
    ] = None,
) -> None:
    """Say what history-ucb will do before anybody is affected: grid, phases, exploring, and the paper's bounds."""
    from aftereffect.cli.planning import show_plan

    show_plan(
        arms,
        horizon,
        memory=memory,
        half_life=half_life,
        estimation=estimation,
        zero=zero,
        lipschitz=lipschitz,
        as_json=json,
        out=out,
    )


@app.command()
def frontier(
    problem: Annotated[str, typer.Option(metavar="NAME[:k=v,..]", help="A problem with a fairness measure.")],
    out: OutDirectory = None,
    levels: Annotated[str | None, typer.Option(metavar="N", help="Steps of the grid of shares (default 200).")] = None,
    json: AsJson = False,
) -> None:
    """Say what fairness costs: the best utility at every tolerance, and the allocation that earns it."""
    from aftereffect.cli.frontier import show_frontier

    show_frontier(problem, out, levels, json)


@app.command()
def learn(
    records: Annotated[str, typer.Argument(metavar="RECORDS", help="Past rounds, as CSV or Parquet.")],
    memory: Annotated[
        str | None, typer.Option(metavar="M", help="How strongly the past weighs, where it is known.")
    ] = None,
    memory_bound: Annotated[
        str | None, typer.Option(metavar="M", help="Instead: it is at most this, and estimated (default 0.95).")
    ] = None,
    floor: Annotated[
        list[str] | None, typer.Option(metavar="NAME=x", help="The least share of an arm; may be repeated.")
    ] = None,
    cap: Annotated[
        list[str] | None, typer.Option(metavar="NAME=x", help="The largest share of an arm; may be repeated.")
    ] = None,
    reward_range: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="Between which values rewards lie, if not 0 and 1.")
    ] = None,
    wide: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="For one row a round: {what}_{arm} reads share_north.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="OURS=THEIRS", help="What the table calls it: round=week, arm=region.")
    ] = None,
    tolerance: Annotated[
        str | None, typer.Option(metavar="T", help="How far apart the arms' measures may be, where there are some.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Also write a page and figures there.")] = None,
    json: AsJson = False,
) -> None:
    """Learn from past rounds: curves, the memory, the split we would take, what it should bring and how sure that is."""
    from aftereffect.cli.learn import learn_from

    learn_from(
        records,
        memory,
        memory_bound=memory_bound,
        floors=floor or [],
        caps=cap or [],
        reward_range=reward_range,
        wide=wide,
        columns=column or [],
        tolerance=tolerance,
        out=out,
        as_json=json,
    )


def _threads(text: str | None) -> int | None:
    return whole("--threads", text, 1, 1024)
