"""Stage `traits`: the judge's five questions about each author's style."""

from personalbench import paths
from personalbench.bundle import load_bundles
from personalbench.judge.traits import extract
from personalbench.llm.cache import ResponseCache
from personalbench.llm.client import open_model
from personalbench.params import Params
from personalbench.stages.calls import hold_to_limit, write_usage
from personalbench.storage import write_records


def run(params: Params) -> str:
    """Write the questions of every author."""
    bundles = load_bundles(paths.BUNDLES)
    spec = params.models[params.judge.model]
    with ResponseCache.of_project() as cache, open_model(spec, cache=cache) as judge:
        traits = extract(bundles, params.judge, params.seed, judge, params.template_folder)
    results = [None if author.questions is not None else author.reason for author in traits]
    hold_to_limit("traits", None, judge, results, params.judge.max_failure_rate, "judge")
    note = write_usage("traits", None, judge, results)
    write_records(paths.TRAITS, traits)
    found = sum(author.questions is not None for author in traits)
    return f"traits: five questions for {found} of {len(traits)} authors in {paths.TRAITS}{note}"
