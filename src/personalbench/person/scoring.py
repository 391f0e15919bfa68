"""The scores of one twin on one person's bundle, by the same functions as the pipeline's."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from math import isclose
from pathlib import Path

import numpy as np
from py3langid import classify

from personalbench import __version__
from personalbench.bundle import Bundle
from personalbench.encoders import mini
from personalbench.encoders.base import Encoder, Vectors
from personalbench.encoders.calibration import Calibration
from personalbench.errors import UserError
from personalbench.metrics.copying import LIMITS, CopyingLimits, copying
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.similarity import calibrate, cosine, gap_closed, group
from personalbench.metrics.statistics import (
    Floats,
    bootstrap_likeness,
    episode_likeness,
    likeness_replicates,
    percentile_interval,
)
from personalbench.person.doubts import PROMPT_NGRAM, contaminated_sentences, doubts_about
from personalbench.person.records import (
    AnswersFile,
    BundleIdentity,
    CaseScores,
    GroupLikeness,
    LineScores,
    Run,
    Settings,
    Unrelated,
)
from personalbench.scores import UNRELIABLE_BELOW, EncoderIdentity, Scores, score
from personalbench.storage import sha256_file
from personalbench.twins.answers import Answer
from personalbench.twins.outside import read_answers

ENCODER_LANGUAGE = "en"
"""All encoders of the registry were trained on English."""

LEAST_GAP = 0.01
"""Below it a share of the gap says nothing: the encoder's values are not that exact."""

