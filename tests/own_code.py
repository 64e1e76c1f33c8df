"""Modules of a user's own, written for the tests: a policy and a problem that are edited, imported and sent around."""

from __future__ import annotations

from pathlib import Path

import pytest

from aftereffect.model import catalog
from aftereffect.policies import base

POLICY = '''\
import aftereffect as ae
from HELPER import SHARE


@ae.register
class Lopsided(ae.PlainPolicy):
    """Gives the first arm its share, every round."""

    name = "NAME"

    def ask(self, arrays, t, allocation):
        allocation[:] = (1 - SHARE) / (len(allocation) - 1)
        allocation[0] = SHARE


@ae.register_problem("NAME-world")
def world(random, arms, height=0.8):
    """Arms that all decline."""
    return [ae.LinearDecline(height, 0.1 * k / arms) for k in range(arms)]
'''


@pytest.fixture(autouse=True)
def restored_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is known in that test only."""
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    monkeypatch.setattr(catalog, "_CATALOG", dict(catalog._CATALOG))


def write_module(folder: Path, name: str, share: float = 0.7) -> None:
    """A module `name` with a policy and a problem of that name, and a helper it imports."""
    policy = POLICY.replace("NAME", name.replace("_", "-")).replace("HELPER", f"{name}_helper")
    (folder / f"{name}.py").write_text(policy)
    (folder / f"{name}_helper.py").write_text(f"SHARE = {share}\n")


def spec_of(name: str) -> str:
    """A spec that knows the module by `imports` alone."""
    known = name.replace("_", "-")
    return f"""\
name = "mine"
horizon = 60
runs = 2
checkpoints = 3
imports = ["{name}"]

[[problems]]
family = "{known}-world"
height = [0.6, 0.9]

[[policies]]
policy = "{known}"

[[policies]]
policy = "round-robin"
"""
