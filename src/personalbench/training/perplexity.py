"""How well a model foresees the author's held-out documents, before and after training."""

import math
from collections.abc import Sequence

from pydantic import BaseModel as Model
from pydantic import ConfigDict
from safetensors.numpy import load_file

from personalbench.bundle import Bundle
from personalbench.params import ModelParams
from personalbench.paths import cache_folder
from personalbench.storage import read_json, sha256_bytes, write_json
from personalbench.training.adapters import Adapter
from personalbench.training.examples import Example
from personalbench.training.learner import encode, load_model


class Perplexity(Model):
    """A diagnostic beside the measures, never one of them.

    Attributes:
        documents: Reference documents, each under its case's prompt.
        tokens: Of these documents.
        base: Perplexity of a token under the untrained model.
        trained: Under the trained one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: int
    tokens: int
    base: float
    trained: float


def reference_perplexity(spec: ModelParams, adapter: Adapter, bundle: Bundle) -> Perplexity:
    """Perplexity of a bundle's reference documents, computed once an adapter and bundle.

    Documents end at the length at which those of the training did.

    Args:
        spec: The base model.
        adapter: What it has learnt; the reference documents are no part of that.
        bundle: The author's.
    """
    # Weights that have learnt nothing are the same under another model or length.
    record = adapter.record
    parts = (record.weights, bundle.sha256, spec.revision, record.params.max_length)
    name = sha256_bytes(" ".join(map(str, parts)).encode())
    path = cache_folder("perplexity") / f"{name}.json"
    if path.is_file():
        return Perplexity.model_validate(read_json(path))
    examples = [
        Example(document.id, case.prompt, document.text)
        for case, document in zip(bundle.cases, bundle.references, strict=True)
    ]
    found = _perplexity(spec, adapter, examples)
    write_json(path, found.model_dump(mode="json"))
    return found


def _perplexity(spec: ModelParams, adapter: Adapter, examples: Sequence[Example]) -> Perplexity:
    params = adapter.record.params
    base = load_model(spec, params)
    encoded = encode(base, spec, examples, params.max_length)
    tokens = sum(each.targets for each in encoded)
    model = base.adapted(params.rank, 0)  # new weights change nothing

    def perplexity() -> float:
        return math.exp(sum(model.evaluate([each]) for each in encoded) / tokens)

    before = perplexity()
    model.load(load_file(adapter.weights))
    return Perplexity(documents=len(examples), tokens=tokens, base=before, trained=perplexity())
