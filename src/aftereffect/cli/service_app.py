"""`aftereffect serve` and `aftereffect token ..`: the commands and their options; what they do is in `serving`."""

from __future__ import annotations

from typing import Annotated

import typer

from aftereffect.cli.mistakes import Commands
from aftereffect.cli.program_app import AsJson, StoreUrl
from aftereffect.cli.reading import read_number, read_real

token_app = typer.Typer(
    help="Tokens of the service: who may do what.", cls=Commands, rich_markup_mode=None, no_args_is_help=True
)


def serve(
    store: StoreUrl = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[str, typer.Option(metavar="PORT", help="Port to listen on.")] = "8337",
    sample: Annotated[
        bool, typer.Option("--sample", help="Add a sample program: a year of a simulated lender.")
    ] = False,
    tls_cert: Annotated[str | None, typer.Option(metavar="FILE", help="Certificate, for HTTPS.")] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Its key.")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front encrypts what comes in and says from where.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log only what goes wrong.")] = False,
) -> None:
    """Serve a store over HTTP: a JSON interface and a dashboard. Make a token first: `aftereffect token create`."""
    from aftereffect.cli.serving import run_service

    run_service(
        store,
        sample,
        quiet,
        host=host,
        port=read_number("--port", port, 0, 65535),
        certificate=tls_cert,
        key=tls_key,
        behind_proxy=behind_proxy,
    )


@token_app.command()
def create(
    role: Annotated[str, typer.Option(metavar="viewer|operator|admin", help="What it may do.")],
    program: Annotated[str | None, typer.Option(metavar="NAME", help="For this program alone (default: all).")] = None,
    label: Annotated[str, typer.Option(metavar="TEXT", help="Whose it is; stands in the log.")] = "",
    days: Annotated[str, typer.Option(metavar="N", help="Days until it expires.")] = "365",
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Create a token. It is shown this once; the store keeps its hash."""
    from aftereffect.cli.serving import create_token

    create_token(store, role, program, label, read_real("--days", days), json)


@token_app.command("list")
def list_all(store: StoreUrl = None, json: AsJson = False) -> None:
    """List tokens: role, program, until when, last use."""
    from aftereffect.cli.serving import list_tokens

    list_tokens(store, json)


@token_app.command()
def revoke(
    identity: Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `token list` shows it.")],
    store: StoreUrl = None,
) -> None:
    """End a token and its sessions."""
    from aftereffect.cli.serving import revoke_token

    revoke_token(store, identity)
