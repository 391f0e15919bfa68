"""PersonalBench measures whether an AI twin really writes like a given person."""

__version__ = "0.1.0"
