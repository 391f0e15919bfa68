"""Open a page in headless Chromium and run a script in it."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

_QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)


def run_in_page(page: str, script: str, folder: Path, *, virtual_time: bool = True) -> Any:
    """Load a page, run the body of an async function in it, and return what that returns.

    Args:
        page: The page's HTML.
        script: May use ``await`` and must ``return`` something that JSON can hold.
        folder: For the page and the browser's profile.
        virtual_time: Let the browser's clock run ahead while nothing happens.
    """
    assert CHROMIUM is not None
    probe = f"""<pre id="outcome"></pre><script>
      const told = (outcome) => {{
        document.getElementById("outcome").textContent = JSON.stringify(outcome);
      }};
      (async () => {{ {script} }})().then(
        (value) => told({{value}}),
        (error) => told({{error: String(error.stack)}}),
      );
    </script></body>"""
    path = folder / "page.html"
    path.write_text(page.replace("</body>", probe), encoding="utf-8")
    done = subprocess.run(
        [
            CHROMIUM,
            *_QUIET.split(),
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=1280,900",
            *(["--virtual-time-budget=10000"] if virtual_time else ["--timeout=60000"]),
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    found = re.search(r'<pre id="outcome">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    outcome = json.loads(html.unescape(found[1]))
    assert "error" not in outcome, outcome
    return outcome["value"]
