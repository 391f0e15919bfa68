"""The commands for one person; each is a few lines that call one function or two.

Heavy modules are imported inside the commands that need them.
"""

import json
import sys
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from personalbench.errors import UserError, some

if TYPE_CHECKING:
    from personalbench.bundle import Bundle
    from personalbench.person.comparing import Comparisons
    from personalbench.person.junit import Requirement


class _Path(click.Path):
    """A file, or a folder, that is there or yet to be written."""

    def __init__(self, *, folder: bool) -> None:
        super().__init__(path_type=Path)
        self._folder = folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = cast(Path, super().convert(value, param, ctx))
        # What is there of it: the path itself, or the folder that it will be made in.
        there = next(each for each in (path, *path.parents) if each.exists())
        if there.is_dir() == (self._folder or there != path):
            return path
        if there.is_dir():
            raise UserError(f"{path}: is a folder; name a file")
        raise UserError(f"{there}: is a file; name a folder")


_PATH = click.Path(path_type=Path)
_FILE, _FOLDER = _Path(folder=False), _Path(folder=True)
_OUTPUT = click.option("--output", type=_FILE, required=True, help="Where to write it.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command()
@click.argument("source", type=_PATH)
@click.option("--output", type=_PATH, required=True, help="Where to write it.")
@click.option("--genre", default="text", show_default=True, help="What the prompts ask for.")
@click.option("--cases", type=int, help="Draw so many reference documents; default: all.")
@click.option("--seed", type=int, help="Default: that of params.yaml, 42.")
@click.option("--model", help="Writes the topics; a name in the registry of models.")
@click.option("--topics", type=_FILE, help="Topics of your own, in place of the model's.")
@click.option("--author", help="Whose bundle, where SOURCE holds several people.")
@click.option("--name", help="What the person is called; default: the folder's name.")
@_JSON
def prepare(
    source: Path,
    output: Path,
    genre: str,
    cases: int | None,
    seed: int | None,
    model: str | None,
    topics: Path | None,
    author: str | None,
    name: str | None,
    as_json: bool,
) -> None:
    """Freeze a person's writing into a bundle.

    SOURCE has profile/ (what a twin may see) and reference/ (held out), at least five texts
    in each: .txt, .md, .eml or .mbox. The bundle is a folder, or a zip if --output ends so.

    The topics that the model wrote are put beside the bundle, one {"document", "topic"} a
    line: read them, correct the file, and prepare again with --topics FILE.
    """
    from personalbench.llm.cache import ResponseCache
    from personalbench.llm.client import check_reachable, open_model
    from personalbench.llm.registry import find_model
    from personalbench.person.doubts import contaminated_sentences
    from personalbench.person.prepare import (
        keep,
        make_bundle,
        read_topics,
        read_writing,
        require_bundle_or_nothing,
        topics_beside,
        warnings_of,
    )
    from personalbench.person.settings import settings

    if seed is not None and seed < 0:
        raise UserError(f"--seed is {seed}; give 0 or more")
    params = settings()
    prompter = model or params.bundle.prompt_model
    params = params.model_copy(
        update={
            "seed": params.seed if seed is None else seed,
            "bundle": params.bundle.model_copy(update={"prompt_model": prompter}),
        }
    )
    spec = find_model(params.models, prompter)
    require_bundle_or_nothing(output)
    writing = read_writing(source, author, params)
    if topics is not None:
        own = read_topics(topics, writing)
        bundle, quality = make_bundle(writing, params, genre, cases, own, name)
    else:
        check_reachable(spec)
        with ResponseCache.of_project() as cache, open_model(spec, cache=cache) as opened:
            bundle, quality = make_bundle(writing, params, genre, cases, opened.complete, name)
    frozen = keep(bundle, output)
    kept = topics or topics_beside(output)
    warnings = [
        *warnings_of(writing.quality, quality),
        *contaminated_sentences(frozen.cases, params.check.prompt_ngram),
    ]
    if as_json:
        told = {"topics": str(kept), "noticed": writing.noticed, "warnings": warnings}
        _json({**_described(frozen), **told})
        return
    _say(
        f"{output}: {len(frozen.profile)} profile documents, "
        f"{len(frozen.manifest.selected_profile)} of them selected with seed {params.seed}, "
        f"{len(frozen.cases)} cases; topics {f'of {topics}' if topics else f'by {prompter}'}"
    )
    if topics is None:
        _say(
            f"{kept}: the topics, which a model wrote and may have wrong. Read them; to correct "
            f"some, change the file, remove {output}, and prepare again with --topics {kept}"
        )
    for reason, ids in writing.noticed.items():
        _say(f"noticed, {reason.replace('_', ' ')}: {some(ids, 5)}")
    for warning in warnings:
        _say(f"warning: {warning}")


@click.command()
@click.argument("bundle", type=_PATH)
@_OUTPUT
@_JSON
def prompts(bundle: Path, output: Path, as_json: bool) -> None:
    """Write the prompts that a twin is to answer, one JSON object a line."""
    from personalbench.bundle import load_bundle
    from personalbench.person.answering import prompt_lines
    from personalbench.person.doubts import contaminated_sentences
    from personalbench.person.settings import settings
    from personalbench.storage import keep_records

    loaded = load_bundle(bundle)
    lines = prompt_lines(loaded)
    keep_records(output, lines)
    warnings = contaminated_sentences(loaded.cases, settings().check.prompt_ngram)
    if as_json:
        _json({"output": str(output), "prompts": len(lines), "warnings": warnings})
        return
    _say(f"{output}: {len(lines)} prompts")
    for warning in warnings:
        _say(f"warning: {warning}")


@click.command()
@click.argument("bundle", type=_PATH)
@click.option(
    "--method",
    type=click.Choice(["non_personalized", "few_shot", "profile", "contrastive"]),
    required=True,
    help="What the model is told about the person.",
)
@click.option("--model", help="Who answers; a name in the registry of models.")
@_OUTPUT
@_JSON
def answer(bundle: Path, method: str, model: str | None, output: Path, as_json: bool) -> None:
    """Let a language model answer the prompts as a twin.

    Stopped, the same command goes on where it was. A file that is there is never replaced.
    """
    from personalbench.bundle import load_bundle
    from personalbench.person.answering import answer_bundle, answer_lines
    from personalbench.person.settings import settings
    from personalbench.storage import write_records

    if output.exists():
        raise UserError(
            f"{output}: is there, and answers are never overwritten; choose another --output or "
            "remove it"
        )
    lines = answer_lines(answer_bundle(load_bundle(bundle), method, model, settings()))
    failed = {line.case_id: line.reason for line in lines if line.reason is not None}
    if len(failed) == len(lines):
        raise UserError(
            f"{output}: not written, for none of {len(lines)} prompts was answered; "
            f"{lines[0].case_id}: {lines[0].reason}"
        )
    write_records(output, lines)
    if as_json:
        _json({"output": str(output), "answers": len(lines), "failed": failed})
        return
    _say(f"{output}: {len(lines)} answers by {method}, {len(failed)} failed")
    for case_id, reason in failed.items():
        _say(f"failed: {case_id}: {reason}")


@click.command()
@click.argument("bundle", type=_PATH)
@click.option("--output", type=_FOLDER, required=True, help="Folder for adapter and answers.")
@click.option(
    "--model", help="Who is trained: a name in the registry; default: the generator of params.yaml."
)
@click.option(
    "--engine",
    type=click.Choice(["peft", "mlx"]),
    help="peft (default) trains embedded models, mlx those of an mlx-lm server on this machine.",
)
@click.option("--documents", type=click.IntRange(20), help="Most to learn from; default: 200.")
@click.option("--epochs", type=click.IntRange(1), help="How often to read them; default: 2.")
@click.option("--rank", type=click.IntRange(1), help="Of the low-rank updates; default: 16.")
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    help="The highest; default: 0.001.",
)
@click.option(
    "--max-length", type=click.IntRange(1), help="Tokens of prompt and document; default: 512."
)
@_JSON
def train(
    bundle: Path, output: Path, model: str | None, as_json: bool, **given: float | str | None
) -> None:
    """Train a twin on a bundle's profile documents, and let it answer the prompts.

    Nothing of the reference documents is learnt. A training that was stopped goes on where
    it was, and the same training is never done twice. `score` takes the answers.
    """
    from functools import partial

    from personalbench.bundle import load_bundle
    from personalbench.llm.registry import find_model
    from personalbench.person.settings import settings
    from personalbench.person.training import (
        ANSWERS,
        described,
        section_of,
        summary,
        train_twin,
        write_twin,
    )

    params = settings()
    name = model or params.personalize.generator
    find_model(params.models, name)
    tell = partial(click.echo, err=True)
    twin = train_twin(load_bundle(bundle), section_of(name, given), params, output, tell)
    write_twin(twin, output)
    if as_json:
        _json({"output": str(output), **described(twin)})
        return
    for line in summary(twin):
        _say(line)
    _say(f"Now: personalbench score {bundle} --answers {output / ANSWERS} --output RUN")


