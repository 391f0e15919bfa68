"""Function words as an encoder."""

import numpy as np

from personalbench.metrics.baselines import FunctionWordEncoder
from personalbench.metrics.stylometry import FUNCTION_WORDS


def test_shares_by_hand() -> None:
    encoder = FunctionWordEncoder()
    vectors = encoder.document_vectors(["The cat and the dog", "", "Cats purr"])
    the, also = FUNCTION_WORDS.index("the"), FUNCTION_WORDS.index("and")
    assert np.isclose(vectors[0, the], 2 / 5) and np.isclose(vectors[0, also], 1 / 5)
    assert vectors[1:].sum() == 0
    np.testing.assert_allclose(encoder.aggregate(vectors[None, :2])[0], vectors[0] / 2)


def test_cuts_and_counts_in_words() -> None:
    encoder = FunctionWordEncoder(max_length=2)
    assert encoder.token_counts(["the cat and", ""]).tolist() == [3, 0]
    np.testing.assert_array_equal(*encoder.document_vectors(["the cat and", "the cat or"]))
