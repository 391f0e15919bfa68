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
TRUST = Path("data/trust.json")
SCORES = Path("data/scores")
ANALYSIS = Path("data/analysis.json")
USAGE = Path("data/usage")
RESOURCES = Path("data/resources")
ENCODER = Path("models/encoder")
ADAPTERS = Path("models/adapters")
REPORTS = Path("reports")
QUALITY = REPORTS / "quality.json"
QUALITY_PAGE = REPORTS / "quality.html"
BUNDLE_QUALITY = REPORTS / "bundle-quality.json"
BUNDLE_QUALITY_PAGE = REPORTS / "bundle-quality.html"
PAGE = REPORTS / "index.html"
FIGURES = REPORTS / "figures"
PLOTS = REPORTS / "plots"
METRICS = REPORTS / "metrics.json"
METRICS_DETAILS = REPORTS / "metrics-details.json"


def anchor() -> Path:
    """The project that outlives a stage: its caches and its runs lie there.

    DVC names it in ``DVC_ROOT``, also where an experiment runs in a temporary copy.
    Without DVC it is the repository that holds the working directory, else the working
    directory itself.
    """
    given = os.environ.get("DVC_ROOT")
    if given:
        return Path(given)
    here = Path.cwd()
    return next((path for path in (here, *here.parents) if (path / ".dvc").is_dir()), here)


def cache_folder(name: str) -> Path:
    """Folder ``.cache/<name>`` of the project."""
    return anchor() / ".cache" / name
