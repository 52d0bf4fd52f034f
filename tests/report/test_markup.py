import pytest

from twofold.report import markup, paper
from twofold.report.palette import DARK, LIGHT, paint


@pytest.mark.parametrize(
    ("x", "shown"),
    [(0, "0"), (0.5, "0.5"), (12345.678, "1.235e+04"), (1e-7, "1.000·10<sup>−7</sup>"),
     (float("nan"), "–"), (float("inf"), "∞"), ("<script>", "&lt;script&gt;"), (True, "True")],
)  # fmt: skip
def test_numbers_as_people_read_them(x, shown):
    assert markup.number(x) == shown


def test_a_formula_is_mathml_and_a_broken_one_stays_readable():
    assert "<math" in markup.formula(r"R_c \le \bigl\{ a \bigr\}")
    assert "bigl" not in markup.formula(r"\bigl( x")
    assert markup.formula(r"<b> \frac{").count("<b>") == 0


def test_markup_in_names_does_not_reach_the_page():
    hostile = '"><img src=x onerror=alert(1)>'
    for piece in (markup.badge(hostile), markup.details(hostile, ""), markup.table([hostile], [])):
        assert "<img" not in piece


def test_printed_numbers_keep_every_digit():
    assert markup.printed(r"4.0020466789 \times 10^{-4}") == "4.0020466789·10<sup>−4</sup>"


def test_every_role_has_a_light_and_a_dark_colour():
    assert set(LIGHT) == set(DARK) and "$" not in paint(" ".join(LIGHT), DARK)


def test_latex_is_escaped():
    assert paper.escape("50% of $x_1$ & {\\a}") == (r"50\% of \$x\_1\$ \& \{\textbackslash{}a\}")
