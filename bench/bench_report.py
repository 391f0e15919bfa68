"""Size of the report page and the time that Chromium needs to open it.

50 authors x 5 cases x 4 twins, texts of 200 words, of which none is real.

    python bench/bench_report.py
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from browser import CHROMIUM, run_in_page
from invented import invented_run
from personalbench.report.page import report_page
from personalbench.report.sections import report_sections

_OPENED = """
  const [load] = performance.getEntriesByType("navigation");
  await new Promise((done) => setTimeout(done, 0));
  const start = performance.now();
  const sort = document.getElementById("controls").elements.sort;
  sort.value = "0";
  document.getElementById("controls").dispatchEvent(new Event("input"));
  return {
    opened: load.domInteractive,
    painted: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
    sorted: performance.now() - start,
    cases: document.querySelectorAll("#list .case").length,
  };
"""


def main() -> None:
    run = invented_run(authors=50, words=200)
    start = time.perf_counter()
    page = report_page(run, report_sections(run))
    made = time.perf_counter() - start
    generations = sum(
        len(given) for line, given in run.answers.items() if line in run.results.twins
    )
    print(f"generations            {generations}")
    print(f"made in                {made:8.2f} s")
    print(f"size                   {len(page.encode()) / 1e6:8.2f} MB (bound 8)")
    if CHROMIUM is None:
        print("opened in              not measured: no chromium")
        return
    with tempfile.TemporaryDirectory() as folder:
        # In real time: the browser's clock must not run ahead.
        found = run_in_page(page, _OPENED, Path(folder), virtual_time=False)
    print(f"opened in              {found['opened'] / 1000:8.2f} s (bound 2)")
    print(f"sorted in              {found['sorted'] / 1000:8.2f} s, {found['cases']} cases shown")


if __name__ == "__main__":
    main()
