import itertools

import numpy as np
import pytest

from twofold.information import exact
from twofold.information.exact.orbits import by_rows


def same_partition(a, b):
    return len(np.unique(np.stack([a, b]), axis=1).T) == len(np.unique(a)) == len(np.unique(b))


def brute(states, moves):
    """Orbits by closing every state under the moves."""
    index = {tuple(s): i for i, s in enumerate(states)}
    label = np.arange(len(states))
    for _ in range(len(states)):
        for i, s in enumerate(states):
            for move in moves:
                label[i] = min(label[i], label[index[tuple(move(s))]])
    return label


STATES = np.array(list(itertools.product(range(3), repeat=4)), float)
MOVES = {
    "permutation": [lambda s, p=p: s[list(p)] for p in itertools.permutations(range(4))],
    "cyclic": [lambda s: np.roll(s, 1)],
    "translation": [lambda s: (s + 1) % 3],
}


@pytest.mark.parametrize("group", sorted(MOVES))
def test_labels_are_exactly_the_orbits_and_lose_nothing_of_an_invariant_law(group):
    labels = exact.orbits(STATES, group, 3 if group == "translation" else None)
    assert same_partition(labels, brute(STATES, MOVES[group]))
    p = np.random.default_rng(0).dirichlet(np.ones(3), labels.max() + 1)[labels]
    uniform = np.full(len(STATES), 1 / 81)
    assert exact.channel(uniform, p, labels).sufficient == "sufficient"
    assert abs(exact.channel(uniform, p, labels).loss) < 1e-12
    assert exact.channel(uniform, p, labels // 2).sufficient == "not sufficient"


def test_sparse_model_encoders():
    law = exact.SparseSoftmax(dim=8, sparsity=3, discrimination=4.0)
    raw = by_rows(law.states)
    found = [exact.channel(law.p_x, law.p_y_given_x, u) for u in (raw, law.sufficient, law.biased)]
    assert [c.sufficient for c in found] == ["sufficient", "sufficient", "not sufficient"]
    assert found[0].mutual_information == pytest.approx(found[1].encoded_information, abs=1e-12)
    weak = exact.SparseSoftmax(dim=8, sparsity=3, discrimination=0.25)
    assert exact.channel(weak.p_x, weak.p_y_given_x, weak.biased).loss < found[2].loss


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="modulus"):
        exact.orbits(STATES, "translation")
    with pytest.raises(ValueError, match="group"):
        exact.orbits(STATES, "reflection")
    with pytest.raises(ValueError, match="dim"):
        exact.hypercube(40)
    with pytest.raises(ValueError, match="sparsity"):
        exact.SparseSoftmax(sparsity=13)
