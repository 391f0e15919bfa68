"""Stage `validate`: can the encoder tell authors apart on this corpus at all?"""

from collections import defaultdict
from collections.abc import Sequence

from personalbench import paths
from personalbench.corpus.document import Document
from personalbench.encoders.base import Encoder
from personalbench.encoders.kept import KeptVectors
from personalbench.encoders.load import load_encoder
from personalbench.encoders.tfidf import CharNgramEncoder, WordTfidfEncoder
from personalbench.metrics.baselines import FunctionWordEncoder
from personalbench.metrics.validation import draw_pairs, pair_scores, verify
from personalbench.params import Params
from personalbench.references import REAL_TEXT
from personalbench.report.validation import EncoderResult, Validation
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
    texts = [document.text for document in documents]
    authors = [document.author for document in documents]
    encoders: list[Encoder] = [
        KeptVectors(load_encoder(params.weights.encoder, paths.ENCODER, params.weights.max_length)),
        CharNgramEncoder.fit(texts),
        WordTfidfEncoder.fit(texts),
        FunctionWordEncoder(),
    ]
    pairs = {size: draw_pairs(authors, size, params.validate_.pairs, params.seed) for size in SIZES}
    results = []
    for encoder in encoders:
        vectors = encoder.document_vectors(texts)
        results += [
            EncoderResult(
                encoder=encoder.name,
                revision=encoder.revision,
                verification=verify(drawn, pair_scores(encoder, vectors, drawn), params.seed),
            )
            for drawn in pairs.values()
        ]
    record = Validation(documents=len(documents), authors=len(set(authors)), results=tuple(results))
    write_json(paths.VALIDATION, record.model_dump(mode="json"))
    auc = record.of(encoders[0].name, max(SIZES)).auc
    told = "not estimable" if auc is None else f"{auc:.3f}"
    return (
        f"validate: {encoders[0].name} tells {record.authors} authors apart with AUC {told} "
        f"at {max(SIZES)} documents in {paths.VALIDATION}"
    )


def sample(documents: Sequence[Document], count: int, seed: int) -> list[Document]:
    """Draw documents of each author, half of them from each split, in the corpus's order.

    The reference documents are those of the floor, which then are encoded already.
    """
    groups: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for document in documents:
        groups[document.author, document.split].append(document.id)
    chosen = {
        name
        for (author, _), names in groups.items()
        for name in draw(names, count // 2, seed, author, REAL_TEXT)
    }
    return [document for document in documents if document.id in chosen]
