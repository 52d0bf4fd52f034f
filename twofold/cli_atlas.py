"""The commands of the atlas: build one, show one, encode rows with one."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="Atlases of a frozen dictionary.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Folder = Annotated[Path, typer.Argument(help="An atlas' folder, from `twofold atlas build`.")]
Rows = Annotated[Path, typer.Argument(help="Rows: npy, safetensors, Parquet or Arrow.")]
Codes = Annotated[Path, typer.Option("-o", "--out", help="The Parquet file of codes.")]
Amplitude = Annotated[float | None, typer.Option(help="z of all rows; solved for if left out.")]
Budget = Annotated[int | None, typer.Option(min=0, help="Cells per row; 0: local only.")]


def encode(
    atlas: Folder, rows: Rows, out: Codes, amplitude: Amplitude = None, budget: Budget = None,
    chunk: Annotated[int, typer.Option(min=1, help="Rows at a time.")] = 65_536,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Encode rows against a frozen dictionary, with a certificate and a verdict for each."""
    from twofold.atlas import showing, storing, streaming

    made = storing.load(atlas)
    with _status(as_json) as listen:
        result = streaming.encode(
            made, rows, out, amplitude=amplitude, budget=budget, chunk=chunk, listen=listen
        )
    _say(showing.summary(result), showing.record(result), as_json)


@app.command()
def build(
    dictionary: Annotated[Path, typer.Argument(help="safetensors or npz: arrays (M,p), (K,M,p).")],
    family: Annotated[str, typer.Option(help="periodic:4, torus:2:1, sphere:2, ...")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder of the atlas.")],
    charts: Annotated[int, typer.Option(min=2, help="Charts along each axis.")] = 16,
    as_json: Json = False,
) -> None:
    """Cover every atom's coordinates by certified charts and save them."""
    from twofold.atlas import build as make
    from twofold.atlas import showing, storing

    made = make(storing.dictionary(dictionary, storing.family(family)), charts=charts)
    storing.save(made, out)
    _say(showing.atlas(made), showing.atlas_record(made), as_json)


@app.command()
def show(folder: Folder, as_json: Json = False) -> None:
    """Charts, certified radii and coverage of every atom."""
    from twofold.atlas import showing, storing

    made = storing.load(folder)
    _say(showing.atlas(made), showing.atlas_record(made), as_json)


def _say(lines: list[str], record: dict[str, Any], as_json: bool) -> None:
    for line in [json.dumps(record)] if as_json else lines:
        typer.echo(line)


@contextlib.contextmanager
def _status(quiet: bool) -> Any:
    """A listener that tells how many rows are done, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console

    with Console(stderr=True).status("encoding") as status:
        yield lambda done: status.update(f"encoding: {done:,} rows")
