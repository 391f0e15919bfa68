"""A saved view of MLflow's UI: each metric's twin, ceiling and floor side by side."""

import base64
import json
import time
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from personalbench.metrics.catalogue import MAIN_METRICS, catalogue
from personalbench.storage import sha256_bytes

if TYPE_CHECKING:
    from mlflow import MlflowClient

ROLES = ("twin", "ceiling", "floor")


def save_view(
    client: "MlflowClient", experiment_id: str, run_ids: Sequence[str], family: str
) -> str:
    """Put a view of some runs where MLflow's own "Views" menu finds it.

    Args:
        client: A client of the store.
        experiment_id: The runs' experiment.
        run_ids: What the view shows.
        family: Of the encoder, whose likeness comes first.

    Returns:
        The view's key.
    """
    state = json.dumps(view_state(run_ids, family)).encode()
    packed = base64.b64encode(zlib.compress(state)).decode()
    key = f"personalbench-{sha256_bytes(state)[:8]}"
    now = int(time.time() * 1000)
    name = f"{len(run_ids)} twins between floor and ceiling, {time.strftime('%Y-%m-%d %H:%M')}"
    view = {"name": name, "createdAt": now, "updatedAt": now, "state": f"deflate;{packed}"}
    client.set_experiment_tag(experiment_id, f"mlflow.sharedViewState.{key}", json.dumps(view))
    return key


def view_state(run_ids: Sequence[str], family: str) -> dict[str, Any]:
    """The view as MLflow's UI keeps it: a filter, sections, and charts in them."""
    listed = ", ".join(f"'{run_id}'" for run_id in run_ids)
    known = catalogue(family)
    metrics = [metric for metric in (family, *MAIN_METRICS) if metric in known]
    return {
        "searchFilter": f"attributes.run_id IN ({listed})",
        "orderByKey": "attributes.start_time",
        "orderByAsc": True,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": ["params.`twin`"],
        "runsHiddenMode": "FIRST_20_RUNS",
        "isAccordionReordered": True,  # keeps the order of the sections below
        "compareRunSections": [
            {"uuid": metric, "name": known[metric].title, "display": True, "isGenerated": False}
            for metric in metrics
        ],
        "compareRunCharts": [chart for metric in metrics for chart in _charts(metric)],
    }


def _charts(metric: str) -> list[dict[str, Any]]:
    common = {"metricSectionId": metric, "deleted": False, "isGenerated": False}
    bars = [
        {
            **common,
            "uuid": f"{metric}-{role}",
            "type": "BAR",
            "metricKey": f"{metric}/{role}",
            "runsCountToCompare": 20,
        }
        for role in ROLES
    ]
    keys = [f"by_author/{metric}/{role}" for role in ROLES]
    lines = {
        **common,
        "uuid": f"{metric}-by-author",
        "type": "LINE",
        "metricKey": keys[0],
        "selectedMetricKeys": keys,
        "runsCountToCompare": 20,
        "xAxisKey": "step",
        "xAxisScaleType": "linear",
        "scaleType": "linear",
        "selectedXAxisMetricKey": "",
        "yAxisKey": "metric",
        "yAxisExpressions": [],
        "range": {},
        "lineSmoothness": 0,
        "ignoreOutliers": False,
        "useGlobalXaxisKey": True,
        "useGlobalLineSmoothing": True,
    }
    return [*bars, lines]


def view_url(server: str, experiment_id: str, key: str) -> str:
    """The address of a saved view."""
    query = {
        "viewStateShareKey": key,
        "compareRunsMode": "CHART",
        "workflowType": "machine_learning",
    }
    return f"{server.rstrip('/')}/#/experiments/{experiment_id}/runs?{urlencode(query)}"


def compare_url(server: str, experiment_id: str, run_ids: Sequence[str]) -> str:
    """The address of MLflow's comparison of some runs: params and metrics in columns."""
    query = {"runs": json.dumps(list(run_ids)), "experiments": json.dumps([experiment_id])}
    return f"{server.rstrip('/')}/#/compare-runs?{urlencode(query)}"
