"""Stage `personalize@twin`: a twin answers every case."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from personalbench import paths
from personalbench.bundle import Bundle, folder_name, load_bundles
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import Model, open_model
from personalbench.params import FileParams, FinetunedParams, ModelParams, Params, PromptedParams
from personalbench.stages.calls import hold_to_limit, write_usage
from personalbench.storage import empty_folder, write_records
from personalbench.text.tokenise import words
from personalbench.training.adapters import Adapter, copy_adapter, served
from personalbench.twins.answers import Answer, answer
from personalbench.twins.outside import read_answers
from personalbench.twins.prompts import Generator


def run(params: Params, twin: str) -> str:
    """Write the answers of one twin."""
    bundles = load_bundles(paths.BUNDLES)
    section = params.personalize.twin(twin)
    empty_folder(paths.ADAPTERS / twin)  # stays empty unless the twin is trained
    model = None
    if isinstance(section, FileParams):
        answers = read_answers(Path(section.answers), bundles, twin, section.allow_missing)
    else:
        answers, model = written(params, twin, section, bundles)
    results = [None if answer.status == "ok" else answer.reason for answer in answers]
    if model is not None:
        limit = params.personalize.max_failure_rate
        hold_to_limit("personalize", twin, model, results, limit, "personalize")
    note = write_usage("personalize", twin, model, results)
    path = paths.ANSWERS / f"{twin}.jsonl"
    write_records(path, answers)
    failed = sum(answer.status != "ok" for answer in answers)
    total = sum(len(words(answer.text)) for answer in answers)
    return (
        f"personalize: {twin}: {len(answers)} answers, {failed} failed, "
        f"{total} words in {path}{note}"
    )


def written(
    params: Params, twin: str, section: PromptedParams, bundles: Sequence[Bundle]
) -> tuple[list[Answer], Model]:
    """Have the twin's generator write the answers."""
    shared = params.personalize
    spec = params.models[section.generator or shared.generator]
    with ResponseCache.of_project() as cache, open_model(spec, cache=cache) as model:
        generator = Generator(
            ask=model.complete,
            context=spec.max_context,
            max_tokens=section.max_tokens or shared.max_tokens or spec.max_tokens,
            temperature=next(
                each
                for each in (section.temperature, shared.temperature, spec.temperature)
                if each is not None
            ),
            seed=params.seed,
            templates=params.template_folder,
        )
        if not isinstance(section, FinetunedParams):
            return answer(bundles, twin, section, generator), model
        answers: list[Answer] = []
        for bundle, adapter in zip(
            bundles, _trained(params, twin, section, spec, bundles), strict=True
        ):
            model.put_on(served(adapter, spec))
            answers += answer([bundle], twin, section, replace(generator, training=adapter.record))
        return answers, model


def _trained(
    params: Params,
    twin: str,
    section: FinetunedParams,
    spec: ModelParams,
    bundles: Sequence[Bundle],
) -> list[Adapter]:
    """Train the generator for every author, where that has not been done yet."""
    # Great Expectations takes seconds to import.
    from personalbench.stages.check import write_report
    from personalbench.training.finetune import check_sets, finetune, training_sets

    prompter = params.models[params.bundle.prompt_model]
    with ResponseCache.of_project() as cache, open_model(prompter, cache=cache) as model:
        sets = training_sets(
            bundles,
            section,
            params.bundle,
            min(spec.max_context, prompter.max_context),
            params.seed,
            model.complete,
            params.template_folder,
        )
    folder = paths.ADAPTERS / twin
    report = check_sets(bundles, sets, params.corpus, params.check)
    write_report(report, folder / "quality.json", folder / "quality.html")
    report.require_passed()
    adapters = []
    for bundle, examples in zip(bundles, sets, strict=True):
        adapter = finetune(spec, examples, section, params.seed)
        copy_adapter(adapter, folder / folder_name(bundle.author))
        adapters.append(adapter)
    return adapters
