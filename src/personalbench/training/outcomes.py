"""What the trainings of a run gave, as the stage `personalize` left it."""

import json
from dataclasses import dataclass

from personalbench import paths
from personalbench.params import FinetunedParams, Params
from personalbench.storage import read_json
from personalbench.training.adapters import RECORD
from personalbench.training.perplexity import Perplexity
from personalbench.training.records import AdapterRecord

AUTHORS = "authors.json"
PERPLEXITY = "perplexity.json"


@dataclass(frozen=True)
class Outcome:
    """What the training for one author gave."""

    record: AdapterRecord
    perplexity: Perplexity


def read_outcomes(params: Params) -> dict[str, dict[str, Outcome]]:
    """The outcomes of every trained twin, by author.

    Raises:
        UserError: A file is missing: the stage has to run again.
    """
    return {twin: own for twin in params.twins if (own := outcomes_of(params, twin))}


def outcomes_of(params: Params, twin: str) -> dict[str, Outcome]:
    """The outcomes of one twin, by author; none of a twin that is not trained.

    Raises:
        UserError: A file is missing: the stage has to run again.
    """
    if not isinstance(params.personalize.twin(twin), FinetunedParams):
        return {}
    folder = paths.ADAPTERS / twin
    return {
        author: Outcome(
            AdapterRecord.model_validate_json(json.dumps(read_json(folder / name / RECORD))),
            Perplexity.model_validate(read_json(folder / name / PERPLEXITY)),
        )
        for author, name in read_json(folder / AUTHORS).items()
    }
