"""Stage `track`: one MLflow run a twin.

It has no outputs on purpose: DVC would take those from its run cache and leave out the
command, and with it the runs.
"""

from personalbench.params import Params
from personalbench.tracking.outbox import kept
from personalbench.tracking.runs import keep_runs
from personalbench.tracking.store import Arrival, Unreachable, open_store, send, store_name


def run(params: Params) -> str:
    """Log the runs; keep them where MLflow does not answer."""
    parcels = keep_runs(params)
    try:
        with open_store() as client:
            arrivals = send(client, parcels)
    except Unreachable as reason:
        return f"track: {reason}; {len(parcels)} runs are kept: `personalbench track` sends them"
    older = len(kept())
    waiting = f"; {older} older ones are kept: `personalbench track` sends them" if older else ""
    return f"track: {in_words(arrivals)} in experiment {params.track.experiment}{waiting}"


def in_words(arrivals: list[Arrival]) -> str:
    """How many runs are new, and where they are."""
    new = sum(arrival.is_new for arrival in arrivals)
    return f"{new} new runs and {len(arrivals) - new} known ones in {store_name()}"
