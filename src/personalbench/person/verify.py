"""Does everything work here? An offline test with expected values, and what is missing."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import psutil
from pydantic import BaseModel, ConfigDict

from personalbench import paths
from personalbench.bundle import Bundle, freeze, load_bundle
from personalbench.encoders.base import Encoder
from personalbench.encoders.kept import KeptVectors
from personalbench.encoders.weights import RECORD
from personalbench.errors import UserError
from personalbench.llm.client import check_reachable, open_model
from personalbench.llm.types import Reply, Request, user
from personalbench.params import Params, WeightsParams
from personalbench.person.answering import prompt_lines
from personalbench.person.comparing import compare_runs
from personalbench.person.prepare import make_bundle, read_writing
from personalbench.person.records import Run
from personalbench.person.runs import read_run, read_table, write_run
from personalbench.person.scoring import score_run
from personalbench.person.settings import open_encoder
from personalbench.storage import read_json, write_records
from personalbench.twins.outside import OutsideAnswer

Status = Literal["ok", "missing", "failed"]

TOLERANCE = 0.005
"""How far a likeness may be from the expected one: processors round differently."""

_MEMORY = 2 << 30
_REPLICATES = 200  # no interval is expected to have a certain value
_PACKAGES = ("great-expectations", "numpy", "tokenizers", "torch", "transformers")


class Check(BaseModel):
    """One thing that was tried.

    Attributes:
        name: What.
        status: ``missing`` is something to install, start or free; ``failed`` is a fault.
        detail: What was found, or what to do.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    status: Status
    detail: str


class Expected(BaseModel):
    """What the fixture gives with one revision of luar-mini."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoder_revision: str
    values: dict[str, float]


class Fixture(BaseModel):
    """Public-domain passages: a person, and two others in the place of twin and baseline.

    Attributes:
        profile: The person's texts that a twin may see.
        reference: The person's held-out texts.
        topics: What those are about.
        twin: Answers by somebody else.
        baseline: Answers by a third.
        expected: The scores.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    profile: tuple[str, ...]
    reference: tuple[str, ...]
    topics: tuple[str, ...]
    twin: tuple[str, ...]
    baseline: tuple[str, ...]
    expected: Expected


FIXTURE = Path(__file__).with_name("fixture.json")


def verify_install(params: Params) -> Iterator[Check]:
    """Try everything; gives each result as soon as it is there.

    Args:
        params: Names the encoder and the models that would be used here.
    """
    yield _try("packages", _packages)
    yield _try("memory", _memory)
    yield _try("encoder", lambda: _encoder(params.weights))
    yield _try("measurement", lambda: _measurement(params))
    for name in dict.fromkeys([params.bundle.prompt_model, params.personalize.generator]):
        yield _try(f"model {name}", partial(_model, params, name))


def run_fixture(params: Params, fixture: Fixture, encoder: Encoder, folder: Path) -> Run:
    """Prepare, freeze, load, answer, score, report and compare, all in a folder.

    Raises:
        UserError: A step does not do what it promises.
    """
    person = folder / "fixture"
    for side, texts in (("profile", fixture.profile), ("reference", fixture.reference)):
        for number, text in enumerate(texts):
            path = person / side / f"{side}-{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    bundle = _frozen(params, fixture, person, folder)
    runs = []
    for name, texts in (("baseline", fixture.baseline), ("twin", fixture.twin)):
        lines = [
            OutsideAnswer(case_id=line.case_id, output=text)
            for line, text in zip(prompt_lines(bundle), texts, strict=True)
        ]
        write_records(folder / f"{name}.jsonl", lines)
        scored = score_run(
            name,
            bundle,
            folder / f"{name}.jsonl",
            folder / "baseline.jsonl",
            encoder,
            None,
            _REPLICATES,
            params.seed,
        )
        write_run(scored, bundle, folder / name)
        runs.append(folder / name)
    compare_runs([read_run(run) for run in runs], [read_table(run) for run in runs])
    return read_run(runs[-1])


