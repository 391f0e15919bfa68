"""Stage `validate`: can the encoder tell authors apart on this corpus at all?"""

from collections import defaultdict
from collections.abc import Sequence

from personalbench import paths
from personalbench.corpus.document import Document
from personalbench.encoders.base import Encoder
from personalbench.encoders.kept import KeptVectors
from personalbench.encoders.load import load_encoder
from personalbench.encoders.luar_encoder import BackboneEncoder
from personalbench.encoders.tfidf import CharNgramEncoder, WordTfidfEncoder
from personalbench.metrics.baselines import FunctionWordEncoder
from personalbench.metrics.validation import draw_pairs, pair_scores, verify
from personalbench.params import Params, WeightsParams
from personalbench.references import REAL_TEXT
from personalbench.report.validation import EncoderResult, Validation
from personalbench.scores import UNRELIABLE_BELOW
from personalbench.seeds import draw
from personalbench.storage import read_records, write_json

SIZES = (1, 2, 3, 4, 5)


def run(params: Params) -> str:
    """Try the encoder and plain ones on pairs of real text; keep the vectors."""
    documents = sample(
        read_records(paths.DOCUMENTS, Document),
        params.validate_.documents_per_author,
        params.seed,
    )
    record = try_encoders(documents, params.weights, params.validate_.pairs, params.seed)
    write_json(paths.VALIDATION, record.model_dump(mode="json"))
    return f"validate: {record.summary} in {paths.VALIDATION}"


def try_encoders(
    documents: Sequence[Document], weights: WeightsParams, pairs: int, seed: int
) -> Validation:
    """Try the prepared encoder and plain ones on the same pairs of real text.

    Args:
        documents: Real text by several authors.
        weights: The encoder of ``models/encoder``.
        pairs: How many of the same author, and as many of different authors.
        seed: Of the draw and of the intervals.
    """
    texts = [document.text for document in documents]
    authors = [document.author for document in documents]
    sources = [document.source for document in documents]
    encoder = KeptVectors(load_encoder(weights.encoder, paths.ENCODER, weights.max_length))
    encoders: list[Encoder] = [
        encoder,
        KeptVectors(BackboneEncoder.installed(weights.max_length)),
        CharNgramEncoder.fit(texts),
        WordTfidfEncoder.fit(texts),
        FunctionWordEncoder(),
    ]
    drawn = [draw_pairs(authors, sources, size, pairs, seed) for size in SIZES]
    results = []
    for tried in encoders:
        vectors = tried.document_vectors(texts)
        results += [
            EncoderResult(
                encoder=tried.name,
                revision=tried.revision,
                verification=verify(of_size, pair_scores(tried, vectors, of_size), seed),
            )
            for of_size in drawn
        ]
    tokens = encoder.token_counts(texts)
    return Validation(
        documents=len(documents),
        authors=len(set(authors)),
        truncated=int((tokens > encoder.max_length).sum()),
        unreliable=int((tokens < UNRELIABLE_BELOW).sum()),
        results=tuple(results),
    )


def sample(
    documents: Sequence[Document], count: int, seed: int, authors: int | None = None
) -> list[Document]:
    """Draw documents of each author, half of them from each split, in the corpus's order.

    The reference documents are those of the floor, which then are encoded already.

    Args:
        documents: The corpus.
        count: How many of each author.
        seed: The run's seed.
        authors: How many authors to draw; None takes all.
    """
    names = {document.author for document in documents}
    kept = set(draw(names, len(names) if authors is None else authors, seed, "validate"))
    groups: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for document in documents:
        if document.author in kept:
            groups[document.author, document.split].append(document.id)
    chosen = {
        name
        for (author, split), ids in groups.items()
        for name in draw(ids, count if split is None else count // 2, seed, author, REAL_TEXT)
    }
    return [document for document in documents if document.id in chosen]
