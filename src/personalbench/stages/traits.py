"""Stage `traits`: the judge's five questions about each author's style."""

from personalbench import paths
from personalbench.bundle import load_bundles
from personalbench.judge.traits import extract
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import open_model
from personalbench.params import Params
from personalbench.storage import write_records


def run(params: Params) -> str:
    """Write the questions of every author."""
    bundles = load_bundles(paths.BUNDLES)
    spec = params.models[params.judge.model]
    with ResponseCache.of_project() as cache, open_model(spec, cache=cache) as judge:
        traits = extract(bundles, params.judge, params.seed, judge, params.template_folder)
    write_records(paths.TRAITS, traits)
    found = sum(author.questions is not None for author in traits)
    return f"traits: five questions for {found} of {len(traits)} authors in {paths.TRAITS}"
