"""The JSON interface: the operations of a program, each with the role it needs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from starlette.responses import JSONResponse, PlainTextResponse

from aftereffect.programs.exporting import exported
from aftereffect.programs.program import Program
from aftereffect.programs.store import Store
from aftereffect.service.beside import beside
from aftereffect.service.bodies import Change, Deployment, Limits, NewArm, NewProgram, NewToken, OldArm, Page, Told
from aftereffect.service.gate import ANY, needs
from aftereffect.service.tokens import Caller, Tokens

router = APIRouter(prefix="/api")
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="The same key again gives the first answer; with another body it is refused.",
    ),
]
After = Annotated[int, Query(ge=0, le=10**15)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Viewer = Annotated[Caller, Depends(needs("viewer"))]
Operator = Annotated[Caller, Depends(needs("operator"))]
Admin = Annotated[Caller, Depends(needs("admin"))]
Anyone = Annotated[Caller, Depends(needs("viewer", ANY))]
AdminOfAll = Annotated[Caller, Depends(needs("admin", None))]


def store_of(request: Request) -> Store:
    """The store that is served."""
    store: Store = request.app.state.store
    return store


def program_of(request: Request, name: str) -> Program:
    """A program, kept folded from one request to the next."""
    return store_of(request).program(name)


def tokens_of(request: Request) -> Tokens:
    """The tokens of the store."""
    tokens: Tokens = request.app.state.gate.tokens
    return tokens


@router.get("/programs", summary="The programs that this token may see")
def list_programs(request: Request, caller: Anyone) -> list[dict[str, Any]]:
    return [row for row in store_of(request).programs() if caller.may("viewer", row["name"])]


@router.post("/programs", status_code=201, summary="Create a program")
def create_program(request: Request, body: NewProgram, caller: AdminOfAll, key: Key = None) -> dict[str, Any]:
    given = body.model_dump(exclude={"name"})
    return store_of(request).create(body.name, **given, by=caller.label, key=key).show()


@router.get("/programs/{name}", summary="A program as it stands", responses={304: {"description": "Not changed"}})
async def show_program(request: Request, name: str, caller: Viewer) -> Any:
    shown = await beside(lambda: program_of(request, name).show())
    tag = f'"{shown["head"]}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    return JSONResponse(shown, headers={"ETag": tag})


@router.post(
    "/programs/{name}/ask",
    summary="The next allocation; asking again gives the same until it is deployed or told",
    response_model=dict[str, Any],
)
async def ask(request: Request, name: str, caller: Operator, key: Key = None) -> Response:
    return JSONResponse(await beside(lambda: program_of(request, name).advise(by=caller.label, key=key)))


@router.post(
    "/programs/{name}/deploy",
    summary="The round has happened; its rewards are to come",
    response_model=dict[str, Any],
)
async def deploy(request: Request, name: str, body: Deployment, caller: Operator, key: Key = None) -> Response:
    shares = body.allocation
    return JSONResponse(
        await beside(lambda: program_of(request, name).note_deployment(shares, by=caller.label, key=key))
    )


@router.post(
    "/programs/{name}/tell",
    summary="What came back: late, in parts, in any order; `replace` corrects",
    response_model=dict[str, Any],
)
async def tell(request: Request, name: str, body: Told, caller: Operator, key: Key = None) -> Response:
    told = body.model_dump()
    return JSONResponse(await beside(lambda: program_of(request, name).tell(**told, by=caller.label, key=key)))


@router.get("/programs/{name}/explain", summary="Why this allocation, in plain data; `words=true`: as text for people")
def explain(request: Request, name: str, caller: Viewer, words: bool = False) -> dict[str, Any]:
    program = program_of(request, name)
    return {"words": program.explain(words=True)} if words else program.explain()


@router.get("/programs/{name}/events", summary="The log, oldest first")
def events(request: Request, name: str, caller: Viewer, after: After = 0, limit: Limit = 100) -> Page:
    found = program_of(request, name).events(after=after, limit=limit)
    return Page(items=found, next=found[-1]["sequence"] if len(found) == limit else None)


@router.get("/programs/{name}/rounds", summary="Round by round: advised, deployed, told")
def rounds(request: Request, name: str, caller: Viewer, after: After = 0, limit: Limit = 100) -> Page:
    program, end = program_of(request, name), after + limit
    return Page(items=program.log_after(after, limit), next=end if end < program.rounds else None)


@router.get("/programs/{name}/limits", summary="Floors and caps")
def limits(request: Request, name: str, caller: Viewer) -> dict[str, Any]:
    return program_of(request, name).limits


@router.put("/programs/{name}/limits", summary="Change floors and caps")
def set_limits(request: Request, name: str, body: Limits, caller: Admin, key: Key = None) -> dict[str, Any]:
    program = program_of(request, name)
    program.set_limits(floors=body.floors, caps=body.caps, by=caller.label, key=key)
    return program.limits


@router.post("/programs/{name}/arms", status_code=201, summary="Open an arm")
def open_arm(request: Request, name: str, body: NewArm, caller: Admin, key: Key = None) -> dict[str, Any]:
    program = program_of(request, name)
    program.open_arm(body.arm, body.share, by=caller.label, key=key)
    return program.show()


@router.post("/programs/{name}/arms/close", summary="Close an arm; it can be opened again")
def close_arm(request: Request, name: str, body: OldArm, caller: Admin, key: Key = None) -> dict[str, Any]:
    program = program_of(request, name)
    program.close_arm(body.arm, by=caller.label, key=key)
    return program.show()


@router.put("/programs/{name}/policy", summary="Decide by another policy from now on")
def set_policy(request: Request, name: str, body: Change, caller: Admin, key: Key = None) -> dict[str, Any]:
    program = program_of(request, name)
    program.set_policy(body.policy, by=caller.label, key=key)
    return program.show()


@router.post("/programs/{name}/archive", summary="End a program; its log stays")
def archive(request: Request, name: str, caller: Admin, key: Key = None) -> dict[str, Any]:
    program = program_of(request, name)
    program.archive(by=caller.label, key=key)
    return program.show()


@router.get("/programs/{name}/audit", summary="Check the chain and recompute every decision")
def audit(
    request: Request, name: str, caller: Viewer, head: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None
) -> dict[str, Any]:
    return program_of(request, name).audit(head).document()


@router.get("/programs/{name}/export", summary="The whole log as a file", response_class=PlainTextResponse)
def export(
    request: Request, name: str, caller: Viewer, format: Annotated[str, Query(pattern="^(csv|jsonl)$")] = "csv"
) -> Response:
    program = program_of(request, name)
    kind = {"csv": "text/csv", "jsonl": "application/x-ndjson"}[format]
    return Response(
        exported(program.events(), f".{format}"),
        media_type=kind,
        headers={"Content-Disposition": f'attachment; filename="rounds.{format}"'},
    )


@router.get("/tokens", summary="Every token, without what is secret")
def list_tokens(request: Request, caller: AdminOfAll) -> list[dict[str, Any]]:
    return tokens_of(request).list()


@router.post("/tokens", status_code=201, summary="Create a token; it is shown this once")
def create_token(request: Request, body: NewToken, caller: AdminOfAll) -> dict[str, str]:
    if body.program is not None:
        program_of(request, body.program)
    return {"token": tokens_of(request).create(body.role, body.program, body.label, body.days)}


@router.delete("/tokens/{identity}", summary="Revoke a token")
def revoke_token(request: Request, identity: str, caller: AdminOfAll) -> dict[str, str]:
    tokens_of(request).revoke(identity)
    return {"revoked": identity}
