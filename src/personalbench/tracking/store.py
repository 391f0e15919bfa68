"""The MLflow store: where it is, and how a run gets there once and whole."""

import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from filelock import FileLock
from tqdm import tqdm

from personalbench.errors import UserError
from personalbench.paths import anchor, cache_folder
from personalbench.tracking.outbox import Parcel
from personalbench.tracking.record import DatasetRecord, RunRecord

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Run

_Item = TypeVar("_Item")

_DATABASES = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
_PORTS = {"http": 80, "https": 443, **_DATABASES}
_CONNECT_SECONDS = 5.0
# MLflow's own patience is two minutes a request and seven repetitions: half an hour for a
# server that hangs. Nothing is lost here by giving up early.
_PATIENCE = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "30", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}
_FIRST_CALL = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "5", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
_MOST_METRICS, _MOST_PARAMS = 1000, 100


class Arrival(NamedTuple):
    """A run that is in MLflow now."""

    experiment_id: str
    run_id: str
    is_new: bool


class Unreachable(Exception):
    """The store did not take a run; the message says why, in one line without secrets."""


def store_uri() -> str:
    """The tracking URI: ``MLFLOW_TRACKING_URI``, or a database at the repository's root.

    A relative database file is the repository's, too: some DVC experiments run in a
    temporary folder.
    """
    uri = os.environ.get("MLFLOW_TRACKING_URI") or "sqlite:///mlflow.db"
    scheme, separator, path = uri.partition(":///")
    if scheme == "sqlite" and separator:
        return f"sqlite:///{anchor() / path}"
    return uri


def is_server(uri: str) -> bool:
    """Whether a tracking URI names a server, and not a database that is opened here."""
    return urlsplit(uri).scheme.partition("+")[0] not in ("sqlite", *_DATABASES)


def store_name() -> str:
    """The store for messages: without a user's name, password or query."""
    parts = urlsplit(store_uri())
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@contextmanager
def open_store() -> "Iterator[MlflowClient]":
    """A client of a store that answers; one process of this project at a time.

    Raises:
        Unreachable: The store does not answer, at first or inside the context.
    """
    _connect()
    # Set before the import: MLflow looks at it once.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    for name, value in _PATIENCE.items():
        os.environ.setdefault(name, value)
    import mlflow
    from mlflow.exceptions import MlflowException
    from requests import RequestException

    lock = cache_folder("track") / ".lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    # Two experiments may end together, and the first of all makes the database's tables.
    with FileLock(lock):
        try:
            with _environment(_FIRST_CALL):
                client = mlflow.MlflowClient(tracking_uri=store_uri())
                client.search_experiments(max_results=1)
            yield client
        except (MlflowException, RequestException) as error:
            raise Unreachable(f"{store_name()}: {_one_line(error)}") from error


