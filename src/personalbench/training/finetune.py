"""From a bundle to an adapter: draw, ask for topics, check, train or find."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock
from safetensors.numpy import save

from personalbench.bundle import Bundle
from personalbench.errors import UserError
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import open_model
from personalbench.llm.embedded import locate, model_file
from personalbench.llm.types import Ask
from personalbench.llm.usage import Usage, summarise
from personalbench.params import (
    BundleParams,
    CheckParams,
    CorpusParams,
    FinetunedParams,
    ModelParams,
    Params,
    TrainingParams,
)
from personalbench.quality import CaseFacts, QualityReport, TrainingFacts, check_training
from personalbench.seeds import derive
from personalbench.storage import sha256_bytes
from personalbench.templates import SHIPPED
from personalbench.topics import make_cases
from personalbench.training.adapters import (
    Adapter,
    adapter_key,
    checkpoint_of,
    hash_of,
    identity,
    kept,
    load_adapter,
    recipe,
    write_adapter,
)
from personalbench.training.examples import Example, TrainingSet, choose, training_set
from personalbench.training.learner import encode, load_model
from personalbench.training.records import AdapterRecord
from personalbench.training.trainer import train

# The kind of model that an engine trains, and what it needs.
_ENGINES = {"peft": ("embedded", ("peft", "accelerate", "gguf")), "mlx": ("server", ("mlx_lm",))}


def training_sets(
    bundles: Sequence[Bundle],
    params: TrainingParams,
    topics: BundleParams,
    context: int,
    seed: int,
    ask: Ask,
    templates: Path = SHIPPED,
) -> list[TrainingSet]:
    """What the twins of several authors are trained on.

    Args:
        bundles: One an author.
        params: How many documents.
        topics: How prompts are made: as those of the cases.
        context: Tokens of the shortest context that a document must fit into.
        seed: The run's seed.
        ask: Sends requests to the prompt model.
        templates: Folder of the prompt templates.

    Raises:
        UserError: An author has too few documents, or the prompt model gave no topic.
    """
    chosen = [choose(bundle, params.documents, seed, context) for bundle in bundles]
    cases = make_cases(
        [(*each.trained, *each.held_out) for each in chosen], topics, seed, ask, templates
    )
    return [
        training_set(bundle.author, documents, own)
        for bundle, documents, own in zip(bundles, chosen, cases, strict=True)
    ]


@dataclass(frozen=True)
class Prepared:
    """Everything before a training.

    Attributes:
        sets: What is learnt, one an author.
        report: What the checks say about it.
        usage: What the topics took.
    """

    sets: list[TrainingSet]
    report: QualityReport
    usage: Usage


def prepare(
    twin: str, bundles: Sequence[Bundle], section: FinetunedParams, params: Params
) -> Prepared:
    """Training sets and what the checks say about them; nothing is trained yet.

    Args:
        twin: Its name.
        bundles: One an author.
        section: The twin's section of params.yaml.
        params: All of it.

    Raises:
        UserError: An author has too few documents, or the prompt model gave no topic.
    """
    spec = params.models[section.generator or params.personalize.generator]
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
    # Where a topic is missing, it has stopped: there is no example without one.
    asked = [None for each in sets for _ in (*each.trained, *each.held_out)]
    return Prepared(
        sets,
        check_sets(bundles, sets, params.corpus, params.check),
        summarise("training", twin, prompter, model.replies, asked),
    )


def require_trainable(spec: ModelParams, params: TrainingParams) -> None:
    """Find out before any work whether a model can be trained.

    Raises:
        UserError: It can't; says why and what to do.
    """
    kind, packages = _ENGINES[params.engine]
    if spec.kind != kind:
        raise UserError(
            f"models: {spec.name}: engine {params.engine} trains models of kind {kind} only; "
            "take the other engine, or train with the model's own tools and serve the adapter: "
            "docs/trained-twin.md"
        )
    if params.max_length > spec.max_context:
        raise UserError(
            f"max_length: {params.max_length} is beyond the context of {spec.name}, "
            f"{spec.max_context}; lower it"
        )
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        extra = "mlx" if params.engine == "mlx" else "train"
        raise UserError(
            f"training needs {', '.join(missing)}; run: pip install 'personalbench[{extra}]'"
        )
    if params.engine == "peft":
        from personalbench.training.gguf import require_llama

        require_llama(locate(model_file(spec)))


def check_sets(
    bundles: Sequence[Bundle],
    sets: Sequence[TrainingSet],
    corpus: CorpusParams,
    params: CheckParams,
) -> QualityReport:
    """Check what is learnt against what must never be.

    Args:
        bundles: One an author.
        sets: Theirs, in the same order.
        corpus: What a near duplicate is.
        params: Limits of the checks.
    """
    return check_training(
        [
            TrainingFacts(
                author=bundle.author,
                references={document.id: document.text for document in bundle.references},
                trained=_facts(examples.trained),
                held_out=_facts(examples.held_out),
            )
            for bundle, examples in zip(bundles, sets, strict=True)
        ],
        corpus,
        params,
    )


def finetune(
    spec: ModelParams,
    examples: TrainingSet,
    params: TrainingParams,
    seed: int,
    tell: Callable[[str], None] | None = None,
) -> Adapter:
    """The adapter of a training set: trained now, gone on with, or found.

    Args:
        spec: The base model.
        examples: What is learnt.
        params: How.
        seed: The run's seed.
        tell: Takes a line that says how long it will take.

    Raises:
        UserError: The base model can't be trained, or the loss is not finite. Nothing is
            left behind but a checkpoint.
    """
    folder = kept(adapter_key(spec, examples, params, seed))
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Another experiment may train the same at this moment.
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if not folder.is_dir():
            _finetune(spec, examples, params, seed, folder, tell)
        return load_adapter(folder, spec)


def _finetune(
    spec: ModelParams,
    examples: TrainingSet,
    params: TrainingParams,
    seed: int,
    folder: Path,
    tell: Callable[[str], None] | None,
) -> None:
    require_trainable(spec, params)
    base = load_model(spec, params)
    trained, held_out = (
        encode(base, spec, part, params.max_length)
        for part in (examples.trained, examples.held_out)
    )
    own_seed = derive(seed, examples.author, "training")
    checkpoint = checkpoint_of(folder)
    model = base.adapted(params.rank, own_seed)
    result = train(
        model, trained, held_out, params, own_seed, checkpoint, examples.author, tell=tell
    )
    weights = save(result.weights)
    record = AdapterRecord(
        author=examples.author,
        base=identity(spec),
        training_set=hash_of(examples),
        params=recipe(params),
        seed=seed,
        trained=tuple(example.document for example in examples.trained),
        held_out=tuple(example.document for example in examples.held_out),
        flags=examples.flags,
        cut=sum(not tokens.whole for tokens in trained),
        tokens=sum(len(tokens.ids) for tokens in trained),
        steps=result.steps,
        best=result.best,
        curve=result.curve,
        precision=base.precision,
        weights=sha256_bytes(weights),
    )
    config = {"base_model_name_or_path": spec.id, **base.config(params.rank)}
    write_adapter(folder, weights, config, record)
    checkpoint.unlink(missing_ok=True)


def _facts(examples: Sequence[Example]) -> list[CaseFacts]:
    return [
        CaseFacts(
            id=example.document,
            document=example.document,
            prompt=example.prompt,
            source_text=example.text,
        )
        for example in examples
    ]
