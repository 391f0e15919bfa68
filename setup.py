"""What pyproject.toml cannot say: models/luar-mini becomes part of the package."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithModel(build_py):
    """Copies the model's files into the package; an editable install finds them where they are."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "personalbench", "encoders", "luar-mini")
            self.copy_tree("models/luar-mini", str(target))


setup(cmdclass={"build_py": BuildWithModel})
