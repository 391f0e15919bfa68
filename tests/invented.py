"""A whole run made of invented texts, of any size: nothing is asked of a model."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from people import bundle
from personalbench.analysis.analyse import analyse
from personalbench.analysis.likeness import Resampling
from personalbench.bundle import Bundle
from personalbench.corpus.document import Document, Split
from personalbench.judge.records import AuthorTraits, Judgement, TraitFinding
from personalbench.judge.trust import trust
from personalbench.metrics.baselines import FunctionWordEncoder
from personalbench.metrics.stylometry import FUNCTION_WORDS
from personalbench.metrics.validation import draw_pairs, pair_scores, verify
from personalbench.params import Params, load_params
from personalbench.references import ceiling, floor, one_per_case
from personalbench.report.results import Results
from personalbench.report.run import Run
from personalbench.report.validation import EncoderResult, Validation
from personalbench.scores import score
from personalbench.twins.answers import Answer
from test_trust import NOTHING, SPEC

_CONTENT = """
    river stone market letter winter garden harbour kettle ladder meadow engine candle bridge
    orchard lantern valley ticket window copper barrel walked carried opened painted mended
    forgot remembered slowly nearly always quiet heavy yellow narrow
"""
_VOCABULARY = np.array([*FUNCTION_WORDS, *_CONTENT.split()])


class WordEncoder(FunctionWordEncoder):
    """Function words under the family's own name."""

    family, name = "luar", "luar-words"


@dataclass(frozen=True)
class _Writer:
    """Somebody with habits: which words, how long the sentences, which marks."""

    words: np.ndarray
    sentence: int
    marks: tuple[str, ...]

    def write(self, generator: np.random.Generator, length: int) -> str:
        drawn = generator.choice(_VOCABULARY, length, p=self.words)
        sentences = [
            drawn[start : start + self.sentence] for start in range(0, length, self.sentence)
        ]
        return " ".join(
            " ".join(sentence).capitalize() + self.marks[generator.integers(len(self.marks))]
            for sentence in sentences
        )


def _writer(generator: np.random.Generator, habit: np.ndarray | None = None) -> _Writer:
    own = generator.dirichlet(np.full(len(_VOCABULARY), 0.6))
    return _Writer(
        words=own if habit is None else habit,
        sentence=int(generator.integers(6, 18)),
        marks=tuple(generator.choice([".", "!", "?", ";", " …"], 3)),
    )


def invented_run(
    authors: int = 4,
    cases: int = 5,
    twins: tuple[str, ...] = ("non_personalized", "few_shot", "profile", "contrastive"),
    words: int = 60,
    replicates: int = 200,
    seed: int = 0,
) -> Run:
    """Make a run; each later twin writes more like its author."""
    generator = np.random.default_rng(seed)
    writers = {f"author-{number:02}": _writer(generator) for number in range(authors)}
    corpus = [
        _document(name, number, split, writer.write(generator, words))
        for name, writer in writers.items()
        for split, count in (("profile", 10), ("reference", cases))
        for number in range(count)
    ]
    bundles = [_bundle(name, corpus, cases) for name in writers]
    model = _writer(generator)
    answers = {
        "ceiling": [answer for each in bundles for answer in ceiling(each)],
        **{
            twin: [
                _answer(
                    generator,
                    twin,
                    each,
                    place,
                    _imitate(writers[each.author], model, share),
                    words,
                )
                for each in bundles
                for place in range(cases)
            ]
            for twin, share in zip(twins, np.linspace(0, 0.8, len(twins)), strict=True)
        },
        "floor": [answer for each in bundles for answer in floor(each, corpus, seed)[: 3 * cases]],
    }
    traits = [
        AuthorTraits(
            author=name,
            questions=tuple(f"Does {name} show the habit number {n}?" for n in range(1, 6)),
            documents=(),
        )
        for name in writers
    ]
    asked = {**answers, "floor": one_per_case(answers["floor"])}
    judgements = {
        line: [_judgement(generator, answer) for answer in given] for line, given in asked.items()
    }
    encoder = WordEncoder()
    scores = {
        line: score(line, bundles, given, judgements[line], encoder, replicates, seed)
        for line, given in answers.items()
    }
    return Run(
        results=Results(
            twins={twin: scores[twin] for twin in twins},
            ceiling=scores["ceiling"],
            floor=scores["floor"],
        ),
        analysis=analyse(
            bundles,
            answers,
            scores,
            dict.fromkeys(twins, "smollm2-135m"),
            corpus,
            encoder,
            Resampling(replicates, seed),
        ),
        validation=_validation(corpus, encoder),
        bundles=bundles,
        answers=answers,
        judgements=judgements,
        traits=traits,
        trust=trust("invented-judge", judgements, traits, NOTHING, {}, SPEC, replicates, seed),
        params=_params(twins),
    )


