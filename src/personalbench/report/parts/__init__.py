"""The parts of the report: each a function that takes a run and gives a section."""
