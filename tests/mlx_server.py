"""A real server of mlx-lm on a free port."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llm_stub import free_port
from personalbench.errors import UserError
from personalbench.llm.client import Patience, check_reachable
from personalbench.params import ModelParams

# A busy CPU is slow, not dead.
PATIENT = Patience(connect=60, first_answer=600, base=600)


@contextmanager
def serving(folder: Path, model: str, *options: str, **fields: Any) -> Iterator[ModelParams]:
    """Serve a model from a working folder; gives its entry of the registry."""
    port = free_port()
    spec = ModelParams(
        **{"kind": "server", "family": "smollm2", "id": model, "revision": "0" * 40}
        | {"endpoints": [f"http://127.0.0.1:{port}/v1"], "send_seed": False, "structured": False}
        | fields
    )
    command = [sys.executable, "-m", "mlx_lm", "server", "--model", model, "--port", str(port)]
    with subprocess.Popen(
        [*command, *options], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            while True:
                try:
                    check_reachable(spec, patience=PATIENT)
                    break
                except UserError:
                    assert server.poll() is None, "mlx_lm server ended"
                    time.sleep(0.5)
            yield spec
        finally:
            server.kill()
