"""`aftereffect program ..`: the commands and their options; what they do is in `programs`."""

from __future__ import annotations

from typing import Annotated

import typer

from aftereffect.cli.mistakes import Commands
from aftereffect.cli.reading import read_reward_range, real, shares, whole

program_app = typer.Typer(
    help="Durable programs: decisions that are kept, shared, and can be audited.",
    cls=Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The program.")]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help="The store (default: $AFTEREFFECT_STORE, else aftereffect.db here)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Key = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="Idempotency key: the same again changes nothing and answers the same."),
]
By = Annotated[str | None, typer.Option(metavar="WHO", help="Who does it (default: the user of this machine).")]
Floor = Annotated[list[str] | None, typer.Option(metavar="ARM=x", help="Least share of an arm; may be repeated.")]
Cap = Annotated[list[str] | None, typer.Option(metavar="ARM=x", help="Largest share of an arm; may be repeated.")]


@program_app.command()
def create(
    name: Name,
    arms: Annotated[str, typer.Option(metavar="A,B,C", help="Names of the arms.")],
    policy: Annotated[
        str | None, typer.Option(metavar="NAME[:k=v,..]", help="Policy (default: the one we would use).")
    ] = None,
    floor: Floor = None,
    cap: Cap = None,
    units: Annotated[str | None, typer.Option(metavar="N", help="Units that a round splits.")] = None,
    reward_range: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="Between which values rewards lie (default: 0,1).")
    ] = None,
    records: Annotated[str | None, typer.Option(metavar="FILE", help="A table of past rounds to begin with.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="OURS=THEIRS", help="What that table calls it: round=week, arm=region; may be repeated."),
    ] = None,
    feedback: Annotated[
        str, typer.Option(metavar="split|independent|one", help="Which arms are seen; split: all with a share.")
    ] = "split",
    horizon: Annotated[str | None, typer.Option(metavar="T", help="Rounds to come, if that is known.")] = None,
    step: Annotated[str | None, typer.Option(metavar="x", help="Largest change of a share a round.")] = None,
    start: Annotated[
        list[str] | None, typer.Option(metavar="ARM=x", help="Share held until today; may be repeated.")
    ] = None,
    caution: Annotated[
        str | None, typer.Option(metavar="c", help="How sure to be before leaving what is known to be good.")
    ] = None,
    seed: Annotated[str, typer.Option(metavar="S", help="Seed of the decisions' random numbers.")] = "0",
    key: Key = None,
    by: By = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Create a program."""
    from aftereffect.cli import programs

    unit = read_reward_range(reward_range)
    options = {
        "policy": policy,
        "floors": shares("--floor", floor),
        "caps": shares("--cap", cap),
        "units": whole("--units", units),
        "reward_range": unit,
        "feedback": feedback,
        "horizon": whole("--horizon", horizon),
        "step": real("--step", step),
        "start": shares("--start", start),
        "caution": real("--caution", caution),
        "seed": whole("--seed", seed, 0),
    }
    past = programs.past(records, column or [], unit)
    programs.create(programs.Asked(store, name, json, key, by), arms, past, options)


@program_app.command("import")
def import_file(
    name: Name,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Events as exported (.jsonl), or an agent (.json).")],
    key: Key = None,
    by: By = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Create a program from an exported record, event by event with its hashes, or from a saved agent."""
    from aftereffect.cli import programs

    programs.import_file(programs.Asked(store, name, json, key, by), file)


@program_app.command("list")
def list_programs(store: StoreUrl = None, json: AsJson = False) -> None:
    """List the programs of a store."""
    from aftereffect.cli import programs

    programs.list_all(store, json)


@program_app.command()
def show(name: Name, store: StoreUrl = None, json: AsJson = False) -> None:
    """Show a program: arms, policy, limits, rounds, what waits, the head of its record."""
    from aftereffect.cli import programs

    programs.show_one(programs.Asked(store, name, json))


@program_app.command()
def ask(name: Name, key: Key = None, by: By = None, store: StoreUrl = None, json: AsJson = False) -> None:
    """Ask for the next round's allocation; asking again before the round happened gives the same."""
    from aftereffect.cli import programs

    programs.ask(programs.Asked(store, name, json, key, by))


@program_app.command()
def deploy(
    name: Name,
    allocation: Annotated[
        list[str] | None, typer.Argument(metavar="[ARM=share ..]", help="What was deployed (default: as advised).")
    ] = None,
    key: Key = None,
    by: By = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Say that the round has happened; its rewards come later."""
    from aftereffect.cli import programs

    programs.deploy(programs.Asked(store, name, json, key, by), allocation or [])


@program_app.command()
def tell(
    name: Name,
    rewards: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARM=reward ..]", help="Mean rewards (0.26), or counts: total/trials (31/120)."),
    ] = None,
    round: Annotated[str | None, typer.Option(metavar="N", help="The round (default: the one asked for).")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Correct what was told of the round before.")] = False,
    allocation: Annotated[
        list[str] | None, typer.Option(metavar="ARM=share", help="What was really deployed; may be repeated.")
    ] = None,
    csv: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Read columns arm, reward or successes, trials, round; - is standard input."),
    ] = None,
    unknown: Annotated[bool, typer.Option("--unknown", help="Nothing is known about the round.")] = False,
    key: Key = None,
    by: By = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Tell what came back."""
    from aftereffect.cli import programs

    asked, number = programs.Asked(store, name, json, key, by), whole("--round", round)
    if csv is not None:
        programs.tell_table(asked, csv, rewards or [], number, replace)
    else:
        programs.tell(asked, rewards or [], shares("--allocation", allocation), unknown, number, replace)


@program_app.command()
def explain(name: Name, store: StoreUrl = None, json: AsJson = False) -> None:
    """Say in words why the next advice is what it is; with --json in full, as data."""
    from aftereffect.cli import programs

    programs.explain(programs.Asked(store, name, json))


@program_app.command()
def limits(
    name: Name,
    floor: Floor = None,
    cap: Cap = None,
    key: Key = None,
    by: By = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Show the floors and caps, or change those of some arms from the next round on."""
    from aftereffect.cli import programs

    programs.limits(programs.Asked(store, name, json, key, by), shares("--floor", floor), shares("--cap", cap))


Arm = Annotated[str, typer.Argument(metavar="ARM", help="The arm.")]


@program_app.command("open-arm")
def open_arm(
    name: Name,
    arm: Arm,
    share: Annotated[str | None, typer.Option(metavar="x", help="What it gets to begin with.")] = None,
    key: Key = None,
    by: By = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Take in a new arm, or one that was closed, from the next round on."""
    from aftereffect.cli import programs

    programs.open_arm(programs.Asked(store, name, json, key, by), arm, real("--share", share))


@program_app.command("close-arm")
def close_arm(
    name: Name, arm: Arm, key: Key = None, by: By = None, store: StoreUrl = None, json: AsJson = False
) -> None:
    """Give an arm nothing from the next round on."""
    from aftereffect.cli import programs

    programs.close_arm(programs.Asked(store, name, json, key, by), arm)


@program_app.command()
def policy(
    name: Name,
    policy: Annotated[str, typer.Argument(metavar="POLICY[:k=v,..]", help="The policy from now on.")],
    key: Key = None,
    by: By = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Change the policy: the new one takes in all rounds so far."""
    from aftereffect.cli import programs

    programs.policy(programs.Asked(store, name, json, key, by), policy)


@program_app.command()
def log(
    name: Name,
    after: Annotated[str, typer.Option(metavar="N", help="Only events after this one.")] = "0",
    limit: Annotated[str | None, typer.Option(metavar="N", help="At most so many.")] = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """List what happened, by whom and when."""
    from aftereffect.cli import programs

    programs.log(programs.Asked(store, name, json), whole("--after", after, 0) or 0, whole("--limit", limit))


@program_app.command()
def export(
    name: Name,
    out: Annotated[
        str, typer.Option(metavar="FILE", help="Events as .jsonl, or a row for each round and arm as .csv or .parquet.")
    ],
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Write the record to a file."""
    from aftereffect.cli import programs

    programs.export(programs.Asked(store, name, json), out)


@program_app.command()
def audit(
    name: Name,
    head: Annotated[
        str | None, typer.Option(metavar="HASH", help="A head of the record that was kept elsewhere.")
    ] = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Check the whole record and recompute every decision; exit code 1 if something does not fit."""
    from aftereffect.cli import programs

    if not programs.audit(programs.Asked(store, name, json), head):
        raise typer.Exit(1)


@program_app.command()
def archive(name: Name, key: Key = None, by: By = None, store: StoreUrl = None, json: AsJson = False) -> None:
    """Close a program: it can be read, and nothing more is written."""
    from aftereffect.cli import programs

    programs.archive(programs.Asked(store, name, json, key, by))