def values_of(run: Run) -> dict[str, float]:
    """The values of a run of the fixture that are expected."""
    found = {
        "twin": run.twin.likeness.value,
        "baseline": run.baseline.likeness.value if run.baseline else None,
        "ceiling": run.ceiling.likeness.value,
        "gap closed": run.gap_closed.value,
        "unrelated writers": run.unrelated.mean if run.unrelated else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def load_fixture() -> Fixture:
    """The fixture that comes with this release."""
    return Fixture.model_validate(read_json(FIXTURE))


def _try(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name=name, status="ok", detail=check())
    except _Missing as error:
        return Check(name=name, status="missing", detail=str(error))
    except UserError as error:
        return Check(name=name, status="failed", detail=error.message)


class _Missing(Exception):
    """Something has to be installed, started or freed first."""


def _packages() -> str:
    found, absent = [f"python {sys.version.split()[0]}"], []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            absent.append(package)
    if absent:
        raise _Missing(f"run `pip install {' '.join(absent)}`")
    return ", ".join(found)


def _memory() -> str:
    free = psutil.virtual_memory().available
    if free < _MEMORY:
        raise _Missing(
            f"{free / 2**30:.1f} GiB free; the encoder and the smallest model need about "
            f"{_MEMORY >> 30} GiB: close something"
        )
    return f"{free / 2**30:.1f} GiB free"


def _encoder(params: WeightsParams) -> str:
    if params.encoder != "luar-mini" and not (paths.ENCODER / RECORD).exists():
        raise _Missing(f"{params.encoder} is not here; run `personalbench weights`")
    encoder = open_encoder(params)
    return f"{encoder.name} at {encoder.revision[:12]}, verified"


def _measurement(params: Params) -> str:
    """The whole test on the fixture; its values are those of luar-mini."""
    fixture = load_fixture()
    encoder = open_encoder(WeightsParams())
    if encoder.revision != fixture.expected.encoder_revision:
        raise UserError(
            f"luar-mini is at {encoder.revision[:12]}, the expected values are for "
            f"{fixture.expected.encoder_revision[:12]}; reinstall personalbench"
        )
    with tempfile.TemporaryDirectory() as folder:
        anew = KeptVectors(encoder.encoder, Path(folder, "vectors"))
        found = values_of(run_fixture(params, fixture, anew, Path(folder)))
    for name, value in fixture.expected.values.items():
        if abs(found[name] - value) > TOLERANCE:
            raise UserError(
                f"{name}: {found[name]:.4f}, expected {value:.4f}; reinstall the releases that "
                "constraints.txt names"
            )
    told = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
    return f"prepare, prompts, score, report and compare give the expected values: {told}"


def _model(params: Params, name: str) -> str:
    spec = params.models[name]
    try:
        check_reachable(spec)
    except UserError as error:
        raise _Missing(error.message) from None
    if spec.kind == "server":
        return f"{spec.id} answers at {', '.join(spec.endpoints)}"
    request = Request(messages=user("Say hello."), temperature=0.0, max_tokens=8, seed=1)
    with open_model(spec, cache=None) as model:
        reply = model.complete([request], name)[0]
    if reply.status not in ("ok", "truncated"):
        raise UserError(f"{spec.id} does not answer: {reply.status}: {reply.reason}")
    return f"{spec.id} answers, embedded"


def _frozen(params: Params, fixture: Fixture, person: Path, folder: Path) -> Bundle:
    """The fixture's bundle, frozen twice alike, and refused once it was changed."""
    writing = read_writing(person, None, params)
    topics = dict(zip(fixture.reference, fixture.topics, strict=True))

    def recorded(requests: Sequence[Request], description: str) -> list[Reply]:
        return [
            Reply(status="ok", text=next(t for d, t in topics.items() if d in _asked(request)))
            for request in requests
        ]

    bundle, _ = make_bundle(writing, params, "speech passage", None, recorded)
    made = folder / "my.bundle"
    freeze(bundle, made)
    freeze(bundle, folder / "my.zip")
    if load_bundle(made) != load_bundle(folder / "my.zip"):
        raise UserError("a bundle is not the same as a folder and as a zip")
    changed = folder / "changed.bundle"
    freeze(bundle, changed)
    with open(changed / "profile.jsonl", "a", encoding="utf-8") as file:
        file.write(" ")
    try:
        load_bundle(changed)
    except UserError:
        return load_bundle(made)
    raise UserError("a changed bundle is not noticed")


def _asked(request: Request) -> str:
    return "".join(message.content for message in request.messages)
