"""The command of information: what an encoder loses, from a file."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def inform(
    data: Annotated[Path, typer.Argument(help="npz or Parquet with codes and labels.")],
    codes: Annotated[str, typer.Option(help="Array of the encoder's outputs.")],
    labels: Annotated[str, typer.Option(help="Array of labels, one per row.")],
    layers: Annotated[
        list[str] | None, typer.Option(help="Arrays of activations, from the input on.")
    ] = None,
    given: Annotated[str, typer.Option("--inputs", help="Array of the encoder's inputs X.")] = "",
    decoder: Annotated[str, typer.Option(help="Array of the decoder's probabilities.")] = "",
    reference: Annotated[
        str, typer.Option(help="Array of probabilities by a model of X fitted on other rows.")
    ] = "",
    method: Annotated[str, typer.Option(help="Head on the code: auto, table, logistic.")] = "auto",
    delta: Annotated[float, typer.Option(help="Error probability, split over the list.")] = 0.05,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.")
    ] = False,
) -> None:
    """Say what an encoder loses, from saved codes and labels alone."""
    from rich.console import Console

    from twofold.information.saved import decompose_file
    from twofold.report import own_codes

    quiet = as_json or not sys.stderr.isatty()
    with contextlib.nullcontext() if quiet else Console(stderr=True).status("fitting"):
        found = decompose_file(
            data, codes, labels, layers=layers or (), given=given, decoder=decoder,
            reference=reference, method=method, delta=delta,
        )  # fmt: skip
    if report is not None:
        own_codes.write_codes(found, report)
    if as_json:
        typer.echo(json.dumps(found.to_json(), allow_nan=False))
        return
    console = Console(highlight=False)
    console.print(own_codes.sheet(found))
    for note in [*found.notes, *([f"wrote {report}"] if report else [])]:
        console.print(note, soft_wrap=True)
