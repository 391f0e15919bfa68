"""What pyproject.toml cannot say: models/luar-mini and params.yaml become part of the package."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithFiles(build_py):
    """Copies the files into the package; an editable install finds them where they are."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            package = Path(self.build_lib, "personalbench")
            self.copy_tree("models/luar-mini", str(package / "encoders" / "luar-mini"))
            self.copy_file("params.yaml", str(package / "params.yaml"))


setup(cmdclass={"build_py": BuildWithFiles})
