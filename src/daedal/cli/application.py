"""The commands with their options and helps; each loads what it does when it is called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from daedal.cli import running

if TYPE_CHECKING:
    from daedal.projects import Project

PROJECT_FILES, RESULT_FILES = (".toml",), (".nc",)

application = typer.Typer(
    name="daedal",
    help="""Physical models from data, with disturbances nobody measured.

    One file binds a model, data and a question; three commands lead from a CSV file to a page:

    \b
      daedal new tank --data run1.csv    writes tank.toml to fill in
      daedal check tank.toml             says what will be done
      daedal fit tank.toml               estimates, and writes a page

    Exit codes: 0 done and, of fit and validate, to be trusted; 1 refused, with a sentence that says what to do; 2
    finished but not to be trusted, with the reasons; 130 stopped by Ctrl-C (143 by SIGTERM), with what is kept.
    """,
    no_args_is_help=False,
    invoke_without_command=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _complete(*endings: str):
    """Files in the folder that is being typed."""

    def complete(incomplete: str) -> list[str]:
        folder = Path(incomplete).parent if "/" in incomplete else Path()
        listed = sorted(one for one in folder.glob("*") if one.is_dir() or one.suffix in endings)
        return [f"{one}/" if one.is_dir() else str(one) for one in listed if str(one).startswith(incomplete)]

    return complete


ProjectFile = Annotated[
    Path,
    typer.Argument(metavar="PROJECT", help="The project file, tank.toml.", autocompletion=_complete(*PROJECT_FILES)),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="All numbers as JSON on standard output, words on standard error.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No words, no progress; failures and doubts are still said.")
]
Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--out", metavar="DIR", help="Folder for the files; by default 'results' beside the project."),
]
Seed = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--seed", metavar="N", help="Seed of all random numbers; the same seed gives the same digits.", min=0),
]
Workers = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--workers", metavar="N", help="Processes that share the work.", min=1, max=4096),
]
Changed = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Another value of a parameter (its start, if it is free): --set shaft.c=2.5. May be repeated.",
    ),
]
Free = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--free", metavar="NAMES", help="Other free parameters than the project's: --free shaft.c,disc.J."),
]
Open = Annotated[bool, typer.Option("--open", help="Show the page in the browser.")]


@application.callback()
def _begin(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Versions of daedal and of what it stands on: for bug reports.")
    ] = False,
) -> int | None:
    if version:
        from daedal.cli.versions import print_versions

        print_versions()
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    return None


def _prepare(path: Path, changed: list[str] | None, free: str | None):
    """The project with what the command line changes."""
    from daedal.cli.changes import prepare_project

    return prepare_project(path, changed or [], free)


def _blame_model(project: "Project"):
    """What its equations fail of is told with the line that names them."""
    from daedal.projects import blame_model

    return blame_model(project)


def _refuse_changes(free: str | None, changed: list[str] | None, seed: int | None) -> None:
    if free is not None or changed or seed is not None:
        from daedal.errors import ReportError

        raise ReportError(
            "A result file is repeated as it was made, without --set, --free and --seed.",
            "Give the project file instead.",
        )


def _voice(as_json: bool, quiet: bool):
    from daedal.cli.voice import begin

    return begin(as_json=as_json, quiet=quiet)


@application.command(short_help="Write a commented project file to fill in.")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the project is called: tank makes tank.toml.")],
    model: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--from", metavar="MODEL", help="The model: a .toml or .mo file, or file.py:name."),
    ] = None,
    data: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option("--data", metavar="FILE", help="A file of measured columns; may be repeated."),
    ] = None,
    inputs: Annotated[
        str, typer.Option("--inputs", metavar="NAMES", help="Columns that drive the system: --inputs heater,outside.")
    ] = "",
    quiet: Quiet = False,
) -> int:
    """Write a commented project file to fill in.

    Columns are taken from the header line of the data, signals and parameters from the model. Without a model one is
    written too, to fill in: each measured column follows those that drive it. Which these are is proposed from names
    and values; --inputs says it. Nothing that exists is overwritten.

    \b
      daedal new tank --data run1.csv --data run2.csv
      daedal new room --data log.csv --inputs heater,outside
      daedal new drive --from drive.mo --data run_07.csv
    """
    from daedal.cli.verbs import beginning

    named = [word.strip() for word in inputs.split(",") if word.strip()]
    return beginning.begin(name, model, data or [], named, _voice(False, quiet))


@application.command(short_help="Say what a fit would do, and what speaks against it.")
def check(
    project: ProjectFile, free: Free = None, changed: Changed = None, as_json: AsJson = False, quiet: Quiet = False
) -> int:
    """Say in five sentences what a fit would do, before anything long runs.

    Reads the project, the model and the data, and looks at all of them together: structure of the equations, whether
    the noise makes sense, names, units, sampling, missing samples, inputs that never change. Takes a second or two;
    estimates nothing and writes nothing.

    \b
      daedal check tank.toml
      daedal check tank.toml --free a
    """
    from daedal.cli.verbs import checking

    prepared = _prepare(project, changed, free)
    voice = _voice(as_json, quiet)
    with _blame_model(prepared):
        return checking.check(prepared, voice)


@application.command(short_help="Run the model as it is, next to the data.")
def simulate(
    project: ProjectFile,
    realizations: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            "--realizations", metavar="N", help="Paths with random disturbances; by default one, without any.", min=2
        ),
    ] = None,
    changed: Changed = None,
    seed: Seed = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    show: Open = False,
) -> int:
    """Run the model as it is, next to the data: results/NAME.simulation.csv and a picture.

    Nothing is estimated: look whether model and data speak of the same thing before a fit. With --realizations the mean
    and the scatter that the disturbances make are written. Free parameters have the values that a fit starts from.

    \b
      daedal simulate tank.toml --open
      daedal simulate tank.toml --set a=0.5 --realizations 200
    """
    from daedal.cli.verbs import simulating

    prepared = _prepare(project, changed, None)
    voice = _voice(as_json, quiet)
    with _blame_model(prepared):
        return simulating.simulate(prepared, realizations, seed or 0, out, voice, show=show)


@application.command(short_help="Estimate the free parameters; write result and page.")
def fit(
    project: ProjectFile,
    free: Free = None,
    changed: Changed = None,
    seed: Seed = None,
    out: Out = None,
    script: Annotated[bool, typer.Option("--script", help="Print the same in Python, and do nothing.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    show: Open = False,
) -> int:
    """Estimate the free parameters; write results/NAME.nc, NAME.json and NAME.html.

    Prints the table of estimates. The result file (.nc) holds everything, the project included; 'daedal fit
    results/tank.nc' repeats the fit from it and says whether the digits are the same. The .json has one field for each
    of MATLAB's Report, the .html is a page for people.

    \b
      daedal fit tank.toml
      daedal fit tank.toml --set b=0.6 --free a --seed 3
      daedal fit tank.toml --json > numbers.json
      daedal fit tank.toml --script > tank_fit.py
      daedal fit results/tank.nc
    """
    from daedal.cli.verbs import fitting

    voice = _voice(as_json, quiet)
    if project.suffix in RESULT_FILES:
        _refuse_changes(free, changed, seed)
        return fitting.repeat(project, out, voice, show=show)
    prepared = _prepare(project, changed, free)
    if script:
        from daedal.projects import write_script

        typer.echo(write_script(prepared, seed or 0, out))
        return running.TRUSTED
    with _blame_model(prepared):
        return fitting.fit(prepared, seed or 0, out, voice, show=show)


@application.command(short_help="Compare a fit with data it never saw.")
def validate(
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="What a fit wrote, results/tank.nc.", autocompletion=_complete(*RESULT_FILES)
        ),
    ],
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    show: Open = False,
) -> int:
    """Compare a fit with data it never saw, and add that to its page.

    Uses the blocks of the project with use = "validate" and what [validate] asks for: predictions some steps ahead
    (horizon), intervals that follow the criterion (profile), estimated states (states). Without held-out data the data
    of the fit are taken, which proves less; that is said.

    \b
      daedal validate results/tank.nc
      daedal validate results/tank.nc --json
    """
    from daedal.cli.verbs import validating

    return validating.validate(result, out, _voice(as_json, quiet), show=show)


@application.command(short_help="Write the page of one fit, or of several.")
def report(
    result: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT", help="One result or several.", autocompletion=_complete(*RESULT_FILES)),
    ],
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--out", metavar="DIR", help="Folder for the page, or its name; by default beside the result."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    show: Open = False,
) -> int:
    """Write the page of a saved fit again, or one page that compares several.

    \b
      daedal report results/tank.nc --open
      daedal report results/*.nc --out pages
      daedal report results/*.nc --out comparison.html
    """
    from daedal.cli.verbs import reporting

    return reporting.report(result, out, _voice(as_json, quiet), show=show)


@application.command(short_help="Ask the data how many poles they need.")
def order(
    project: ProjectFile,
    orders: Annotated[
        str, typer.Option("--orders", metavar="FROM-TO", help="Numbers of poles to try: 1-5, or one number.")
    ] = "1-5",
    data: Annotated[
        str, typer.Option("--data", metavar="NAME", help="Which block of data; by default the first.")
    ] = "",
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    show: Open = False,
) -> int:
    """Ask the data alone how many poles a linear model needs: results/NAME.order.json and a page.

    Takes inputs and outputs of a block of data, not the equations of the model: a second opinion.

    \b
      daedal order tank.toml
      daedal order tank.toml --orders 1-3 --json
    """
    from daedal.cli.verbs import ordering

    return ordering.order(_prepare(project, None, None), orders, data, out, _voice(as_json, quiet), show=show)


@application.command(short_help="Make a fit many times, to see how sure it is.")
def study(
    project: ProjectFile,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="How many.", min=2)] = 100,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="bootstrap, monte-carlo, leave-out, starts or profile.")
    ] = "bootstrap",
    parameter: Annotated[
        str, typer.Option("--parameter", metavar="NAME", help="Of a profile: which one is held; by default the first.")
    ] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over instead of going on.")] = False,
    free: Free = None,
    changed: Changed = None,
    workers: Workers = None,
    seed: Seed = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    show: Open = False,
) -> int:
    """Make a fit many times, to see how sure it is: results/NAME.KIND.json and a page.

    \b
      bootstrap     data as the fitted model makes them: the scatter of the estimates (default)
      monte-carlo   data as the model of the project makes them, before the fit
      leave-out     one experiment left out at a time
      starts        the same data from other starts: are there other minima?
      profile       one parameter held at values around its estimate, the others fitted

    Every finished run is kept in a journal, results/NAME.KIND.study. The same command goes on where it was stopped;
    --fresh starts over. With more --runs, bootstrap and monte-carlo add the rest; starts and profile then need --fresh,
    and leave-out has one run for each experiment. The fit itself is made first where there is none yet.

    \b
      daedal study tank.toml --runs 200 --workers 2
      daedal study tank.toml --kind starts --runs 20
    """
    from daedal.cli.verbs import studying

    asked = studying.Asked(kind=kind, runs=runs, fresh=fresh, workers=workers, seed=seed or 0, parameter=parameter)
    prepared = _prepare(project, changed, free)
    voice = _voice(as_json, quiet)
    with _blame_model(prepared):
        return studying.study(prepared, asked, out, voice, show=show)


@application.command(short_help="Run the experiment of a published paper.")
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="pendulum, descriptor, reactor or order.")],
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, a minute or two (default).")] = False,
    full: Annotated[bool, typer.Option("--full", help="The sizes of the paper, some minutes.")] = False,
    workers: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--workers", metavar="N", help="Processes that share the work."),
    ] = None,
    out: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--out", metavar="DIR", help="Folder for the files (default: PAPER-paper)."),
    ] = None,
) -> int:
    """Run the experiment of a published paper; print its tables, write CSV files and figures.

    What is finished is kept when it is stopped, and the same command goes on from there.

    \b
      daedal reproduce pendulum
      daedal reproduce pendulum --full --workers 2
    """
    from daedal.cli.verbs import reproducing

    return reproducing.run_paper(paper, quick=quick, full=full, workers=workers, out=out)
