"""Scorers for ``mlflow.genai.evaluate``: how much one answer is like a person's writing."""

from typing import Any

from mlflow.entities import Feedback
from mlflow.genai.scorers import Scorer, scorer

from personalbench.bundle import Bundle
from personalbench.encoders.base import Encoder
from personalbench.metrics.catalogue import catalogue
from personalbench.metrics.copying import copying
from personalbench.metrics.estimate import Estimate, missing
from personalbench.metrics.similarity import one_v_five
from personalbench.metrics.stylometry import function_word_cosine, style_of
from personalbench.person.settings import open_encoder, settings


def person_scorers(bundle: Bundle, encoder: Encoder | None = None) -> list[Scorer]:
    """Scorers of single answers against a person's profile.

    ``luar_1v5`` is the likeness of one answer to the profile: a diagnostic, lower than
    the likeness of five answers together, which :func:`personalbench.score` measures.
    ``func_cos`` compares function words, ``copied_run`` is the longest run of words that
    the answer has verbatim from the profile. An answer without words has an error in
    their place.

    Args:
        bundle: The person's bundle.
        encoder: Makes the authorship vectors; None takes the one that params.yaml here,
            or this release, names.
    """
    used = encoder or open_encoder(settings().weights)
    profile = used.document_vectors([document.text for document in bundle.selected])
    texts = [document.text for document in bundle.profile]
    style = style_of(texts)

    @scorer(name=f"{used.family}_1v5")
    def likeness(outputs: Any) -> Feedback:
        text = str(outputs)
        if not text.strip():
            return _feedback(f"{used.family}_1v5", missing("the answer is empty"))
        vectors = used.document_vectors([text])
        value = float(one_v_five(used, profile, vectors)[0])
        return _feedback(f"{used.family}_1v5", Estimate(value=value))

    @scorer(name="func_cos")
    def function_words(outputs: Any) -> Feedback:
        return _feedback("func_cos", function_word_cosine(style_of([str(outputs)]), style))

    @scorer(name="copied_run")
    def copied(outputs: Any) -> Feedback:
        found = copying(str(outputs), texts)
        return _feedback("copied_run", Estimate(value=found.longest_run_words))

    return [likeness, function_words, copied]


def _feedback(name: str, estimate: Estimate) -> Feedback:
    if estimate.value is None:
        return Feedback(name=name, error=estimate.reason)
    known = catalogue(name.removesuffix("_1v5"))
    return Feedback(name=name, value=estimate.value, rationale=known[name].meaning)
