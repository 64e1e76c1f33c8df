"""Tables of rewards: what they mean, and one line for whatever is wrong with one."""

from __future__ import annotations

import pytest

import aftereffect as ae
from aftereffect.programs.rewards_table import by_round, read_rewards


def test_what_a_table_means():
    text = ' Round ,Arm,successes,trials\n7,north,31,124\n7,"south, old",0,5\n8,north,"2,5",5\n'
    assert by_round(read_rewards(text)) == {
        7: ({"north": 0.25, "south, old": 0.0}, {"north": 124, "south, old": 5}),
        8: ({"north": 0.5}, {"north": 5}),
    }
    semicolons = "arm;reward;round\nnorth;0,5;2\nsouth;1;2\n"
    assert by_round(read_rewards(semicolons)) == {2: ({"north": 0.5, "south": 1}, None)}
    assert by_round(read_rewards("arm,reward\nnorth,0.5\nsouth,1\n")) == {None: ({"north": 0.5, "south": 1}, None)}
    none = by_round(read_rewards("arm,successes,trials\nnorth,3,4\nsouth,0,0\n"))[None]  # too small a share for a unit
    assert none[1] == {"north": 4, "south": 0}
    assert none[0]["south"] != none[0]["south"]
    mixed = "arm,reward,trials\nnorth,0.5,80\nsouth,1,\n"  # an arm without trials is one observation
    assert by_round(read_rewards(mixed)) == {None: ({"north": 0.5, "south": 1}, {"north": 80, "south": 1})}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "got none"),
        ("arm,reward\n", "no rows"),
        ("arm,reward,successes,trials\na,1,1,1\n", "columns arm and reward"),
        ("arm,reward,trails\na,1,5\n", "got arm, reward, trails"),
        ("arm,successes\na,1\n", "successes need trials"),
        ("arm,successes,trials\na,1,\n", "line 2: successes need trials"),
        ("arm,successes,trials\na,6,5\n", "line 2: successes lie between 0 and the trials, 5, got 6"),
        ("arm,reward\na,1.2\n", "line 2: a mean reward lies between 0 and 1, got 1.2"),
        ("arm,reward\na,nan\n", "line 2: reward must be a number, got 'nan'"),
        ("arm,reward,trials\na,1,0\n", "line 2: trials are 1 or more"),
        ("round,arm,reward\n1.5,a,1\n", "line 2: round must be a whole number from 1 on, got '1.5'"),
        ("arm,reward\na,1\nb\n", "line 3: not as many cells as columns"),
        ("round,arm,reward\n1,a,1\n2,a,1\n1,a,0\n", "line 4: round 1 has arm 'a' twice"),
    ],
)
def test_mistakes_name_their_line(text: str, said: str):
    with pytest.raises(ae.AftereffectError) as caught:
        read_rewards(text)
    assert said in str(caught.value)
