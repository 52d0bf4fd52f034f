"""The machine around: locale, number of threads, paths. The results do not notice."""

import json
import os
import subprocess
import sys

import pytest

PROVE = """
import hashlib, json
import numpy as np
from twofold import rigor
from twofold.decoder import richardson
from twofold.tasks import regression
from twofold.theorems import betting, power, richardson as rate

tasks = regression.sample(seed=1, dim=72, prompt=200, count=48, ridge=0.1)
P, H, d = np.linalg.inv(np.mean(tasks.H, axis=0)), tasks.H, tasks.d
x, _ = rigor.solve(H, d)
kernels = {
    "iterate": richardson.iterate(P, H, d, 9), "norm2": rigor.norm2_upper(H),
    "contraction": rigor.contraction_upper(P, H), "power": rigor.power_upper(P, H, 9),
    "residual": rigor.residual(H, x, d)[0],
    "betting": np.array(betting.upper(d[0] ** 2, clip=9.0, delta=0.05)),
}
proofs = [rate.certify_identity(P, H, d, 9), rate.certify(P, H, d, 9), power.certify(P, H, d, 9)]
digest = lambda a: hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()
print(json.dumps({
    "inputs": [digest(a) for a in (P, H, d)],
    "kernels": {k: digest(v) for k, v in kernels.items()},
    "verdicts": {c.name: [c.counts, c.condemned] for c in proofs},
}))
"""


def proved(threads):
    env = {f"{name}_NUM_THREADS": str(threads) for name in ("NUMBA", "OPENBLAS", "OMP")}
    return subprocess.Popen(
        [sys.executable, "-c", PROVE], stdout=subprocess.PIPE, env={**os.environ, **env}
    )


@pytest.fixture(scope="module")
def one_and_two():
    """What comes out with one thread and with two, each in a process of its own."""
    runs = [proved(threads) for threads in (1, 2)]
    outs = [run.communicate(timeout=240)[0] for run in runs]
    return [json.loads(out) for out in outs]


def test_kernels_give_the_same_bits_on_one_and_two_threads(one_and_two):
    one, two = one_and_two
    assert one["inputs"] == two["inputs"], "the inputs themselves differ: BLAS"
    assert one["kernels"] == two["kernels"]


def test_verdicts_agree_on_one_and_two_threads(one_and_two):
    one, two = one_and_two
    assert one["verdicts"] == two["verdicts"]
    assert all(c == [{"holds": 48, "violated": 0, "silent": 0}, False]
               for c in one["verdicts"].values())  # fmt: skip


LOCALES = [
    {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "COLUMNS": "40", "TERM": "dumb"},
    {
        "LC_ALL": "de_DE.UTF-8",
        "LC_NUMERIC": "de_DE.UTF-8",
        "LANG": "tr_TR.UTF-8",
        "TZ": "Asia/Tokyo",
    },
]


@pytest.mark.parametrize("locale", LOCALES, ids=["C", "ascii", "decimal comma"])
def test_locale_and_path_do_not_reach_the_results(program, tmp_path, straight, artifacts, locale):
    out = tmp_path / "a b ü ‖"
    said = [str(tmp_path / name) for name in ("stdout", "stderr")]
    job = {"out": str(out), "fault": "", "pause": 0, "stdout": said[0], "stderr": said[1]}
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG"))} | locale
    (tmp_path / "program.py").write_text(program, "utf-8")
    command = [sys.executable, str(tmp_path / "program.py"), json.dumps(job)]
    done = subprocess.run(command, env=env, timeout=120)
    stderr = (tmp_path / "stderr").read_text(errors="replace")
    assert done.returncode == 0 and "Traceback" not in stderr, stderr
    assert "report" in (tmp_path / "stdout").read_text(errors="replace")
    assert artifacts(out) == straight


def test_a_decimal_comma_set_by_the_host_changes_nothing(tmp_path):
    import locale

    from twofold.certificate import Certificate, certificate
    from twofold.report import markup

    names = [n for n in ("de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8", "C")]
    before = locale.setlocale(locale.LC_ALL)
    for name in names:
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        try:
            record = json.dumps(
                certificate("c", statement="", kind="bound", value=1.5, bound=2.5).to_json()
            )
            assert '"value": [1.5]' in record and Certificate.from_json(record).value[0] == 1.5
            assert markup.number(1.5) == "1.5"
        finally:
            locale.setlocale(locale.LC_ALL, before)
