"""Time and memory of the corpus stage's work on the Blog Authorship Corpus.

    python bench/corpus.py blogs.zip

Three measurements in one run, each in its own process: the product (cleaning, exact and
near duplicates, selection, split), the same on every second file (is the time linear in
the number of posts?), and the plain way (one process, `re`, `html.unescape`, exact
duplicates only). Also compares the number of posts found with the number of `<post>`.
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
from collections import defaultdict
from pathlib import Path
from random import Random


def product(path: Path) -> dict[str, int]:
    """Run what the stage `corpus` runs, with the paper's author rule."""
    from personalbench.corpus.blogs import BlogsReader
    from personalbench.corpus.select import select
    from personalbench.params import CorpusParams

    params = CorpusParams(reader="blogs", path=str(path), min_profile=200, min_reference=50)
    documents, report = select(BlogsReader(path), params, seed=42)
    wordless = report.counts.get("no_words", 0)
    return {"posts": report.found.documents + wordless, "kept": len(documents), **report.counts,
            "authors": report.kept.authors}  # fmt: skip


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
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(target, "w") as copy:
        for name in whole.namelist()[::2]:
            copy.writestr(name, whole.read(name))
    return target


def measure(what: str, path: Path) -> dict[str, float]:
    """Run one measurement in a process of its own; MiB are peaks of it and of one worker."""
    command = [sys.executable, __file__, str(path), "--only", what]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--only", choices=["product", "plain"])
    options = parser.parse_args()
    if options.only:
        start = time.perf_counter()
        counts = {"product": product, "plain": plain}[options.only](options.path)
        seconds = time.perf_counter() - start
        own = resource.getrusage(resource.RUSAGE_SELF)
        workers = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = own.ru_utime + own.ru_stime + workers.ru_utime + workers.ru_stime
        peaks = {"MiB": own.ru_maxrss / 1024, "worker_MiB": workers.ru_maxrss / 1024}
        print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, **peaks, **counts}))
        return
    with zipfile.ZipFile(options.path) as archive:
        tags = sum(archive.read(name).count(b"<post>") for name in archive.namelist())
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            "plain": measure("plain", options.path),
            "product": measure("product", options.path),
            "half": measure("product", half(options.path, Path(folder))),
        }
    for name, run in runs.items():
        print(name, json.dumps(run))
    whole = runs["product"]
    print(f"posts read / <post> in the files: {whole['posts']:.0f} / {tags}")
    print(f"time, product / plain: {whole['seconds'] / runs['plain']['seconds']:.2f}")
    per_post = {name: runs[name]["seconds"] / runs[name]["posts"] for name in ("product", "half")}
    print(f"time a post, whole / half: {per_post['product'] / per_post['half']:.2f}")


if __name__ == "__main__":
    main()
