"""Tables of the study, from the scores of the last run: python docs/study/summary.py"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from personalbench import paths
from personalbench.metrics.estimate import Estimate
from personalbench.metrics.statistics import bootstrap_mean
from personalbench.params import load_params
from personalbench.report.results import load_results
from personalbench.scores import Scores
from personalbench.storage import read_json
from personalbench.training.adapters import RECORD
from personalbench.training.perplexity import Perplexity
from personalbench.training.records import AdapterRecord

REFERENCE = ("ceiling", "floor")


def main() -> None:
    """Print the tables as Markdown."""
    params = load_params()
    scores = load_results(paths.SCORES, params.twins).scores
    print("\n".join(likeness_table(scores, params.score.bootstrap, params.seed)))
    for twin in params.twins:
        lines = training_table(paths.ADAPTERS / twin)
        if lines:
            print("\n".join(["", f"Training of {twin}:", "", *lines]))


def by_author(line: Scores, without_copied: bool = False) -> dict[str, float]:
    """Mean 5v5 likeness of each author; a group with a copied answer may be left out."""
    copied = {(case.author, case.case_id) for case in line.cases if case.copied}
    values: dict[str, list[float]] = defaultdict(list)
    for group in line.groups:
        if not (without_copied and any((group.author, case) in copied for case in group.case_ids)):
            values[group.author].append(group.likeness)
    return {author: sum(own) / len(own) for author, own in values.items()}


def likeness_table(scores: Mapping[str, Scores], replicates: int, seed: int) -> list[str]:
    """Every line's likeness, its place between floor and ceiling, and its copying."""
    rows = [
        "| line | LUAR 5v5 | less non_personalized | less few_shot | less few_shot, no copies "
        "| above floor | gap closed | copied |",
        "|---|---|---|---|---|---|---|---|",
    ]
    floor, ceiling = by_author(scores["floor"]), by_author(scores["ceiling"])
    base = by_author(scores["non_personalized"])
    for name, line in scores.items():
        own = by_author(line)
        cells = [name, _shown(_mean(own, replicates, seed))]
        for other in ("non_personalized", "few_shot"):
            for without_copied in (False, True) if other == "few_shot" else (False,):
                left = by_author(line, without_copied)
                right = by_author(scores[other], without_copied)
                paired = {
                    author: left[author] - right[author] for author in left if author in right
                }
                known = name not in (*REFERENCE, other)
                cells.append(_shown(_mean(paired, replicates, seed)) if known else "")
        shared = [author for author in own if author in floor]
        above = sum(own[author] > floor[author] for author in shared)
        closed = {
            author: (own[author] - base[author]) / (ceiling[author] - base[author])
            for author in own
            if author in base and ceiling.get(author, base[author]) > base[author]
        }
        twin = name not in REFERENCE
        cells += [
            f"{above} of {len(shared)}" if name != "floor" else "",
            _shown(_mean(closed, replicates, seed)) if twin and name != "non_personalized" else "",
            f"{line.copied} of {line.answers}" if twin else "",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def training_table(folder: Path) -> list[str]:
    """Loss before and after, and the reference documents' perplexity, an author a row.

    Authors have numbers here: nothing of the corpus stands in a table.
    """
    records = sorted(folder.glob(f"*/{RECORD}"))
    if not records:
        return []
    rows = [
        "| author | documents | held-out loss before | after | steps | perplexity before | after |",
        "|---|---|---|---|---|---|---|",
    ]
    for number, path in enumerate(records, start=1):
        record = AdapterRecord.model_validate_json(path.read_text(encoding="utf-8"))
        perplexity = Perplexity.model_validate(read_json(path.with_name("perplexity.json")))
        best = min(record.curve, key=lambda point: point.held_out)
        rows.append(
            f"| {number} | {len(record.trained)} | {record.curve[0].held_out:.3f} "
            f"| {best.held_out:.3f} | {record.best} of {record.steps} "
            f"| {perplexity.base:.1f} | {perplexity.trained:.1f} |"
        )
    return rows


def _mean(values: Mapping[str, float], replicates: int, seed: int) -> Estimate:
    singles: dict[str, Sequence[float]] = {author: [value] for author, value in values.items()}
    return bootstrap_mean(singles, replicates, seed)


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not estimable"
    if estimate.ci_low is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.ci_low:.3f}, {estimate.ci_high:.3f}]"


if __name__ == "__main__":
    main()