@click.command("training-data")
@click.argument("bundle", type=_PATH)
@click.option("--output", type=_FOLDER, required=True, help="Folder for train and valid.")
@click.option("--documents", type=click.IntRange(20), help="Most to learn from; default: 200.")
@click.option("--model", help="Who will be trained: a name in the registry; its context counts.")
@_JSON
def training_data(
    bundle: Path, output: Path, documents: int | None, model: str | None, as_json: bool
) -> None:
    """Write what a twin is trained on, for another trainer: conversations, one a line.

    train.jsonl and valid.jsonl hold profile documents only, each as the answer to a prompt
    like a case's.
    """
    from personalbench.bundle import load_bundle
    from personalbench.llm.registry import find_model
    from personalbench.person import training
    from personalbench.person.settings import settings

    params = settings()
    name = model or params.personalize.generator
    find_model(params.models, name)
    section = training.section_of(name, {"documents": documents})
    made, warnings = training.training_data(load_bundle(bundle), section, params, output)
    counts = {"trained": len(made.trained), "held_out": len(made.held_out)}
    if as_json:
        _json({"output": str(output), **counts, "flags": made.flags, "warnings": warnings})
        return
    _say(f"{output}: {counts['trained']} documents to learn from, {counts['held_out']} held out")
    for note in (*(flag.replace("_", " ") for flag in made.flags), *warnings):
        _say(f"warning: {note}")


