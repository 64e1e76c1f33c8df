"""Every public name, one line each: type checkers read this file, and so does `aftereffect` itself when a name is first used.

A policy's line also makes it known by its name.
"""

from aftereffect.errors import AftereffectError as AftereffectError
from aftereffect.errors import CorruptFile as CorruptFile
from aftereffect.errors import MissingParameter as MissingParameter
from aftereffect.errors import UnknownName as UnknownName
from aftereffect.errors import WrongTell as WrongTell
from aftereffect.model.catalog import Family as Family
from aftereffect.model.catalog import family as family
from aftereffect.model.catalog import problem as problem
from aftereffect.model.catalog import register_problem as register_problem
from aftereffect.model.delay import Delay as Delay
from aftereffect.model.drift import Change as Change
from aftereffect.model.drift import Drift as Drift
from aftereffect.model.drift import Season as Season
from aftereffect.model.fairness import Fairness as Fairness
from aftereffect.model.feedback import Noise as Noise
from aftereffect.model.feedback import Shock as Shock
from aftereffect.model.impacts import Discounted as Discounted
from aftereffect.model.impacts import Impact as Impact
from aftereffect.model.impacts import Instant as Instant
from aftereffect.model.impacts import Logistic as Logistic
from aftereffect.model.impacts import MonotoneTable as MonotoneTable
from aftereffect.model.impacts import OwnImpact as OwnImpact
from aftereffect.model.impacts import Power as Power
from aftereffect.model.impacts import Smoothed as Smoothed
from aftereffect.model.impacts import Window as Window
from aftereffect.model.problem import Problem as Problem
from aftereffect.model.responses import Bump as Bump
from aftereffect.model.responses import Gaussian as Gaussian
from aftereffect.model.responses import LinearDecline as LinearDecline
from aftereffect.model.responses import Response as Response
from aftereffect.model.responses import SaturatingRise as SaturatingRise
from aftereffect.model.responses import Scaled as Scaled
from aftereffect.model.responses import Table as Table
from aftereffect.model.responses import Tabulated as Tabulated
from aftereffect.model.responses import Tent as Tent
from aftereffect.model.units import whole_units as whole_units
from aftereffect.oracle.best_fixed import BestFixed as BestFixed
from aftereffect.oracle.best_fixed import best_fixed as best_fixed
from aftereffect.oracle.levels import best_levels as best_levels
from aftereffect.policies.action_ucb import ActionUCB as ActionUCB
from aftereffect.policies.action_ucb import OneArmUCB as OneArmUCB
from aftereffect.policies.agent import Agent as Agent
from aftereffect.policies.base import PlainPolicy as PlainPolicy
from aftereffect.policies.base import Policy as Policy
from aftereffect.policies.base import policy as policy
from aftereffect.policies.base import register as register
from aftereffect.policies.cucb import CUCB as CUCB
from aftereffect.policies.curve_thompson import CurveThompson as CurveThompson
from aftereffect.policies.d_ucb import DUCB as DUCB
from aftereffect.policies.exp3 import Exp3 as Exp3
from aftereffect.policies.exp3 import MetaExp3 as MetaExp3
from aftereffect.policies.fair_thompson import FairThompson as FairThompson
from aftereffect.policies.kl_ucb import KLUCB as KLUCB
from aftereffect.policies.lipschitz import LipschitzElimination as LipschitzElimination
from aftereffect.policies.lipschitz import LipschitzUCB as LipschitzUCB
from aftereffect.policies.phased import HistoryUCB as HistoryUCB
from aftereffect.policies.phased import Phased as Phased
from aftereffect.policies.quadratic import QuadraticFit as QuadraticFit
from aftereffect.policies.recommend import recommended as recommended
from aftereffect.policies.setting import Setting as Setting
from aftereffect.policies.simple import Fixed as Fixed
from aftereffect.policies.simple import RoundRobin as RoundRobin
from aftereffect.policies.storage import load_agent as load_agent
from aftereffect.policies.sw_ucb import SWUCB as SWUCB
from aftereffect.policies.thompson import Thompson as Thompson
from aftereffect.policies.thompson_split import ThompsonSplit as ThompsonSplit
from aftereffect.policies.ucb1 import UCB1 as UCB1
from aftereffect.programs.program import Program as Program
from aftereffect.programs.store import Store as Store
from aftereffect.programs.store import open_store as open_store
from aftereffect.records.advice import Advice as Advice
from aftereffect.records.fit import Fit as Fit
from aftereffect.records.fit import fit as fit
from aftereffect.records.reading import read_records as read_records
from aftereffect.records.table import Records as Records
from aftereffect.report.plot import plot as plot
from aftereffect.service.client import Client as Client
from aftereffect.simulation.loading import load_result as load_result
from aftereffect.simulation.result import Comparison as Comparison
from aftereffect.simulation.result import Result as Result
from aftereffect.simulation.simulate import simulate as simulate
from aftereffect.simulation.steps import Worlds as Worlds
from aftereffect.theory.dynamic import dynamic_optimum as dynamic_optimum
from aftereffect.theory.dynamic import dynamic_upper_bound as dynamic_upper_bound
from aftereffect.theory.fair import FairOptimum as FairOptimum
from aftereffect.theory.fair import Unattainable as Unattainable
from aftereffect.theory.fair import arm_multipliers as arm_multipliers
from aftereffect.theory.fair import fair_frontier as fair_frontier
from aftereffect.theory.fair import fair_optimum as fair_optimum

__version__: str
__all__: list[str]
HOMES: dict[str, str]
