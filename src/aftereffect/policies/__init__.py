"""The policies. Importing this package makes every policy known by its name; a new one adds its line here."""

from aftereffect.policies.action_ucb import ActionUCB, OneArmUCB
from aftereffect.policies.base import policy
from aftereffect.policies.cucb import CUCB
from aftereffect.policies.curve_thompson import CurveThompson
from aftereffect.policies.d_ucb import DUCB
from aftereffect.policies.exp3 import Exp3, MetaExp3
from aftereffect.policies.fair_thompson import FairThompson
from aftereffect.policies.kl_ucb import KLUCB
from aftereffect.policies.lipschitz import LipschitzElimination, LipschitzUCB
from aftereffect.policies.phased import HistoryUCB, Phased
from aftereffect.policies.quadratic import QuadraticFit
from aftereffect.policies.recommend import recommended
from aftereffect.policies.simple import Fixed, RoundRobin
from aftereffect.policies.sw_ucb import SWUCB
from aftereffect.policies.thompson import Thompson
from aftereffect.policies.thompson_split import ThompsonSplit
from aftereffect.policies.ucb1 import UCB1

__all__ = [
    "CUCB",
    "DUCB",
    "KLUCB",
    "SWUCB",
    "UCB1",
    "ActionUCB",
    "CurveThompson",
    "Exp3",
    "FairThompson",
    "Fixed",
    "HistoryUCB",
    "LipschitzElimination",
    "LipschitzUCB",
    "MetaExp3",
    "OneArmUCB",
    "Phased",
    "QuadraticFit",
    "RoundRobin",
    "Thompson",
    "ThompsonSplit",
    "policy",
    "recommended",
]
