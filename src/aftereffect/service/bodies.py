"""What requests hold and answers show, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Reward = Annotated[float, Field(allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Body(BaseModel):
    """Fields that nobody knows are refused: a misspelt one would be lost without a word."""

    model_config = ConfigDict(extra="forbid")


class NewProgram(Body):
    """A program to create."""

    name: Name = Field(examples=["loans"])
    arms: list[Name] = Field(min_length=2, max_length=200, examples=[["north", "centre", "south"]])
    policy: str | None = Field(None, max_length=2000, examples=["curve-thompson:memory_bound=0.95"])
    floors: dict[str, Share] | None = Field(None, examples=[{"north": 0.1}])
    caps: dict[str, Share] | None = None
    units: int | None = Field(None, ge=1, le=10**9, examples=[300])
    reward_range: tuple[Reward, Reward] | None = Field(
        None, examples=[[0, 1]], description="Between which values rewards lie, as they are told and shown."
    )
    seed: int = Field(0, ge=0, le=2**63 - 1)
    start: dict[str, Share] | None = Field(None, examples=[{"north": 0.5, "centre": 0.3, "south": 0.2}])
    step: float | None = Field(None, gt=0, le=1, examples=[0.1])
    caution: float | None = Field(None, ge=0, le=100)
    feedback: str = Field("split", max_length=20)
    horizon: int | None = Field(None, ge=1, le=10**12)


class Deployment(Body):
    """What was really deployed, if not what was advised."""

    allocation: dict[str, Share] | None = Field(None, examples=[{"north": 0.5, "centre": 0.3, "south": 0.2}])


class Told(Body):
    """What came back; arms that are left out have not reported yet. Without rewards: the round's will never come."""

    rewards: dict[str, Reward] | None = Field(examples=[{"north": 0.26}])
    trials: dict[str, Annotated[int, Field(ge=0, le=10**12)]] | None = Field(None, examples=[{"north": 120}])
    measures: dict[str, Share] | None = None
    round: int | None = Field(None, ge=1, le=10**12, examples=[7])
    replace: bool = False


class Limits(Body):
    """Floors and caps of the arms that change."""

    floors: dict[str, Share] | None = Field(None, examples=[{"north": 0.1}])
    caps: dict[str, Share] | None = Field(None, examples=[{"south": 0.6}])


class OldArm(Body):
    """An arm to close."""

    arm: Name = Field(examples=["west"])


class NewArm(OldArm):
    """An arm to open, and what it gets to begin with."""

    share: Share | None = Field(None, examples=[0.1])


class NewToken(Body):
    """A token to create."""

    role: str = Field(examples=["operator"])
    program: Name | None = Field(None, examples=["loans"])
    label: str = Field("", max_length=200, examples=["the cron job"])
    days: float = Field(365.0, gt=0, le=36_500)


class Change(Body):
    """Another policy from now on."""

    policy: str = Field(max_length=2000, examples=["curve-thompson:memory=0.6"])


class Page(BaseModel):
    """A part of a list; `next` is what to pass as `after` for the following one."""

    items: list[dict[str, Any]]
    next: int | None
