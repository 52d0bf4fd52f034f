"""Markup in any name or text of a run, or of one's own model, stays text on the page."""

from html.parser import HTMLParser

import numpy as np
import pytest

import twofold
from twofold.certificate import certificate
from twofold.findings import Axis, Figure, Findings, Panel, Series, Study, Table
from twofold.protocol import EncoderDecoder, Tasks
from twofold.report import markup, paper, run_report, section
from twofold.runs import folder, settings

HOSTILE = "\"'></code></script><img src=x onerror=alert(1)><script>alert(2)</script>&lt;b&gt;"
LATEX = (
    r"\text{<img src=x onerror=alert(1)>}",
    r"\text{&lt;img src=x onerror=alert(1)&gt;}",
    r"\text{&amp;lt;img src=x&amp;gt;}",
    r"\href{javascript:alert(1)}{x}",
    r"\color{red\"><img src=x onerror=alert(1)>}x",
    r"\style{background:url(http://x)}{y}",
    r"\class{a\" onclick=\"alert(1)}{y}",
    r"\operatorname{<script>alert(1)</script>}",
    r"\frac{<img src=x>",
    HOSTILE,
)


class Tags(HTMLParser):
    """Every tag and attribute that a browser would see outside of scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.links, self.text = set(), set(), [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data):
        self.text.append(data)


def check(page):
    seen = Tags(page)
    assert not seen.tags & {"img", "iframe", "object"}, seen.tags
    assert not [a for a in seen.attributes if a.startswith("on")], seen.attributes
    assert all(link.startswith(("#", "data:text/csv")) for link in seen.links), seen.links
    return seen


@pytest.mark.parametrize("latex", LATEX)
def test_a_formula_brings_no_element_and_no_handler(latex):
    seen = check(markup.formula(latex))
    assert not seen.tags & {"script", "b"}
    assert not seen.attributes & {"style", "class", "href", "mathcolor"}


def test_a_formula_still_reads_as_mathematics():
    shown = markup.formula(r"a<b\;\&\,\|x\|_2")
    assert "<mo>&lt;</mo>" in shown and "<mi>&amp;</mi>" in shown and "<msub>" in shown
    assert 'width="0.278em"' in shown


def proof(**fields):
    static = dict(name=HOSTILE, statement=LATEX[0], kind="assumption", premise=HOSTILE)
    rest = dict(value=[1.0, 2.0], bound=3.0, applies=[True, False], reason=HOSTILE)
    return certificate(**(static | rest | fields))


def findings():
    series = [Series(HOSTILE, [1.0, 2.0], [1.0, 2.0]), Series("$paper $ink", [1.0], [2.0])]
    panel = Panel(HOSTILE, Axis(HOSTILE, HOSTILE), Axis(HOSTILE), series)
    return Findings(
        tables=[Table(HOSTILE, HOSTILE, HOSTILE, [HOSTILE], [[HOSTILE]])],
        figures=[Figure(HOSTILE, HOSTILE, HOSTILE, [panel])],
        certificates=[proof()],
        notes=[HOSTILE],
    )


def test_no_text_of_a_study_becomes_markup():
    heading = {"name": HOSTILE, "title": HOSTILE, "about": HOSTILE}
    page = section.render(heading, findings())
    seen = check(page)
    assert page.count("<script") == page.count("<script type=application/json class=spec>") == 1
    assert any("onerror=alert(1)" in piece for piece in seen.text)


@pytest.fixture
def run(tmp_path):
    """A run on disk of one study whose every text is hostile, but for its file name."""

    def work(_):
        return findings()

    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Settings:
        seed: int = 0
        note: str = HOSTILE

    study = Study("plain", HOSTILE, "spectra", HOSTILE, Settings(), work)
    where = folder.create(tmp_path, settings.resolve([study]))
    folder.save(where, study, work(None))
    return where


def test_no_text_of_a_run_becomes_markup(run):
    run_report.write(run)
    page = (run / "report.html").read_text("utf-8")
    check(page)
    assert "<script>alert" not in page and "<img" not in page.split("<script type=module>")[0]


def test_a_model_s_own_report_escapes_its_names(tmp_path):
    def reference(code):
        return code

    reference.__name__ = HOSTILE
    tasks = Tasks({"c": np.ones((3, 2))}, np.zeros((3, 2)))
    model = EncoderDecoder(lambda prompt: prompt["c"], lambda code: 0.5 * code)
    anatomy = twofold.take_apart(model, tasks, reference=reference)
    assert anatomy.reference == HOSTILE
    path = twofold.write_report(anatomy, [proof()], tmp_path / "a b ü.html")
    check(path.read_text("utf-8"))


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/tmp/out"])
def test_sheets_for_paper_stay_in_their_folder(run, tmp_path, name):
    result = run_report.read(run)
    heading = result.studies[0][0] | {"name": name}
    forged = run_report.RunResult(
        result.folder, result.manifest, [(heading, findings())], result.claims, result.verdicts
    )
    out = tmp_path / "paper" / "deep"
    with pytest.raises(ValueError, match="leads out of"):
        paper.export(forged, out)
    assert not [p for p in tmp_path.rglob("*.csv") if out not in p.parents]