@click.command()
@click.argument("bundle", type=_PATH)
@click.option("--answers", type=_FILE, required=True, help="The twin's answers, JSON Lines.")
@click.option("--baseline-answers", type=_FILE, help="Those of the model without the person.")
@click.option("--calibration", type=_FILE, help="Unrelated writers, for another encoder.")
@click.option("--allow-missing", is_flag=True, help="Count a case without an answer as failed.")
@click.option("--output", type=_FOLDER, required=True, help="Folder of the run.")
@_JSON
def score(
    bundle: Path,
    answers: Path,
    baseline_answers: Path | None,
    calibration: Path | None,
    allow_missing: bool,
    output: Path,
    as_json: bool,
) -> None:
    """Score a twin's answers to a bundle.

    --output is the run's folder: scores.json, report.md, report.html. Its name is the
    twin's name in every table. A run is never replaced by another.
    """
    from personalbench.bundle import load_bundle
    from personalbench.metrics.copying import CopyingLimits
    from personalbench.person.logged import log_run
    from personalbench.person.runs import SCORES, require_free, write_run
    from personalbench.person.scoring import score_run
    from personalbench.person.settings import open_encoder, settings
    from personalbench.person.summary import summary

    params = settings()
    loaded = load_bundle(bundle)
    require_free(output, loaded, answers, baseline_answers)
    scored = score_run(
        output.resolve().name,
        loaded,
        answers,
        baseline_answers,
        open_encoder(params.weights),
        calibration,
        params.score.bootstrap,
        params.seed,
        CopyingLimits(params.score.copied_run, params.score.copied_share),
        allow_missing,
        params.check.prompt_ngram,
    )
    kept = write_run(scored, loaded, output)
    anew = kept is scored.run
    logged = log_run(kept, output / SCORES, params.track.experiment) if anew else None
    if as_json:
        _json(kept.model_dump(mode="json"))
        return
    _say(summary(kept))
    if not anew:
        _say(f"\n{output}: the same was scored {kept.created}; nothing was written.")
    _say(f"\nRead {output / 'report.html'}, or {output / 'report.md'}.")
    if logged is not None:
        _say(logged)


@click.command()
@click.argument("run", type=_PATH)
@_JSON
def show(run: Path, as_json: bool) -> None:
    """Show what a scored run found."""
    from personalbench.person.runs import read_run
    from personalbench.person.summary import summary

    found = read_run(run)
    if as_json:
        _json(found.model_dump(mode="json"))
    else:
        _say(summary(found))


