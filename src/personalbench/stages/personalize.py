"""Stage `personalize@twin`: a twin answers every case."""

from personalbench import paths
from personalbench.bundle import load_bundles
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import open_model
from personalbench.params import Params
from personalbench.storage import write_records
from personalbench.text.tokenise import words
from personalbench.twins.answers import answer
from personalbench.twins.prompts import Generator


def run(params: Params, twin: str) -> str:
    """Write the answers of one twin."""
    section = params.personalize
    bundles = load_bundles(paths.BUNDLES)
    spec = params.models[section.generator]
    with ResponseCache.of_project() as cache, open_model(spec, cache=cache) as model:
        answers = answer(
            bundles,
            twin,
            section.twin(twin),
            Generator(
                ask=model.complete,
                context=spec.max_context,
                max_tokens=section.max_tokens,
                temperature=section.temperature,
                seed=params.seed,
            ),
        )
    path = paths.ANSWERS / f"{twin}.jsonl"
    write_records(path, answers)
    failed = sum(answer.status != "ok" for answer in answers)
    total = sum(len(words(answer.text)) for answer in answers)
    return f"personalize: {twin}: {len(answers)} answers, {failed} failed, {total} words in {path}"
