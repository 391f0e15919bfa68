"""Stage `judge@twin`: the judge's verdicts on a twin's answers, or on real texts."""

from personalbench import paths
from personalbench.bundle import load_bundles, reference_documents
from personalbench.judge.judge import judge
from personalbench.judge.records import AuthorTraits
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import open_model
from personalbench.params import Params
from personalbench.references import one_per_case
from personalbench.stages.calls import hold_to_limit, write_usage
from personalbench.storage import read_records, write_records
from personalbench.twins.answers import Answer


def run(params: Params, line: str) -> str:
    """Write the judgements of one twin, of the ceiling or of the floor."""
    bundles = load_bundles(paths.BUNDLES)
    answers = one_per_case(read_records(paths.ANSWERS / f"{line}.jsonl", Answer))
    traits = {record.author: record for record in read_records(paths.TRAITS, AuthorTraits)}
    references = reference_documents(bundles)
    spec = params.models[params.judge.model]
    with ResponseCache.of_project() as cache, open_model(spec, cache=cache) as model:
        judgements = judge(
            answers,
            traits,
            references,
            params.judge,
            params.seed,
            model,
            params.template_folder,
        )
    judged = [
        each for answer, each in zip(answers, judgements, strict=True) if answer.status == "ok"
    ]
    results = [each.same_author_reason for each in judged] + [
        each.findings_reason for each in judged if traits[each.author].questions is not None
    ]
    hold_to_limit("judge", line, model, results, params.judge.max_failure_rate, "judge")
    note = write_usage("judge", line, model, results)
    path = paths.JUDGEMENTS / f"{line}.jsonl"
    write_records(path, judgements)
    unscored = sum(judgement.findings is None for judgement in judgements)
    silent = sum(judgement.same_author is None for judgement in judgements)
    return (
        f"judge: {line}: {len(judgements)} texts, {unscored} without traits, "
        f"{silent} without a verdict in {path}{note}"
    )
