"""One offline HTML page: style, script and pictures inside, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from twofold.report.markup import text
from twofold.report.palette import DARK, LIGHT, css_variables

_STYLE = """
:root{color-scheme:light dark;LIGHT}
@media (prefers-color-scheme:dark){:root{DARK}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,sans-serif}
main,header,nav{max-width:1120px;margin:0 auto;padding:0 24px}
header{padding-top:36px}
h1{font-size:27px;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:21px;margin:44px 0 6px;padding-top:14px;border-top:1px solid var(--line)}
h3{font-size:17px;margin:30px 0 4px}
h4{font-size:14px;margin:20px 0 6px}
p{max-width:74ch}
a{color:var(--observed)}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:10px 0}
.about,.muted,figcaption{color:var(--muted)}
.verdict{font-size:17px;padding:14px 18px;background:var(--panel);border-left:4px solid var(--good);
margin:20px 0;border-radius:4px}
.verdict.bad{border-color:var(--bad)}
figure{margin:18px 0 26px;padding:0}
figcaption{max-width:84ch;margin-top:6px;font-size:14px}
figcaption b{color:var(--ink)}
.scroll,.chart{overflow-x:auto}
.chart{min-height:60px}
table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums;margin:6px 0}
th{text-align:left;font-weight:600;color:var(--muted)}
th,td{padding:5px 14px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
table.data{font-size:12px}
code{font:12.5px ui-monospace,monospace}
.badge{font-size:12.5px;font-weight:600;white-space:nowrap}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
details{margin:6px 0}summary{cursor:pointer;color:var(--muted);font-size:13.5px}
.notes{color:var(--muted);font-size:14px;max-width:84ch}
.proofs td:nth-child(2){max-width:420px;overflow-x:auto}.proofs td:nth-child(3){max-width:220px}
footer{max-width:1120px;margin:40px auto;padding:0 24px 40px;color:var(--muted);font-size:13px}
@media print{details{display:none}nav{display:none}}
"""

_SCRIPT = """
const palettes = {light: LIGHT_JSON, dark: DARK_JSON};
const media = matchMedia('(prefers-color-scheme: dark)');
function paint(text, palette) {
  for (const role of Object.keys(palette).sort((a, b) => b.length - a.length))
    text = text.replaceAll(role, palette[role]);
  return text;
}
async function draw() {
  const palette = palettes[media.matches ? 'dark' : 'light'];
  for (const spec of document.querySelectorAll('script.spec')) {
    const place = spec.parentElement.querySelector('.chart');
    await vegaEmbed(place, JSON.parse(paint(spec.textContent, palette)),
      {renderer: 'svg', actions: false, ast: false});
  }
  document.documentElement.dataset.drawn = 'yes';
}
media.addEventListener('change', draw);
draw();
"""


def page(title: str, header: str, sections: Sequence[tuple[str, str, str]], footer: str) -> str:
    """A page from ``(anchor, title, body)`` sections; ``header`` stands above the contents."""
    import json

    links = "".join(f'<li><a href="#{a}">{text(t)}</a>' for a, t, _ in sections)
    body = "".join(f'<h2 id="{a}">{text(t)}</h2>{b}' for a, t, b in sections)
    style = _STYLE.replace("LIGHT", css_variables(LIGHT)).replace("DARK", css_variables(DARK))
    script = _SCRIPT.replace("LIGHT_JSON", json.dumps(LIGHT)).replace("DARK_JSON", json.dumps(DARK))
    drawn = (
        f"<script type=module>{_vega()}</script><script type=module>{script}</script>"
        if "class=spec" in body
        else ""
    )
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width,initial-scale=1">'
        f"<title>{text(title)}</title><style>{style}</style></head><body>"
        f"<header><h1>{text(title)}</h1>{header}</header><nav><ul>{links}</ul></nav>"
        f"<main>{body}</main><footer>{footer}</footer>{drawn}</body></html>\n"
    )


@cache
def _vega() -> str:
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")
