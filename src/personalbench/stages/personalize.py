"""Stage `personalize@twin`: a twin answers every case."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from personalbench import paths
from personalbench.bundle import Bundle, folder_name, load_bundles
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import Model, open_model
from personalbench.llm.usage import Usage
from personalbench.params import FileParams, FinetunedParams, Params, PromptedParams
from personalbench.stages.calls import hold_to_limit, write_usage
from personalbench.storage import empty_folder, write_json, write_records
from personalbench.text.tokenise import words
from personalbench.training.adapters import Adapter, copy_adapter, served
from personalbench.training.outcomes import AUTHORS, PERPLEXITY
from personalbench.twins.answers import Answer, answer
from personalbench.twins.outside import read_answers
from personalbench.twins.prompts import Generator


def run(params: Params, twin: str) -> str:
    """Write the answers of one twin."""
    bundles = load_bundles(paths.BUNDLES)
    section = params.personalize.twin(twin)
    empty_folder(paths.ADAPTERS / twin)
    model = None
    adapters: Sequence[Adapter] = ()
    before: list[Usage] = []
    if isinstance(section, FileParams):
        answers = read_answers(Path(section.answers), bundles, twin, section.allow_missing)
    else:
        if isinstance(section, FinetunedParams):
            adapters, topics = _trained(params, twin, section, bundles)
            before.append(topics)
        answers, model = written(params, twin, section, bundles, adapters)
    results = [None if answer.status == "ok" else answer.reason for answer in answers]
    if model is not None:
        limit = params.personalize.max_failure_rate
        hold_to_limit("personalize", twin, model, results, limit, "personalize")
    # Says which folder is whose; for a twin that is not trained it keeps DVC from warning of
    # an empty folder.
    authors = [bundle.author for bundle in bundles] if adapters else []
    folders = {author: folder_name(author) for author in authors}
    write_json(paths.ADAPTERS / twin / AUTHORS, folders)
    note = write_usage("personalize", twin, model, results, before)
    path = paths.ANSWERS / f"{twin}.jsonl"
    write_records(path, answers)
    failed = sum(answer.status != "ok" for answer in answers)
    total = sum(len(words(answer.text)) for answer in answers)
    return (
        f"personalize: {twin}: {len(answers)} answers, {failed} failed, "
        f"{total} words in {path}{note}"
    )


def written(
    params: Params,
    twin: str,
    section: PromptedParams,
    bundles: Sequence[Bundle],
    adapters: Sequence[Adapter] = (),
) -> tuple[list[Answer], Model]:
    """Have the twin's generator write the answers; a trained one has an adapter an author."""
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
        if not adapters:
            return answer(bundles, twin, section, generator), model
        answers: list[Answer] = []
        for bundle, adapter in zip(bundles, adapters, strict=True):
            model.put_on(served(adapter, spec))
            answers += answer([bundle], twin, section, replace(generator, training=adapter.record))
        return answers, model


def _trained(
    params: Params, twin: str, section: FinetunedParams, bundles: Sequence[Bundle]
) -> tuple[list[Adapter], Usage]:
    """Train the generator for every author, where that has not been done yet.

    Returns:
        The adapters, and what the topics of the documents took.
    """
    # Great Expectations takes seconds to import.
    from personalbench.stages.check import write_report
    from personalbench.training.finetune import finetune, prepare, require_trainable
    from personalbench.training.perplexity import reference_perplexity

    spec = params.models[section.generator or params.personalize.generator]
    require_trainable(spec, section)
    made = prepare(twin, bundles, section, params)
    folder = paths.ADAPTERS / twin
    write_report(made.report, folder / "quality.json", folder / "quality.html")
    made.report.require_passed(folder / "quality.html")
    adapters = []
    for bundle, examples in zip(bundles, made.sets, strict=True):
        adapter = finetune(spec, examples, section, params.seed, partial(click.echo, err=True))
        own = folder / folder_name(bundle.author)
        copy_adapter(adapter, own)
        perplexity = reference_perplexity(spec, adapter, bundle)
        write_json(own / PERPLEXITY, perplexity.model_dump(mode="json"))
        adapters.append(adapter)
    return adapters, made.usage
