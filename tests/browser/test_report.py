"""The report in a real browser: `make test-browser`, which needs Chromium."""

import re
import shutil
import subprocess
import tempfile

import pytest

from twofold import studies
from twofold.report import run_report
from twofold.runs import running, settings

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--virtual-time-budget=20000"
).split()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    chosen = studies.find(["000-bernstein"])
    folder = running.run(chosen, settings.resolve(chosen), tmp_path_factory.mktemp("runs"))
    run_report.write(folder)
    return folder / "report.html"


def chromium(page, *extra):
    with tempfile.TemporaryDirectory() as profile:
        command = ["chromium", *FLAGS, f"--user-data-dir={profile}", *extra, page.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "ink"), [("1", "#1d2327"), ("0", "#e6eaed")])
def test_every_chart_is_drawn_light_and_dark(page, scheme, ink):
    assert shutil.which("chromium"), "install Debian's chromium package"
    dom = chromium(page, f"--blink-settings=preferredColorScheme={scheme}", "--dump-dom").stdout
    assert 'data-drawn="yes"' in dom
    drawn = len(re.findall(r"<svg[^>]*class=\"marks\"", dom))
    assert drawn == dom.count('class="spec"') + dom.count("class=spec") > 0
    assert f'fill="{ink}"' in dom


@pytest.mark.browser
def test_the_page_asks_the_network_for_nothing(page):
    log = chromium(page, "--enable-logging=stderr", "--v=0", "--dump-dom").stderr
    assert "net::ERR" not in log and "Uncaught" not in log
