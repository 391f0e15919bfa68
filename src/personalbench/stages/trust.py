"""Stage `trust`: how far the judge can be trusted."""

from personalbench import paths
from personalbench.bundle import load_bundles, reference_documents
from personalbench.judge.again import ask_again
from personalbench.judge.records import AuthorTraits, Judgement
from personalbench.judge.trust import Trust, trust
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import open_model
from personalbench.params import REFERENCE_LINES, Params
from personalbench.references import one_per_case
from personalbench.stages.calls import write_usage
from personalbench.storage import read_records, write_json
from personalbench.twins.answers import Answer


def run(params: Params) -> str:
    """Ask the judge again, and measure it by all that it said."""
    bundles = load_bundles(paths.BUNDLES)
    traits = read_records(paths.TRAITS, AuthorTraits)
    texts = {line: _texts(line) for line in (*REFERENCE_LINES, *params.twins)}
    judgements = {line: _on(line, answers) for line, answers in texts.items()}
    spec = params.models[params.judge.model]
    with ResponseCache.of_project() as cache, open_model(spec, cache=cache) as model:
        again = ask_again(
            bundles,
            {line: texts[line] for line in REFERENCE_LINES},
            judgements,
            {record.author: record for record in traits},
            reference_documents(bundles),
            params.judge,
            params.trust,
            params.seed,
            model,
            params.template_folder,
        )
    record = trust(
        params.judge.model,
        judgements,
        traits,
        again,
        {
            twin: (generator, params.models[generator])
            for twin in params.twins
            if (generator := params.generator_of(twin)) is not None
        },
        spec,
        params.score.bootstrap,
        params.seed,
    )
    results = [
        *(each.same_author_reason for each in again.second),
        *(each.same_author_reason for each in again.swapped),
        *(each.reason for extraction in again.extractions for each in extraction),
    ]
    note = write_usage("trust", None, model, results)
    write_json(paths.TRUST, record.model_dump(mode="json"))
    return f"trust: {_verdict(record)} in {paths.TRUST}{note}"


def _texts(line: str) -> list[Answer]:
    """The texts of a line that were judged."""
    answers = read_records(paths.ANSWERS / f"{line}.jsonl", Answer)
    return [answer for answer in one_per_case(answers) if answer.status == "ok"]


def _on(line: str, texts: list[Answer]) -> list[Judgement]:
    """The judgements on texts; a case without a text has none to judge."""
    judged = {(text.author, text.case_id, text.source) for text in texts}
    return [
        judgement
        for judgement in read_records(paths.JUDGEMENTS / f"{line}.jsonl", Judgement)
        if (judgement.author, judgement.case_id, judgement.source) in judged
    ]


def _verdict(record: Trust) -> str:
    told = [lens.metric for lens in record.separations if lens.separates]
    said = f"{record.judge} separates the authors from others by {' and '.join(told) or 'nothing'}"
    if record.self_preference:
        twins = ", ".join(item.twin for item in record.self_preference)
        said += f"; warning: it may prefer its own kind of writing in {twins}"
    return said
