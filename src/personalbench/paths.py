"""Where the pipeline's files lie, relative to the repository's root."""

import os
from pathlib import Path

DOCUMENTS = Path("data/documents.jsonl")
CORPUS = Path("data/corpus.json")
BUNDLES = Path("data/bundles")
VALIDATION = Path("data/validation.json")
ANSWERS = Path("data/answers")
TRAITS = Path("data/traits.jsonl")
JUDGEMENTS = Path("data/judgements")
SCORES = Path("data/scores")
ENCODER = Path("models/encoder")
REPORTS = Path("reports")
QUALITY = REPORTS / "quality.json"
QUALITY_PAGE = REPORTS / "quality.html"
BUNDLE_QUALITY = REPORTS / "bundle-quality.json"
BUNDLE_QUALITY_PAGE = REPORTS / "bundle-quality.html"
METRICS = REPORTS / "metrics.json"
TRACKED = REPORTS / "track.json"


def anchor() -> Path:
    """The repository that results belong to.

    ``DVC_ROOT`` in a stage: an experiment may run in a temporary copy, and what outlives
    it (the response cache, the runs) lies in the repository itself.
    """
    return Path(os.environ.get("DVC_ROOT", ".")).absolute()