@click.command()
@click.argument("runs", type=_PATH, nargs=-1, required=True)
@click.option("--output", type=_FOLDER, help="Folder for comparison.json, .md and .svg.")
@click.option("--fail-if", type=click.Choice(["worse"]), help="Exit with 1 if a run is worse.")
@click.option("--min-gap-closed", type=float, help="Exit with 1 if a run closes less of the gap.")
@click.option("--junit", type=_FILE, help="Write what was required as JUnit XML.")
@_JSON
def compare(
    runs: tuple[Path, ...],
    output: Path | None,
    fail_if: str | None,
    min_gap_closed: float | None,
    junit: Path | None,
    as_json: bool,
) -> None:
    """Compare runs with the first of them: RUNS is last month's twin, then this month's."""
    from personalbench.person.comparing import chart, compare_runs, require_one_baseline
    from personalbench.person.junit import write_junit
    from personalbench.person.runs import read_runs, read_table
    from personalbench.person.summary import (
        JUNIT_MARK,
        comparison_page,
        comparison_text,
        require_ours,
        write_comparison,
    )

    if len(runs) < 2:
        raise UserError("compare needs two runs or more: the first is what the others are held to")
    folders = [run.resolve() for run in runs]
    for number, run in enumerate(runs):
        if folders[number] in folders[:number]:
            raise UserError(f"{run}: is named twice, and never differs from itself; name another")
    if min_gap_closed is not None and not isfinite(min_gap_closed):
        raise UserError(f"--min-gap-closed is {min_gap_closed}; give a number such as 0.3")
    read = read_runs(runs)
    compared = compare_runs(read, [read_table(run) for run in runs])
    if min_gap_closed is not None:
        require_one_baseline(read)
    picture = chart(read, f"Likeness to {compared.author}")
    if junit is not None:
        require_ours(junit, JUNIT_MARK)
    if output is not None:
        write_comparison(output, compared, picture, comparison_page(compared))
    required = _required(compared, fail_if, min_gap_closed)
    if junit is not None:
        write_junit(junit, f"personalbench: {compared.author}", required)
    if as_json:
        _json(compared.model_dump(mode="json"))
    else:
        _say(comparison_text(compared, picture))
    failures = [each.failure for each in required if each.failure is not None]
    for failure in failures:
        click.echo(f"failed: {failure}", err=True)
    if failures:
        raise SystemExit(1)


@click.command()
@click.argument("bundle", type=_PATH)
@click.option("--runs", type=_PATH, default=Path("runs"), show_default=True, help="All runs.")
@click.option("--output", type=_FILE, help="Picture, SVG; default: history.svg among the runs.")
@_JSON
def history(bundle: Path, runs: Path, output: Path | None, as_json: bool) -> None:
    """Draw the likeness of every version scored on BUNDLE, between floor and ceiling."""
    from personalbench.bundle import load_bundle
    from personalbench.person.chart import svg
    from personalbench.person.history import chart
    from personalbench.person.history import history as collect
    from personalbench.person.summary import SVG_MARK, history_text, require_ours
    from personalbench.storage import atomic_write

    found = collect(load_bundle(bundle).sha256, runs)
    drawn, picture = chart(found), output or runs / "history.svg"
    require_ours(picture, SVG_MARK)
    with atomic_write(picture) as file:
        file.write(svg(drawn))
    if as_json:
        _json(found.model_dump(mode="json"))
        return
    _say(history_text(found, drawn))
    _say(f"\n{picture}: the same as a picture")
    for name in found.left_out:
        _say(f"left out: {name} was scored with another encoder or other settings")


@click.group()
def bundle() -> None:
    """Look after bundles."""


@bundle.command("verify")
@click.argument("path", type=_PATH)
@_JSON
def bundle_verify(path: Path, as_json: bool) -> None:
    """Check every byte of a bundle against its manifest."""
    from personalbench.bundle import load_bundle

    loaded = load_bundle(path)
    if as_json:
        _json({"path": str(path), "sha256": loaded.sha256, "verified": True})
    else:
        _say(f"{path}: unchanged since it was frozen; sha256 {loaded.sha256}")


@bundle.command("info")
@click.argument("path", type=_PATH)
@_JSON
def bundle_info(path: Path, as_json: bool) -> None:
    """Say what a bundle holds and what it was made from."""
    from personalbench.bundle import load_bundle

    loaded = load_bundle(path)
    if as_json:
        _json(_described(loaded))
        return
    for line in _in_words(path, loaded):
        _say(line)


@click.command()
@click.argument("name", required=False)
def schema(name: str | None) -> None:
    """Print the JSON schema of a file that these commands write; without NAME, list them."""
    from personalbench.person.schemas import find_schema, schema_names

    if name is None:
        for known, what in schema_names():
            _say(f"{known}: {what}")
    else:
        _json(find_schema(name))