_SOFTWARE = ("numpy", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class Scored:
    """A run, and what is kept beside its record.

    Attributes:
        run: The record.
        table: What :func:`~.statistics.episode_likeness` gave, one row a complete group of
            the twin's, (G, M): enough to compare the run with another.
        answers: The twin's answers.
    """

    run: Run
    table: Floats
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class _Line:
    """One line of texts: its scores, and the likeness of its complete groups by case ids."""

    scores: Scores
    groups: dict[tuple[str, ...], Floats]

    def likeness(self, size: int, settings: Settings) -> Estimate:
        return _interval(list(self.groups.values()), size, settings)

    def record(self, size: int, settings: Settings) -> LineScores:
        family = settings.encoder.family
        return LineScores(
            likeness=self.likeness(size, settings),
            metrics={name: value for name, value in self.scores.summary.items() if name != family},
            truncated=self.scores.truncated,
            unreliable=self.scores.unreliable,
        )


def score_run(
    name: str,
    bundle: Bundle,
    answers: Path,
    baseline: Path | None,
    encoder: Encoder,
    calibration: Path | None,
    replicates: int,
    seed: int,
    limits: CopyingLimits = LIMITS,
    allow_missing: bool = False,
    prompt_ngram: int = PROMPT_NGRAM,
) -> Scored:
    """Score a file of answers to a bundle.

    Args:
        name: The run's name.
        bundle: One person's frozen evaluation.
        answers: The twin's answers.
        baseline: The unpersonalized model's answers to the same prompts.
        encoder: Makes the authorship vectors.
        calibration: Vectors of unrelated writers made with this encoder; None takes the
            ones that come with luar-mini, where they fit.
        replicates: Of the bootstrap.
        seed: Of the bootstrap.
        limits: From where on an answer is flagged as copied.
        allow_missing: Count cases without an answer as failed.
        prompt_ngram: So many words in a row shared with its source make a prompt
            contaminated.

    Raises:
        UserError: A file of answers is faulty or has nothing to score, or a calibration was
            given that was made with another encoder.
    """
    size = bundle.manifest.group_size
    settings = Settings(
        encoder=EncoderIdentity(
            family=encoder.family,
            name=encoder.name,
            revision=encoder.revision,
            max_length=encoder.max_length,
        ),
        replicates=replicates,
        seed=seed,
    )
    twin_answers = _read(answers, bundle, name, allow_missing)
    base_answers = _read(baseline, bundle, "baseline", allow_missing) if baseline else []
    profile = encoder.document_vectors([document.text for document in bundle.selected])
    twin = _line(twin_answers, bundle, encoder, profile, settings, limits)
    base = _line(base_answers, bundle, encoder, profile, settings, limits) if baseline else None
    ceiling = _line(_own_writing(bundle), bundle, encoder, profile, settings, limits)
    unrelated = _unrelated(calibration, encoder, profile, size, twin, ceiling)
    cases = _cases(bundle, twin_answers, twin, base, ceiling)
    doubts = doubts_about(bundle, twin_answers, limits, prompt_ngram)
    run = Run(
        name=name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        software={
            "personalbench": __version__,
            "python": platform.python_version(),
            **{package: version(package) for package in _SOFTWARE},
        },
        bundle=BundleIdentity(
            sha256=bundle.sha256,
            author=bundle.author,
            genre=bundle.manifest.genre,
            seed=bundle.manifest.seed,
            group_size=size,
            selected_profile=bundle.manifest.selected_profile,
            profile=len(bundle.profile),
            cases=len(bundle.cases),
            prompt_model=bundle.manifest.prompt_model,
            topics_file=bundle.manifest.topics_file,
        ),
        settings=settings,
        answers=_file(answers, twin_answers),
        baseline_answers=_file(baseline, base_answers) if baseline else None,
        copied_run=limits.run_words,
        twin=twin.record(size, settings),
        baseline=base.record(size, settings) if base else None,
        ceiling=ceiling.record(size, settings),
        unrelated=unrelated if isinstance(unrelated, Unrelated) else None,
        unrelated_reason=unrelated if isinstance(unrelated, str) else None,
        short_of_person=_interval(
            [ceiling.groups[ids] - table for ids, table in twin.groups.items()], size, settings
        ),
        improvement=_improvement(twin, base, size, settings),
        gap_closed=_gap_closed(twin, base, ceiling, size, settings),
        groups=tuple(
            GroupLikeness(
                case_ids=ids,
                twin=_first(twin.groups.get(ids)),
                baseline=_first(base.groups.get(ids)) if base else None,
                ceiling=float(table[0]),
            )
            for ids, table in ceiling.groups.items()
        ),
        leftover=twin.scores.leftover.get(bundle.author, ()),
        cases=tuple(cases),
        contaminated_cases=doubts.contaminated_cases,
        repeated_answers=doubts.repeated_answers,
        prompt_copies=doubts.prompt_copies,
        cut_off=doubts.cut_off,
        warnings=(
            *_warnings(bundle, twin, base, ceiling, cases, limits),
            *contaminated_sentences(bundle.cases, prompt_ngram),
            *doubts.sentences(limits),
        ),
    )
    return Scored(
        run=run,
        table=np.array(list(twin.groups.values())),
        answers=tuple(twin_answers),
    )


def _read(path: Path, bundle: Bundle, name: str, allow_missing: bool) -> list[Answer]:
    """The answers of a file, of which there must be some."""
    answers = read_answers(path, [bundle], name, allow_missing)
    if all(one.status != "ok" for one in answers):
        raise UserError(f"{path}: no answer has any words; there is nothing to score")
    return answers


def _own_writing(bundle: Bundle) -> list[Answer]:
    """What the person wrote, each document as the answer to its own case."""
    return [
        Answer(
            author=bundle.author,
            case_id=case.id,
            source=bundle.author,
            text=document.text,
            document=document.id,
        )
        for case, document in zip(bundle.cases, bundle.references, strict=True)
    ]


def _line(
    answers: Sequence[Answer],
    bundle: Bundle,
    encoder: Encoder,
    profile: Vectors,
    settings: Settings,
    limits: CopyingLimits,
) -> _Line:
    """Score one line of texts."""
    scores = score(
        answers[0].source,
        [bundle],
        answers,
        [],
        encoder,
        settings.replicates,
        settings.seed,
        limits,
    )
    vectors = dict(
        zip(
            (one.case_id for one in answers if one.status == "ok"),
            encoder.document_vectors([one.text for one in answers if one.status == "ok"]),
            strict=True,
        )
    )
    groups = [each.case_ids for each in scores.groups]
    if not groups:
        return _Line(scores, {})
    stacked = np.stack([[vectors[case_id] for case_id in ids] for ids in groups])
    return _Line(
        scores, dict(zip(groups, episode_likeness(encoder, profile, stacked), strict=True))
    )


def _unrelated(
    path: Path | None,
    encoder: Encoder,
    profile: Vectors,
    size: int,
    twin: _Line,
    ceiling: _Line,
) -> Unrelated | str:
    """How like the person unrelated writers are, or why that is not known."""
    file = path or mini.shipped("calibration.safetensors")
    calibration = Calibration.load(file)
    try:
        calibration.require(encoder, size)
    except UserError as error:
        if path is None:
            return error.message
        raise UserError(f"{path}: {error.message}") from None
    person = encoder.aggregate(profile[None])
    found = calibrate(cosine(calibration.vectors, person))
    means = [
        float(np.mean([table[0] for table in line.groups.values()])) if line.groups else None
        for line in (twin, ceiling)
    ]
    twin_percentile, ceiling_percentile = (
        None if mean is None else found.percentile(mean) for mean in means
    )
    return Unrelated(
        calibration=sha256_file(file),
        n=found.n,
        mean=found.mean,
        median=found.median,
        sd=found.sd,
        p5=found.p5,
        p95=found.p95,
        scores=found.scores,
        twin_percentile=twin_percentile,
        ceiling_percentile=ceiling_percentile,
    )


def _improvement(twin: _Line, base: _Line | None, size: int, settings: Settings) -> Estimate:
    """Twin less baseline over the groups that both answered, with its paired interval."""
    if base is None:
        return missing("no baseline answers")
    shared = [ids for ids in twin.groups if ids in base.groups]
    if not shared:
        return missing("twin and baseline have no complete group in common")
    return _interval([twin.groups[ids] - base.groups[ids] for ids in shared], size, settings)


def _gap_closed(
    twin: _Line, base: _Line | None, ceiling: _Line, size: int, settings: Settings
) -> Estimate:
    """Share of the gap closed over the groups that both answered.

    The interval is that of the ratio over replicates that draw alike for all three lines;
    there is none where the gap vanishes in some of them. There is no share of a gap that is
    hardly there.
    """
    if base is None:
        return missing("no baseline answers")
    shared = [ids for ids in twin.groups if ids in base.groups]
    if not shared:
        return missing("twin and baseline have no complete group in common")
    tables = [np.stack([line.groups[ids] for ids in shared]) for line in (twin, base, ceiling)]
    t, b, c = (float(table[:, 0].mean()) for table in tables)
    value = gap_closed(t, b, c).model_copy(update={"n": len(shared)})
    if value.value is None:
        return value
    if c - b < LEAST_GAP:
        return missing(
            f"the person's own writing is hardly above the model, by {c - b:.3f}", len(shared)
        )
    if len(shared) < 2:
        return value.model_copy(update={"reason": "an interval needs at least two groups"})
    ts, bs, cs = (
        likeness_replicates({"": table}, size, settings.replicates, settings.seed)
        for table in tables
    )
    low, high = percentile_interval(cs - bs)
    if low <= 0:
        return missing(
            f"the person's own writing is not surely above the model, by {c - b:.3f}, "
            f"95 % interval {low:+z.3f} to {high:+z.3f}",
            len(shared),
        )
    if (cs - bs).min() <= 0:
        return value.model_copy(update={"reason": "no interval: the gap is not surely above zero"})
    low, high = percentile_interval((ts - bs) / (cs - bs))
    return with_spread(value.model_copy(update={"ci_low": low, "ci_high": high}))


def with_spread(estimate: Estimate) -> Estimate:
    """No interval in place of one of zero width: equal groups only look certain."""
    low, high = estimate.ci_low, estimate.ci_high
    if low is None or high is None or not isclose(low, high, rel_tol=0, abs_tol=1e-9):
        return estimate
    reason = "all groups are equal: resampling them shows no spread"
    return estimate.model_copy(
        update={"ci_low": None, "ci_high": None, "note": None, "reason": reason}
    )


def _interval(tables: Sequence[Floats], size: int, settings: Settings) -> Estimate:
    if not tables:
        return missing("no complete group of answers")
    return with_spread(
        bootstrap_likeness({"person": np.stack(tables)}, size, settings.replicates, settings.seed)
    )


def _cases(
    bundle: Bundle, answers: Sequence[Answer], twin: _Line, base: _Line | None, ceiling: _Line
) -> list[CaseScores]:
    by_line = [
        {case.case_id: case.metrics for case in line.scores.cases} if line else {}
        for line in (twin, base, ceiling)
    ]
    flagged = {case.case_id for case in twin.scores.cases if case.copied}
    made = []
    for case, document, one in zip(bundle.cases, bundle.references, answers, strict=True):
        of_twin, of_base, of_person = (metrics.get(case.id, {}) for metrics in by_line)
        copied = of_twin.get("copied_run")
        words = None if copied is None or copied.value is None else int(copied.value)
        leaked = copying(one.text, [item.text for item in bundle.references]).longest_run_words
        made.append(
            CaseScores(
                case_id=case.id,
                document=document.id,
                twin=of_twin,
                baseline=of_base,
                person={name: value for name, value in of_person.items() if name != "rouge_l"},
                copied_words=words,
                copying=case.id in flagged,
                reference_words=leaked if one.status == "ok" else None,
            )
        )
    return made


def _warnings(
    bundle: Bundle,
    twin: _Line,
    base: _Line | None,
    ceiling: _Line,
    cases: Sequence[CaseScores],
    limits: CopyingLimits,
) -> list[str]:
    """What a reader must know before believing the numbers."""
    said = []
    language = classify(" ".join(document.text[:1000] for document in bundle.profile))[0]
    if language != ENCODER_LANGUAGE:
        said.append(
            f"The profile looks like language {language!r}; the encoder was trained on English "
            "and its values for other languages are not to be relied on."
        )
    names = {"twin": twin, "baseline": base, "person": ceiling}
    for name, line in names.items():
        if line is None:
            continue
        whose = "the person's texts" if name == "person" else f"the {name}'s answers"
        total = len(bundle.cases)
        if line.scores.failed:
            said.append(f"{line.scores.failed} of {total} of {whose} are missing or empty.")
        if line.scores.unreliable:
            said.append(
                f"{line.scores.unreliable} of {total} of {whose} have fewer than about 40 words "
                f"({UNRELIABLE_BELOW} tokens): authorship of so short texts is unreliable."
            )
        if line.scores.truncated:
            said.append(
                f"{line.scores.truncated} of {total} of {whose} are longer than the encoder "
                "reads; their ends are not measured."
            )
    if copied := [case.case_id for case in cases if case.copying]:
        said.append(
            f"Copying: {', '.join(copied)}: {limits.run_words} or more words in a row, or "
            f"{limits.share:.0%} of all runs of five words, stand in the profile; likeness by "
            "quotation is not style."
        )
    leaked = [case.case_id for case in cases if (case.reference_words or 0) >= limits.run_words]
    if leaked:
        said.append(
            f"Leak: {', '.join(leaked)}: {limits.run_words} or more words in a row stand in the "
            "held-out documents, which a twin must never have seen."
        )
    grouped, _ = group([case.id for case in bundle.cases], bundle.manifest.group_size)
    if len(grouped) == 1:
        said.append(
            f"One group of {bundle.manifest.group_size} cases: how much the value would vary with "
            "other cases is not estimable. Ten cases or more give an interval."
        )
    return said


def _first(table: Floats | None) -> float | None:
    return None if table is None else float(table[0])


def _file(path: Path, answers: Sequence[Answer]) -> AnswersFile:
    return AnswersFile(
        name=path.name,
        sha256=sha256_file(path),
        answers=len(answers),
        failed=sum(one.status != "ok" for one in answers),
    )
