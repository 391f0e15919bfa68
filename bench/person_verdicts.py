"""How often does `compare` call one of two equal runs better? It should be in 5 % at most.

Both runs are real passages of one president, drawn anew for each trial, so neither is
better. Usage: python bench/person_verdicts.py [TRIALS]
"""

import sys
from collections import Counter

import numpy as np

from personalbench.corpus.select import select
from personalbench.corpus.sotu import SotuReader
from personalbench.metrics.comparison import compare_likeness
from personalbench.metrics.statistics import episode_likeness
from personalbench.params import CorpusParams, WeightsParams
from personalbench.person.comparing import verdict_of
from personalbench.person.settings import open_encoder
from personalbench.seeds import draw

AUTHORS = ("theodore-roosevelt", "harry-s-truman", "grover-cleveland", "william-mckinley")
DOCUMENTS, SIZE, REPLICATES = 120, 5, 1000


def main() -> None:
    """Print the share of wrong verdicts by number of groups."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    documents, _ = select(SotuReader(150), CorpusParams(), 42)
    encoder = open_encoder(WeightsParams())
    vectors = {}
    for author in AUTHORS:
        own = {document.id: document.text for document in documents if document.author == author}
        vectors[author] = encoder.document_vectors([own[i] for i in draw(own, DOCUMENTS, 42)])
    rng = np.random.default_rng(42)
    print("groups  wrong verdicts")
    for groups in (2, 3, 5, 6, 8, 10):
        found: Counter[str] = Counter()
        for trial in range(trials):
            pool = vectors[AUTHORS[trial % len(AUTHORS)]]
            order = rng.permutation(len(pool))[: SIZE * (2 * groups + 1)]
            profile, first, second = np.split(order, [SIZE, SIZE * (groups + 1)])
            runs = [
                episode_likeness(encoder, pool[profile], pool[half].reshape(groups, SIZE, -1))
                for half in (first, second)
            ]
            tables = [
                {"person": {str(number): row for number, row in enumerate(run)}} for run in runs
            ]
            found[verdict_of(compare_likeness(*tables, SIZE, REPLICATES, seed=trial))] += 1
        wrong = found["better"] + found["worse"]
        print(f"{groups:6}  {wrong / trials:.3f} ({wrong} of {trials})", flush=True)


if __name__ == "__main__":
    main()
