"""The command line. Modules load when a command needs them: ``--help`` answers at once."""

from __future__ import annotations

import io
import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twofold import cli_atlas, cli_inform

if TYPE_CHECKING:
    from twofold.certificate import Certificate
    from twofold.report.run_report import RunResult

app = typer.Typer(
    help="Take an encoder-decoder apart: what was measured and what is proved, for each half.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

app.add_typer(cli_atlas.app, name="atlas")
app.command("encode")(cli_atlas.encode)
app.command("inform")(cli_inform.inform)

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Run = Annotated[Path, typer.Argument(help="A run's folder, as printed by `twofold reproduce`.")]


@app.command()
def reproduce(
    studies: Annotated[
        list[str] | None, typer.Argument(help="Studies by name or prefix; all if none.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where runs are kept.")] = Path("runs"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of every study.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="The long settings.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A setting: [study.]key=value.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the studies, judge every claim, write one HTML report. Resumes what was cut short."""
    from twofold import studies as shelf
    from twofold.report import run_report
    from twofold.runs import running, settings

    chosen = shelf.find(studies or ())
    resolved = settings.resolve(chosen, seed=seed, full=full, assignments=set_ or ())
    try:
        with _progress(len(chosen), quiet=as_json) as listen:
            folder = running.run(chosen, resolved, out, listen)
    except KeyboardInterrupt as stop:
        sys.stderr.write("twofold: interrupted; finished studies are kept, run again to resume\n")
        raise typer.Exit(130) from stop
    _conclude(run_report.write(folder), as_json)


@app.command()
def report(
    run: Run,
    paper: Annotated[
        Path | None, typer.Option(help="Also write figures and tables for paper here.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report of a run again, from what the run's folder holds."""
    from twofold.report import run_report

    result = run_report.write(run)
    if paper is not None:
        from twofold.report import paper as sheets

        for path in sheets.export(result, paper):
            _say(f"wrote {path}", as_json)
    _conclude(result, as_json)


@app.command()
def certify(
    file: Annotated[Path, typer.Argument(help="safetensors with H, d, P and perhaps truth.")],
    depth: Annotated[int, typer.Option(min=0, help="Inner steps L of Richardson's iteration.")],
    delta: Annotated[float, typer.Option(help="Error probability, split over the list.")] = 0.05,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the proofs and their inputs here, for `recheck`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Prove what L steps of a frozen preconditioner do on the systems of a file."""
    from twofold import frozen

    with _working("proving", as_json):
        model = frozen.read(file, depth)
        proofs = model.certify(delta)
    if report is not None:
        from twofold.report.own_model import write_report

        write_report(model.take_apart(), proofs, report)
    if export is not None:
        from twofold.runs import exporting

        exporting.export(proofs, model.evidence(proofs), export)
    _show_proofs(proofs, [path for path in (report, export) if path is not None], as_json)


@app.command()
def recheck(
    path: Annotated[Path, typer.Argument(help="A run's folder, or a proof file.")],
    as_json: Json = False,
) -> None:
    """Prove every deterministic certificate again, independently, in ball arithmetic."""
    from twofold.runs import rechecking

    with _working("redoing", as_json) as status:

        def listen(outcome: Any) -> None:
            if status is not None:
                status.update(f"redoing: {outcome.name}")

        result = rechecking.recheck(path, listen)
    if as_json:
        typer.echo(json.dumps(result.record()))
    else:
        for line in result.lines():
            typer.echo(line)
    if result.failures:
        raise typer.Exit(1)


@app.command()
def predict(
    law: Annotated[Path, typer.Option(help="TOML: sigma or dim, prompt, ridge, ...")],
    depth: Annotated[int, typer.Option(min=1, help="Inner steps L.")],
    model: Annotated[str, typer.Option(help="flexformer, free or diagonal.")] = "flexformer",
    eta: Annotated[float, typer.Option(help="Outer step size.")] = 0.05,
    steps: Annotated[int, typer.Option(min=0, help="Outer steps.")] = 300,
    engine: Annotated[
        str, typer.Option(help="auto, exact, equivalent, corrected or pool.")
    ] = "auto",
    rule: Annotated[str, typer.Option(help="descent, momentum or adam.")] = "descent",
    scale: Annotated[float, typer.Option(help="P starts near this multiple of I.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the start.")] = 0,
    as_json: Json = False,
) -> None:
    """Predict the risk along outer training, for Gaussian prompts, without sampling any."""
    from twofold.tasks import lawfile
    from twofold.training.closure import predicting

    with _working("predicting", as_json):
        path = predicting.predict(
            lawfile.read(law), kind=model, depth=depth, eta=eta, steps=steps, engine=engine,
            rule=rule, scale=scale, seed=seed,
        )  # fmt: skip
    chosen = path.choice
    if as_json:
        risk = [r if abs(r) < float("inf") else None for r in path.risk.tolist()]
        record = {"times": path.times.tolist(), "risk": risk, "drift": chosen.drift,
                  "engine": chosen.risk, "reason": chosen.reason}  # fmt: skip
        typer.echo(json.dumps(record))
        return
    from rich.table import Table

    sheet = Table("s", "predicted risk")
    for s, value in zip(path.times, path.risk, strict=True):
        sheet.add_row(f"{s:.0f}", f"{value:.6g}")
    _console().print(sheet)
    _console().print(f"drift by {chosen.drift}, risk by {chosen.risk}: {chosen.reason}")


@app.command("studies")
def list_studies(as_json: Json = False) -> None:
    """List the studies, what each shows, and its forecast in seconds."""
    from twofold import studies as shelf

    found = shelf.find()
    if as_json:
        rows = [{"name": s.name, "title": s.title, "part": s.part, "cost": s.cost} for s in found]
        typer.echo(json.dumps({"studies": rows}))
        return
    from rich.table import Table

    sheet = Table("study", "shows", "part", "seconds")
    for s in found:
        sheet.add_row(s.name, s.title, s.part, f"{s.cost:g}")
    _console().print(sheet)


def main() -> None:
    """Run the command line; an expected error is one line, and the exit status is 2."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except (ValueError, OSError, RuntimeError, KeyError) as error:
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        sys.stderr.write(f"twofold: {text}\n")
        sys.exit(2)


def _conclude(result: RunResult, as_json: bool) -> None:
    """Say where the output is and what came out; exit 1 when a proof or a claim failed."""
    from collections import Counter

    path = result.folder / "report.html"
    words = Counter(v.word for v in result.verdicts)
    if as_json:
        record: dict[str, Any] = {
            "run": str(result.folder), "report": str(path), "claims": dict(words),
            "certificates": [{"name": c.name, "kind": c.kind, **c.counts}
                             for c in result.certificates],
            "failures": result.failures,
        }  # fmt: skip
        typer.echo(json.dumps(record))
    else:
        console = _console()
        console.print("claims: " + ", ".join(f"{n} {word}" for word, n in words.items()))
        for failure in result.failures:
            console.print(f"[red]failed[/red] {failure}")
        console.print(f"report: {path}", soft_wrap=True)
    if result.failures:
        raise typer.Exit(1)


def _show_proofs(proofs: list[Certificate], written: list[Path], as_json: bool) -> None:
    """A line per certificate and per reason of silence; exit 1 when one is condemned."""
    from twofold.report import lines

    condemned = [c.name for c in proofs if c.condemned]
    if as_json:
        record = {"certificates": [c.to_json() for c in proofs], "condemned": condemned}
        typer.echo(json.dumps({**record, "written": [str(path) for path in written]}))
    else:
        console = _console()
        console.print(lines.sheet(proofs))
        for text in [*lines.silences(proofs), *(f"wrote {path}" for path in written)]:
            console.print(text, soft_wrap=True)
    if condemned:
        raise typer.Exit(1)


def _working(text: str, as_json: bool) -> Any:
    """A spinner on standard error while something takes its time."""
    import contextlib

    from rich.console import Console

    quiet = as_json or not sys.stderr.isatty()
    return contextlib.nullcontext() if quiet else Console(stderr=True).status(text)


def _say(text: str, as_json: bool) -> None:
    if not as_json:
        _console().print(text, soft_wrap=True)


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _progress(total: int, quiet: bool) -> Any:
    """A context manager that yields the listener of a run."""
    import contextlib

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    @contextlib.contextmanager
    def listening() -> Any:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        bar = Progress(*columns, console=Console(stderr=True), disable=quiet)
        task = bar.add_task("", total=total)
        try:

            def listen(event: Any) -> None:
                bar.start()
                left = f"about {event.left:.0f} s left" if event.left >= 1 else "nearly done"
                bar.update(task, description=f"{event.study.name} {event.state}, {left}")
                if event.state != "running":
                    bar.advance(task)

            yield listen
        finally:
            if bar.live.is_started:
                bar.stop()

    return listening()


if __name__ == "__main__":
    main()
