"""A project folder as the stages leave it, with results that are known and no model behind."""

from pathlib import Path

from people import bundle
from personalbench import paths
from personalbench.bundle import folder_name, freeze
from personalbench.corpus.select import CorpusReport, Totals
from personalbench.judge.records import AuthorTraits, Judgement
from personalbench.llm.usage import Usage
from personalbench.metrics.estimate import Estimate, missing
from personalbench.params import Params, load_params
from personalbench.quality import CheckResult, Fault, QualityReport
from personalbench.resources import write_resources
from personalbench.scores import AnswerScores, EncoderIdentity, GroupScores, Scores
from personalbench.storage import write_json, write_records
from personalbench.twins.answers import Answer

ROOT = Path(__file__).parent.parent
SECRET = "The heron counts the lanterns"
"""Stands in every text that is no number or name."""

ENCODER = EncoderIdentity(family="luar", name="luar-mini", revision="abc", max_length=512)


def record_project(
    folder: Path,
    twins: tuple[str, ...] = ("few_shot", "profile"),
    authors: tuple[str, ...] = ("ada", "ben"),
) -> Params:
    """Write the outputs of every stage but `track`; the current folder must be ``folder``.

    A twin's values by author are 0.5 for the first, 0.51 for the second and so on, with
    0.1 more for the ceiling and 0.1 less for the floor.
    """
    for author in authors:
        freeze(bundle(author), paths.BUNDLES / folder_name(author))
    for line in ("ceiling", *twins, "floor"):
        shift = {"ceiling": 0.1, "floor": -0.1}.get(line, 0.0)
        write_json(
            paths.SCORES / f"{line}.json", scores(line, authors, shift).model_dump(mode="json")
        )
        write_records(paths.ANSWERS / f"{line}.jsonl", answers(line, authors))
        write_records(paths.JUDGEMENTS / f"{line}.jsonl", judgements(line, authors))
        write_records(paths.USAGE / "personalize" / f"{line}.jsonl", [usage(line)])
        write_resources("score", line)
    write_records(
        paths.TRAITS,
        [AuthorTraits(author=name, questions=(SECRET,) * 5, documents=()) for name in authors],
    )
    kept = Totals(authors=len(authors), documents=22, words=300, profile=16, reference=6)
    write_json(
        paths.CORPUS,
        CorpusReport(
            reader="sotu", seed=42, content_sha256="c0ffee" * 10, found=kept, kept=kept,
            counts={}, authors=[], notes={}, dropped={},
        ).model_dump(mode="json"),
    )  # fmt: skip
    write_json(paths.QUALITY, quality("language", passed=False).model_dump(mode="json"))
    write_json(paths.BUNDLE_QUALITY, quality("bundles", passed=True).model_dump(mode="json"))
    write_json(paths.ENCODER / "weights.json", {"encoder": "luar-mini", "revision": "abc"})
    write_json(paths.METRICS, {})
    for name in ("quality.html", "bundle-quality.html", "figures/methods.png"):
        (folder / "reports" / name).parent.mkdir(exist_ok=True)
        (folder / "reports" / name).write_text(name, encoding="utf-8")
    for path in (paths.PAGE, folder / "reports" / "report.md"):
        path.write_text(f"{SECRET}\n", encoding="utf-8")
    params = load_params(ROOT / "params.yaml")
    extra = {name: params.personalize.twin("few_shot") for name in twins}
    personalize = params.personalize.model_copy()
    object.__setattr__(
        personalize, "__pydantic_extra__", {**extra, **params.personalize.__pydantic_extra__}
    )
    return params.model_copy(
        update={"twins": list(twins), "templates": None, "personalize": personalize}
    )


def scores(line: str, authors: tuple[str, ...], shift: float = 0.0) -> Scores:
    """A line's scores, five answers an author."""
    values = {author: 0.5 + number / 100 + shift for number, author in enumerate(authors)}
    estimate = Estimate(value=0.5 + shift, ci_low=0.4 + shift, ci_high=0.6 + shift, n=10, authors=2)
    names = ("tmr", "same_author", "func_cos", "punct_cos")
    return Scores(
        line=line,
        encoder=ENCODER,
        answers=5 * len(authors),
        failed=1,
        copied=0,
        judge_failures=Estimate(value=0.25),
        truncated=0,
        unreliable=0,
        leftover={},
        summary={
            "luar": estimate,
            **dict.fromkeys(names, estimate),
            "rouge_l": missing(f"5 of 5 not measured, for example: {SECRET}"),
        },
        groups=tuple(
            GroupScores(author=author, source=line, case_ids=("case_0001",), likeness=value)
            for author, value in values.items()
        ),
        cases=tuple(
            AnswerScores(
                author=author,
                case_id=f"case_{case:04}",
                source=line,
                words=100,
                tokens=130,
                metrics={
                    **dict.fromkeys(names, Estimate(value=value)),
                    "rouge_l": missing(SECRET),
                },
            )
            for author, value in values.items()
            for case in range(1, 6)
        ),
    )


def answers(line: str, authors: tuple[str, ...]) -> list[Answer]:
    return [
        Answer(author=author, case_id=f"case_{case:04}", source=line, text=f"{SECRET} {case}.")
        for author in authors
        for case in range(1, 6)
    ]


def judgements(line: str, authors: tuple[str, ...]) -> list[Judgement]:
    return [
        Judgement(
            author=author, case_id=f"case_{case:04}", source=line, findings=None,
            findings_reason=SECRET, same_author=True, explanation=SECRET,
        )
        for author in authors
        for case in range(1, 6)
    ]  # fmt: skip


def usage(line: str) -> Usage:
    return Usage(
        stage="personalize", item=line, model="stub", id="stub-1b", revision="0123abc",
        seeds="sent", questions=5, failed=0, failure_rate=0.0, replies=6, statuses={}, flags={},
        duplicates=0, prompt_tokens=1100, completion_tokens=300, uncounted=0, seconds=9.0,
        busy_seconds=4.5, tokens_per_second=66.7, cost=None, cost_reason="no price",
    )  # fmt: skip


def quality(name: str, passed: bool) -> QualityReport:
    check = CheckResult(
        name=name, states="something", remedy="mend it", severity="warning",
        passed=passed, checked=9,
        faults=[] if passed else [Fault(id="ada-1")],
    )  # fmt: skip
    return QualityReport(passed=True, checks=[check])