def _connect() -> None:
    """Try the address first: MLflow would repeat its calls to a dead database for minutes."""
    parts = urlsplit(store_uri())
    port = parts.port or _PORTS.get(parts.scheme.partition("+")[0])
    if parts.hostname is None or port is None:
        return
    try:
        socket.create_connection((parts.hostname, port), _CONNECT_SECONDS).close()
    except OSError as error:
        raise Unreachable(f"{store_name()}: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    login, at, _ = urlsplit(store_uri()).netloc.rpartition("@")
    return (text.replace(login + at, "") if login else text)[:300]


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ[name] for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.update(before)


def send(client: "MlflowClient", parcels: Sequence[Parcel]) -> list[Arrival]:
    """Send kept runs and forget each one that has arrived.

    A result that is there already is not logged again, only linked; a run that was cut
    off is completed.
    """
    arrivals = []
    for parcel in tqdm(parcels, desc="runs", disable=None):
        arrivals.append(_send(client, parcel))
        parcel.discard()
    return arrivals


def _send(client: "MlflowClient", parcel: Parcel) -> Arrival:
    record = parcel.record
    experiment_id = _experiment(client, record)
    run = _find_run(client, experiment_id, record.result)
    if run is not None and run.info.status == "FINISHED":
        for key, value in record.links.items():
            client.set_tag(run.info.run_id, key, value)
        return Arrival(experiment_id, run.info.run_id, is_new=False)
    if run is None:
        tags = {
            "result": record.result,
            "mlflow.note.content": record.description,
            "mlflow.user": "personalbench",
        }
        run = client.create_run(experiment_id, run_name=record.name, tags=tags)
    _fill(client, run, parcel)
    _register_encoder(client, run.info.run_id, record.params)
    client.set_terminated(run.info.run_id)
    return Arrival(experiment_id, run.info.run_id, is_new=True)


def _find_run(client: "MlflowClient", experiment_id: str, result: str) -> "Run | None":
    """The run of a result, or None."""
    found = client.search_runs([experiment_id], f"tags.result = '{result}'", max_results=1)
    return found[0] if found else None


def _experiment(client: "MlflowClient", record: RunRecord) -> str:
    """The id of the experiment, made or described anew where needed."""
    name = record.experiment
    experiment = client.get_experiment_by_name(name)
    if experiment is not None and experiment.lifecycle_stage == "deleted":
        raise UserError(
            f"MLflow's experiment {name!r} is deleted: restore it (mlflow experiments restore "
            f"--experiment-id {experiment.experiment_id}) or set another track.experiment; "
            "the runs are kept, `personalbench track` sends them"
        )
    # The kind keeps MLflow's UI from showing the experiment as one of traces.
    tags = {
        "mlflow.note.content": record.about,
        "mlflow.experimentKind": "custom_model_development",
    }
    if experiment is None:
        return client.create_experiment(name, artifact_location=_artifact_location(), tags=tags)
    for key, value in tags.items():
        if experiment.tags.get(key) != value:
            client.set_experiment_tag(experiment.experiment_id, key, value)
    return experiment.experiment_id


def _artifact_location() -> str | None:
    """Beside the project's caches for a database; a server decides for itself.

    MLflow's default for a database is the current folder, which DVC may delete.
    """
    return None if is_server(store_uri()) else (anchor() / "mlruns").as_uri()


def _fill(client: "MlflowClient", run: "Run", parcel: Parcel) -> None:
    """Log everything of a run; a second time changes nothing."""
    from mlflow.entities import Metric

    record, run_id = parcel.record, run.info.run_id
    # The same time on every attempt makes a number that was logged before the same number.
    time = run.info.start_time
    metrics = [Metric(point.key, point.value, time, point.step) for point in record.metrics]
    _log(client, run_id, record.params, metrics, {**record.tags, **record.links})
    client.log_inputs(run_id, [_dataset(dataset) for dataset in record.datasets])
    client.log_artifacts(run_id, str(parcel.artifacts))


def log_run(
    client: "MlflowClient",
    experiment: str,
    name: str,
    params: Mapping[str, str],
    metrics: Sequence["Metric"],
    tags: Mapping[str, str],
) -> str:
    """Log a run that is none of a twin in the pipeline.

    Returns:
        The run's id.
    """
    found = client.get_experiment_by_name(experiment)
    experiment_id = (
        found.experiment_id
        if found is not None
        else client.create_experiment(experiment, artifact_location=_artifact_location())
    )
    run_id: str = client.create_run(experiment_id, run_name=name).info.run_id
    _log(client, run_id, params, metrics, tags)
    client.set_terminated(run_id)
    return run_id


def _log(
    client: "MlflowClient",
    run_id: str,
    params: Mapping[str, str],
    metrics: Sequence["Metric"],
    tags: Mapping[str, str],
) -> None:
    """Log in batches of the sizes that MLflow takes."""
    from mlflow.entities import Param, RunTag

    for some_tags in _batches([RunTag(*tag) for tag in tags.items()], _MOST_PARAMS):
        client.log_batch(run_id, tags=some_tags)
    for some_params in _batches([Param(*param) for param in params.items()], _MOST_PARAMS):
        client.log_batch(run_id, params=some_params)
    for some_metrics in _batches(metrics, _MOST_METRICS):
        client.log_batch(run_id, metrics=some_metrics)


def _register_encoder(client: "MlflowClient", run_id: str, params: Mapping[str, str]) -> None:
    """A version in the model registry for each revision of the encoder.

    It points to the record of the encoder's verified files; DVC has the files themselves.
    """
    name, revision = params["encoder"], params["encoder_revision"]
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(
            name,
            description="Authorship encoder of PersonalBench. Versions hold the hashes of its "
            "files; `dvc pull models/encoder` in the repository gets the files.",
        )
    known = client.search_model_versions(f"name = '{name}'")
    if all(version.tags.get("revision") != revision for version in known):
        client.create_model_version(
            name, f"runs:/{run_id}/encoder", run_id=run_id, tags={"revision": revision}
        )


def _batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _dataset(record: DatasetRecord) -> Any:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    return DatasetInput(
        Dataset(
            name=record.name,
            digest=record.sha256[:36],
            source_type="local",
            source=json.dumps({"uri": record.path}),
            profile=json.dumps(record.profile),
        ),
        [InputTag("mlflow.data.context", "evaluation")],
    )
