"""Every study, run once as `twofold reproduce` runs it: what it proves, measures and draws."""

import json
import math
import re
import statistics

import numpy as np
import pytest

from twofold import claims, studies
from twofold.certificate import DETERMINISTIC
from twofold.report import bibliography
from twofold.report.overview import silent_share
from twofold.runs import codec, folder, running, settings

NAMES = studies.names()
# Silent by construction: the row is where the theorem's exception lies.
EXCEPTIONS = {("corrections", "nonclosure")}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The run's folder, with every study at its default settings."""
    chosen = studies.find()
    return running.run(chosen, settings.resolve(chosen), tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def found(run):
    """The findings of every study, read back from the run."""
    return {name: folder.load(run, name) for name in NAMES}


def certificates(found):
    return [(name, c) for name, f in found.items() for c in f.certificates]


def judged(found):
    measured = {k: m for f in found.values() for k, m in f.measured.items()}
    ours = [c for c in claims.load() if c.study in NAMES]
    return [claims.judge(c, measured.get(c.id), ran=True) for c in ours]


def test_nothing_is_violated_and_nothing_condemned(found):
    for name, proof in certificates(found):
        assert not proof.condemned, (name, proof.name)
        if proof.kind in DETERMINISTIC:
            assert proof.counts["violated"] == 0, (name, proof.name)


def test_deterministic_certificates_are_hardly_ever_silent(found):
    proofs = certificates(found)
    assert sum(len(c) for _, c in proofs if c.kind in DETERMINISTIC) > 1000
    assert silent_share([c for _, c in proofs]) <= 0.01
    for name, proof in proofs:
        if proof.kind in DETERMINISTIC and (name, proof.name) not in EXCEPTIONS:
            assert proof.counts["silent"] <= 0.01 * len(proof), (name, proof.why_silent())


def test_every_silence_has_its_reason(found):
    for _, proof in certificates(found):
        assert all(why and "NaN" not in why for why in proof.why_silent())


def test_no_claim_failed_and_every_claim_of_a_study_is_measured(found):
    verdicts = judged(found)
    assert {v.word for v in verdicts} <= {"reproduced", "differs-explained", "pending"}
    for verdict in verdicts:
        assert verdict.claim.pending or verdict.measured is not None, verdict.claim.id
    assert sum(v.word == "reproduced" for v in verdicts) >= 50


def test_every_claim_names_a_study_that_is_there_or_pending():
    assert {c.study for c in claims.load() if not c.pending} <= set(NAMES)


def test_the_rounding_of_richardson_s_identity_is_far_below_the_solution(found):
    proofs = [c for _, c in certificates(found) if c.name == "Richardson identity"]
    assert proofs
    for name, proof in certificates(found):
        if proof.name == "Richardson identity":
            x = solutions(found[name], proof)
            assert np.all(proof.rounding <= 1e-11 * x)


def solutions(findings, proof):
    """||x*|| of each row, from the evidence of the certificate."""
    given = findings.evidence[proof.source]
    x = np.linalg.solve(given["H"], given["d"][..., None])[..., 0]
    return np.linalg.norm(x, axis=1)


def test_every_theorem_is_in_the_bibliography(found):
    known = bibliography.entries()
    for name, proof in certificates(found):
        assert proof.statement and proof.reference in known, (name, proof.name)
        assert re.fullmatch("[0-9a-f]{64}", proof.source), (name, proof.name)


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_can_be_read(found, name):
    assert found[name].figures or found[name].tables
    for figure in found[name].figures:
        assert len(figure.caption) > 40 and figure.title and figure.panels
        for panel in figure.panels:
            assert panel.title or len(figure.panels) == 1
            assert panel.x.label and panel.y.label and panel.series
            for series in panel.series:
                assert series.label and len(series.x) == len(series.y) > 0
                assert np.isfinite(series.y).any(), (figure.name, series.label)
            labels = [series.label for series in panel.series]
            assert len(set(labels)) == len(labels), (figure.name, labels)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_filled(found, name):
    for table in found[name].tables:
        assert table.rows and table.caption and table.title
        assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.parametrize("name", NAMES)
def test_findings_survive_the_codec(found, name):
    before = codec.dump(found[name])
    text = json.dumps(before, allow_nan=False)
    after = codec.load(json.loads(text), codec.arrays_of(found[name]))
    assert json.dumps(codec.dump(after), allow_nan=False) == text
    for source, arrays in found[name].evidence.items():
        for key, array in arrays.items():
            assert after.evidence[source][key].tobytes() == np.asarray(array).tobytes()


def test_evidence_belongs_to_a_certificate(found):
    for name, findings in found.items():
        sources = {c.source for c in findings.certificates}
        assert set(findings.evidence) <= sources, name


@pytest.fixture(scope="module")
def seeds(found):
    """Findings and verdicts at five seeds."""
    chosen, out = studies.find(), [(found, judged(found))]
    for seed in range(1, 5):
        resolved = settings.resolve(chosen, seed=seed)
        other = {s.name: s.run(resolved[s.name]) for s in chosen}
        out.append((other, judged(other)))
    return out


def test_no_seed_condemns_a_certificate(seeds):
    for found, _ in seeds:
        test_nothing_is_violated_and_nothing_condemned(found)


def test_what_is_decided_does_not_hang_on_a_lucky_seed(seeds):
    for seed, (_, verdicts) in enumerate(seeds):
        for verdict in verdicts:
            if verdict.claim.kind != "order":
                assert verdict.word in ("reproduced", "pending"), (seed, verdict)


def test_an_order_of_magnitude_holds_in_the_median_of_five_seeds(seeds):
    order = [c for c in claims.load() if c.kind == "order" and not (c.pending or c.explanation)]
    for claim in order:
        ratios = [
            float(v.measured.value) / float(claims.numbers(claim.printed)[0][0])
            for _, verdicts in seeds
            for v in verdicts
            if v.claim.id == claim.id
        ]
        if ratios:
            middle = math.exp(statistics.median(map(math.log, ratios)))
            assert 1 / claim.tolerance <= middle <= claim.tolerance, (claim.id, ratios)
