"""What figure 1 of seed 002 says, checked on what the study found at its default settings."""

import numpy as np
import pytest

from twofold.studies import gp_comparison
from twofold.studies.gp_run import Settings, made

SMALL = Settings(train=256, held_out=64, steps=100)


@pytest.fixture(scope="module")
def found():
    return gp_comparison.run(SMALL)


def test_free_linear_is_the_best_of_the_methods_with_one_p_and_no_inner_product(found):
    for table in found.tables[1:3]:
        one = {row[0]: row[2] for row in table.rows if row[1] != "each prompt"}
        assert min(one, key=one.get) == "free_linear"


def test_training_free_baselines_are_there_for_every_solver(found):
    for table in found.tables[1:3]:
        rows = {(row[0], row[1]): row[2:] for row in table.rows}
        for name in ("scalar", "Jacobi", "block Jacobi", "low rank", "Nyström", "inverse"):
            assert all(isinstance(x, float) for x in rows[name, "the mean system"])
            shown = [x for x in rows[name, "each prompt"] if x != ""]
            assert len(shown) == 4
        assert all(x == "" for x in rows["free_linear", "training"][1:])


def test_solvers_rank_as_theory_has_them(found):
    for table in found.tables[1:3]:
        for row in table.rows:
            if row[1] != "training" and row[0] != "inverse":
                richardson, ball, chebyshev, pcg = row[2], row[3], row[4], row[-1]
                assert pcg < chebyshev < ball < richardson


def test_the_floor_of_a_prediction_is_not_the_decoder_s(found):
    halves = {tuple(row[:2]): row[2:] for row in found.tables[3].rows}
    for total, floor, decoder, cross in halves.values():
        assert abs(total - floor - decoder - cross) < 1e-12 * total
    assert halves[16, "free_linear"][2] < 1e-3 * halves[16, "free_linear"][1]


def test_what_was_learned_lowered_its_loss():
    for prompt in (16, 64):
        for name, loss in made(SMALL, prompt).loss.items():
            assert loss[-1] < loss[0], name
            assert np.isfinite(loss).all()