@click.command("verify-install")
@_JSON
def verify_install(as_json: bool) -> None:
    """Try everything offline against expected values, and say what is missing."""
    from personalbench.person.settings import settings
    from personalbench.person.verify import verify_install as verify

    checks = []
    for check in verify(settings()):
        checks.append(check)
        if not as_json:
            _say(f"{check.status:7}  {check.name}: {check.detail}")
    if as_json:
        _json([check.model_dump() for check in checks])
    if any(check.status != "ok" for check in checks):
        raise SystemExit(1)


COMMANDS = (
    verify_install,
    prepare,
    prompts,
    answer,
    train,
    training_data,
    score,
    show,
    compare,
    history,
    bundle,
    schema,
)


def _required(
    compared: "Comparisons", fail_if: str | None, min_gap_closed: float | None
) -> list["Requirement"]:
    """Everything that was asked of the runs, and whether it holds."""
    from personalbench.person.comparing import below_gap, copies_more
    from personalbench.person.junit import Requirement

    required = []
    for run in compared.runs:
        worse = run.sentence if fail_if == "worse" and run.verdict == "worse" else None
        asked = "not worse than" if fail_if == "worse" else "compared with"
        required.append(Requirement(run.name, f"{asked} {compared.first}", worse, run.sentence))
        if fail_if == "worse" and (copies := copies_more(run, compared)) is not None:
            name = f"copies no more of the profile than {compared.first}"
            required.append(Requirement(run.name, name, copies, copies))
        if min_gap_closed is not None:
            gap = run.gap_closed.value
            found = "not estimable" if gap is None else f"closes {gap:z.3f} of the gap"
            required.append(
                Requirement(
                    run.name,
                    f"closes at least {min_gap_closed} of the gap",
                    below_gap(run, min_gap_closed),
                    found,
                )
            )
    if fail_if is not None or min_gap_closed is not None:
        # No value of a run with a leak meets what is asked, nor is it a measure for others.
        leaks = [(compared.first, compared.first_leak), *((r.name, r.leak) for r in compared.runs)]
        required += [
            Requirement(name, "repeats no held-out text", f"{name}: {leak}", leak)
            for name, leak in leaks
            if leak is not None
        ]
    return required


def _in_words(path: Path, loaded: "Bundle") -> Iterator[str]:
    """What `bundle info` says to a reader."""
    from personalbench.person.doubts import contaminated, with_documents
    from personalbench.person.settings import settings

    manifest, cases, size = loaded.manifest, len(loaded.cases), loaded.manifest.group_size
    groups, left = divmod(cases, size)
    prompter = f"{manifest.prompt_model.id} at {manifest.prompt_model.revision}"
    ngram = settings().check.prompt_ngram
    leaky = with_documents(loaded.cases, contaminated(loaded.cases, ngram))
    people = len({document.author for document in loaded.contrast})
    yield f"{path}: does a twin write like {loaded.author}?"
    yield (
        f"  asked for     {cases} texts ({manifest.genre}): {groups} "
        f"group{'s' * (groups != 1)} of {size} cases" + f", {left} left over" * bool(left)
    )
    yield (
        f"  compared with {size} of {len(loaded.profile)} profile documents, drawn with seed "
        f"{manifest.seed}: {', '.join(manifest.selected_profile)}"
    )
    yield (
        f"  topics        written by {prompter}"
        if manifest.topics_file is None
        else f"  topics        read from a file, sha256 {manifest.topics_file}"
    )
    yield (
        f"  contaminated  {leaky or 'no prompt'}, by {ngram} or more words in a row of the source"
    )
    yield f"  other people  {people or 'none'}, for `answer --method contrastive`"
    yield f"  layout        version {manifest.schema_version}; sha256 {loaded.sha256}"


def _described(loaded: "Bundle") -> dict[str, Any]:
    """What `bundle info` says to a program."""
    manifest = loaded.manifest
    return {
        "author": manifest.author,
        "sha256": loaded.sha256,
        "schema_version": manifest.schema_version,
        "genre": manifest.genre,
        "seed": manifest.seed,
        "group_size": manifest.group_size,
        "profile": len(loaded.profile),
        "selected_profile": list(manifest.selected_profile),
        "cases": len(loaded.cases),
        "others": len(loaded.contrast),
        "prompt_model": f"{manifest.prompt_model.id} at {manifest.prompt_model.revision}",
        "topics_file": manifest.topics_file,
    }


def _json(value: Any) -> None:
    click.echo(json.dumps(value, allow_nan=False, indent=2))


def _say(text: str) -> None:
    """Print a text; names may hold characters that the console does not have."""
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
