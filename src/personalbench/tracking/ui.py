"""MLflow's own UI on the right store."""

import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from personalbench.errors import UserError
from personalbench.tracking.store import is_server, store_uri

_START_SECONDS = 180


@dataclass(frozen=True)
class Ui:
    """A running UI.

    Attributes:
        address: Where it is.
        process: What serves it; None where it was there before.
    """

    address: str
    process: "subprocess.Popen[bytes] | None"

    def wait(self) -> None:
        """Wait until the UI that was started here ends."""
        if self.process is not None:
            self.process.wait()


@contextmanager
def serving(port: int) -> Iterator[Ui]:
    """Serve the UI while the context lasts.

    A store that is a server has a UI already: nothing is started.

    Raises:
        UserError: It does not start, for example because the port is taken.
    """
    if is_server(store_uri()):
        yield Ui(store_uri(), None)
        return
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", store_uri()]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # A plain `kill` ends this program by an exception, too: the server must not stay.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        _wait(process, address)
        yield Ui(address, process)
    finally:
        process.terminate()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", address: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise UserError(
                f"MLflow's UI did not start at {address}: is the port taken? try --port"
            )
        try:
            urllib.request.urlopen(f"{address}/health", timeout=5).close()
            return
        except OSError:  # not yet
            time.sleep(0.5)
    raise UserError(f"MLflow's UI did not answer at {address} within {_START_SECONDS} s; try again")
