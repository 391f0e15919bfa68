"""Time and memory of the corpus stage's work on the Blog Authorship Corpus.

    python bench/corpus.py blogs.zip

Three measurements in one run, each in its own process: the product (cleaning, exact and
near duplicates, selection, split), the same on every second file (is the time linear in
the number of posts?), and the plain way (one process, `re`, `html.unescape`, exact
duplicates only). Also compares every file's number of `<post>` with the posts of its author
that are kept or that the report names as left out.
"""

import argparse
import hashlib
import html
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path, PurePosixPath
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from personalbench.corpus.document import Document
    from personalbench.corpus.select import CorpusReport

    Selection = tuple[list[Document], CorpusReport]


def product(path: Path) -> "Selection":
    """Run what the stage `corpus` runs, with the paper's author rule."""
    from personalbench.corpus.blogs import BlogsReader
    from personalbench.corpus.select import select
    from personalbench.params import CorpusParams

    params = CorpusParams(reader="blogs", path=str(path), min_profile=200, min_reference=50)
    return select(BlogsReader(path), params, seed=42)


def account(selection: "Selection", path: Path) -> dict[str, int]:
    """Compare every file's number of `<post>` with the posts of its author that are kept
    or that the report names as left out."""
    documents, report = selection
    left_out = [*report.notes.get("no_words", []), *chain.from_iterable(report.dropped.values())]
    found = Counter(id.partition("-")[0] for id in left_out)
    found.update(document.author for document in documents)
    tags: Counter[str] = Counter()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            blogger = PurePosixPath(name).name.partition(".")[0]
            tags[blogger] += archive.read(name).count(b"<post>")
    return {
        "posts": found.total(),
        "tags": tags.total(),
        "files_that_differ": sum(found[blogger] != tags[blogger] for blogger in found | tags),
        "authors": report.kept.authors,
        "kept": len(documents),
        **report.counts,
    }


def plain(path: Path) -> dict[str, int]:
    """Do it the way of the public loaders, in one process and without near duplicates."""
    authors: dict[str, list[str]] = defaultdict(list)
    seen: set[bytes] = set()
    posts = 0
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            text = archive.read(name).decode("utf-8", errors="replace")
            for post in re.findall(r"<post>(.*?)</post>", text, re.DOTALL):
                posts += 1
                post = re.sub(r"<[^>]+>|urlLink", " ", html.unescape(post))
                post = re.sub(r"\s+", " ", post).strip()
                key = hashlib.md5(post.lower().encode()).digest()
                if post and key not in seen:
                    seen.add(key)
                    authors[name].append(post)
    kept = 0
    for name in sorted(authors):
        own = authors[name]
        Random(42).shuffle(own)
        words = sum(len(re.findall(r"\w+", post)) for post in own)
        if len(own) * 4 // 5 >= 200 and len(own) - len(own) * 4 // 5 >= 50:
            kept += len(own) if words >= 100 * len(own) else 0
    return {"posts": posts, "kept": kept}


def half(path: Path, folder: Path) -> Path:
    """Copy every second file into another archive."""
    target = folder / "half.zip"
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in whole.namelist()[::2]:
            copy.writestr(name, whole.read(name))
    return target


def measure(what: str, path: Path) -> dict[str, float]:
    """Run one measurement in a process of its own; ``MiB`` is the most of all its processes."""
    command = [sys.executable, __file__, str(path), "--only", what]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def run_one(what: str, path: Path) -> None:
    """Print the time, the peak of memory and the counts of one measurement as JSON."""
    from personalbench.corpus.intake import worker_count

    start = time.perf_counter()
    result = product(path) if what == "product" else plain(path)
    seconds = time.perf_counter() - start
    own = resource.getrusage(resource.RUSAGE_SELF)
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + workers.ru_utime + workers.ru_stime
    # The largest worker's peak, for every worker: the true sum is lower.
    mib = (own.ru_maxrss + worker_count() * workers.ru_maxrss) / 1024
    counts = account(result, path) if isinstance(result, tuple) else result
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "MiB": mib, **counts}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--only", choices=["product", "plain"])
    options = parser.parse_args()
    if options.only:
        run_one(options.only, options.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            "plain": measure("plain", options.path),
            "product": measure("product", options.path),
            "half": measure("product", half(options.path, Path(folder))),
        }
    for name, run in runs.items():
        print(name, json.dumps(run))
    plainly, whole, part = runs.values()
    print(f"posts kept or named / <post> in the files: {whole['posts']} / {whole['tags']}")
    print(f"files in which the two differ: {whole['files_that_differ']}")
    print(f"time: {whole['seconds']:.1f} s; peak of all processes: at most {whole['MiB']:.0f} MiB")
    print(f"time, product / plain: {whole['seconds'] / plainly['seconds']:.2f}")
    for clock in ("seconds", "cpu_seconds"):
        ratio = whole[clock] / whole["posts"] / (part[clock] / part["posts"])
        print(f"{clock} a post, whole / half: {ratio:.2f}; 1 is linear")


if __name__ == "__main__":
    main()
