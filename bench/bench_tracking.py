"""How long it takes to log a large run: python bench/bench_tracking.py

200 authors, 5 cases each and 8 twins on a new sqlite database: the bound is 60 s.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from personalbench.tracking.runs import keep_runs  # noqa: E402
from personalbench.tracking.store import open_store, send  # noqa: E402
from recorded import record_project  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--authors", type=int, default=200)
    parser.add_argument("--twins", type=int, default=8)
    arguments = parser.parse_args()
    twins = tuple(f"twin_{number}" for number in range(arguments.twins))
    authors = tuple(f"author-{number:03}" for number in range(arguments.authors))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["DVC_ROOT"] = folder
        params = record_project(Path(folder), twins, authors)
        for what in ("new database", "the same results again"):
            wall, cpu = time.perf_counter(), time.process_time()
            with open_store() as client:
                arrivals = send(client, keep_runs(params))
            new = sum(arrival.is_new for arrival in arrivals)
            print(
                f"{what}: {new} of {len(arrivals)} runs logged in "
                f"{time.perf_counter() - wall:.1f} s ({time.process_time() - cpu:.1f} s of CPU)"
            )
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
