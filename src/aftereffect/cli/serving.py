"""`serve` and `token`: what they do."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Any

from aftereffect.cli.outcome import show_json
from aftereffect.errors import AftereffectError


def run_service(store: str | None, sample: bool, quiet: bool, **binding: Any) -> None:
    """Serve a store, with a sample program in it if wanted."""
    try:
        from aftereffect.service.run import Binding, serve
        from aftereffect.service.sample import sample_program
        from aftereffect.service.tokens import Tokens
    except ImportError as error:
        raise AftereffectError(f"the service needs more: pip install 'aftereffect[service]' ({error})") from None
    place = Binding(**binding)
    if sample:
        from aftereffect.programs.store import open_store

        with closing(open_store(store)) as opened:
            program = sample_program(opened)
            token = Tokens(opened.database).create("operator", program.name, "sample visitor", days=1)
        print(f"A sample program is at {place.url}/programs/{program.name}; log in with {token}", file=sys.stderr)
    serve(store, place, quiet)


def create_token(store: str | None, role: str, program: str | None, label: str, days: float, json: bool) -> None:
    """Make a token and show it this once."""
    from aftereffect.programs.store import open_store
    from aftereffect.service.tokens import Tokens

    with closing(open_store(store)) as opened:
        if program is not None:
            opened.program(program)
        token = Tokens(opened.database).create(role, program, label, days)
    if json:
        show_json({"token": token, "role": role, "program": program})
    else:
        print(token)


def list_tokens(store: str | None, json: bool) -> None:
    """Every token, without what is secret."""
    from aftereffect.programs.store import open_store
    from aftereffect.service.tokens import Tokens, day

    with closing(open_store(store, create=False)) as opened:
        rows = Tokens(opened.database).list()
    if json:
        show_json({"tokens": rows})
        return
    for row in rows:
        state = "revoked" if row["revoked"] else f"until {day(row['expires'])}"
        used = f"used {day(row['last_used'])}" if row["last_used"] else "never used"
        print(f"{row['id']}  {row['role']:8}  {row['program'] or 'all programs'}  {row['label']}  {state}, {used}")


def revoke_token(store: str | None, identity: str) -> None:
    """End a token."""
    from aftereffect.programs.store import open_store
    from aftereffect.service.tokens import Tokens

    with closing(open_store(store, create=False)) as opened:
        Tokens(opened.database).revoke(identity)