def _params(twins: tuple[str, ...]) -> Params:
    params = load_params(Path(__file__).parent.parent / "params.yaml")
    return params.model_copy(update={"twins": list(twins)})


def _document(author: str, number: int, split: Split, text: str) -> Document:
    return Document(
        id=f"{author}/{split}/{number:03}",
        author=author,
        source=f"{author}/{split}/{number}",
        split=split,
        text=text,
        words=len(text.split()),
    )


def _bundle(author: str, corpus: list[Document], cases: int) -> Bundle:
    own = [document for document in corpus if document.author == author]
    return replace(
        bundle(author, cases, profile=10),
        profile=tuple(document for document in own if document.split == "profile"),
        references=tuple(document for document in own if document.split == "reference"),
    )


def _imitate(writer: _Writer, model: _Writer, share: float) -> _Writer:
    return replace(model, words=share * writer.words + (1 - share) * model.words)


def _answer(
    generator: np.random.Generator,
    twin: str,
    author: Bundle,
    place: int,
    writer: _Writer,
    words: int,
) -> Answer:
    """One answer; now and then one that failed, was cut, or copied from what it saw."""
    case = author.cases[place]
    identity = {"author": author.author, "case_id": case.id, "source": twin}
    chance = generator.random()
    if chance < 0.02:
        return Answer(**identity, status="empty", text="", reason="nothing was written")
    seen = () if twin == "non_personalized" else tuple(d.id for d in author.profile[:3])
    text = writer.write(generator, words)
    if seen and chance > 0.8:
        text += " " + " ".join(author.profile[0].text.split()[2:14])
    flags = ("cut_at_max_tokens",) if 0.02 < chance < 0.1 else ()
    return Answer(**identity, text=text, seen=seen, flags=flags)


def _judgement(generator: np.random.Generator, answer: Answer) -> Judgement:
    identity = {"author": answer.author, "case_id": answer.case_id, "source": answer.source}
    if answer.status != "ok":
        reason = f"no text to judge: {answer.status}"
        return Judgement(
            **identity,
            findings=None,
            findings_reason=reason,
            same_author=None,
            same_author_reason=reason,
        )
    tokens = answer.text.split()
    starts = generator.integers(0, len(tokens) - 3, 5)
    return Judgement(
        **identity,
        findings=tuple(
            TraitFinding(
                evidence=" ".join(tokens[start : start + 3])[:40],
                present=bool(generator.random() < 0.5),
            )
            for start in starts
        ),
        same_author=bool(generator.random() < 0.4),
        explanation="Both texts have the same habits.",
    )


def _validation(corpus: list[Document], encoder: WordEncoder) -> Validation:
    vectors = encoder.document_vectors([document.text for document in corpus])
    names = [document.author for document in corpus]
    sources = [document.source for document in corpus]
    results = []
    for size in (1, 5):
        pairs = draw_pairs(names, sources, size, 100, seed=1)
        results.append(
            EncoderResult(
                encoder=encoder.name,
                revision=encoder.revision,
                verification=verify(pairs, pair_scores(encoder, vectors, pairs), 1, 100),
            )
        )
    return Validation(
        documents=len(corpus),
        authors=len(set(names)),
        truncated=0,
        unreliable=0,
        results=tuple(results),
    )
