"""Where answers and assembled model files are kept between runs."""

import os
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Folder ``.cache/<name>`` of the project.

    DVC names the project in ``DVC_ROOT``, also where an experiment runs in a
    temporary copy that must find the same answers. Without DVC it is the
    repository that holds the working directory, else the working directory.
    """
    given = os.environ.get("DVC_ROOT")
    if given:
        return Path(given) / ".cache" / name
    here = Path.cwd()
    roots = (path for path in (here, *here.parents) if (path / ".dvc").is_dir())
    return next(roots, here) / ".cache" / name
