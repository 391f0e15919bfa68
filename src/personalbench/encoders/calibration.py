"""Calibration vectors: how alike two unrelated people look to an encoder.

One authorship vector for each of some unrelated authors. Which distances count as far
depends on the encoder, on where it cuts documents and on how many it aggregates, so a
calibration set is of use for just these.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from personalbench.corpus.document import Document
from personalbench.encoders.base import Encoder, Vectors
from personalbench.errors import UserError
from personalbench.seeds import derive
from personalbench.storage import sha256_bytes

_FORMAT = "personalbench-calibration-1"


@dataclass(frozen=True)
class Calibration:
    """Authorship vectors of unrelated authors.

    Attributes:
        encoder: Name of the encoder that made them.
        revision: Of that encoder.
        max_length: Where it cut the documents.
        group_size: Documents a vector.
        authors: What stands for the authors: hashes of their documents, no names.
        vectors: One for each author, shape (A, D), not normalised.
    """

    encoder: str
    revision: str
    max_length: int
    group_size: int
    authors: tuple[str, ...]
    vectors: Vectors

    def require(self, encoder: Encoder, group_size: int) -> None:
        """Refuse to be used with anything but what made it.

        Raises:
            UserError: Another encoder, revision, length or group size.
        """
        for what, mine, other in (
            ("encoder", self.encoder, encoder.name),
            ("revision", self.revision, encoder.revision),
            ("max_length", self.max_length, encoder.max_length),
            ("group_size", self.group_size, group_size),
        ):
            if mine != other:
                raise UserError(
                    f"calibration: made with {what} {mine}, not {other}; make one for this "
                    "encoder with `personalbench calibrate`"
                )

    def save(self, path: Path) -> None:
        """Write vectors and description as safetensors."""
        path.parent.mkdir(parents=True, exist_ok=True)
        metadata = {
            "format": _FORMAT,
            "encoder": self.encoder,
            "revision": self.revision,
            "max_length": str(self.max_length),
            "group_size": str(self.group_size),
            "authors": " ".join(self.authors),
        }
        path.write_bytes(save({"vectors": self.vectors}, metadata))

    @classmethod
    def load(cls, path: Path) -> "Calibration":
        """Read what :meth:`save` wrote.

        Raises:
            UserError: The file is missing or is no calibration set.
        """
        try:
            with safe_open(path, framework="np") as file:
                metadata = file.metadata() or {}
                if metadata.get("format") != _FORMAT:
                    raise UserError(f"{path}: no calibration set; run `personalbench calibrate`")
                vectors = file.get_tensor("vectors")
        except FileNotFoundError:
            raise UserError(f"{path}: no such file; run `personalbench calibrate`") from None
        except SafetensorError as error:
            raise UserError(f"{path}: not a safetensors file: {error}") from None
        return cls(
            encoder=metadata["encoder"],
            revision=metadata["revision"],
            max_length=int(metadata["max_length"]),
            group_size=int(metadata["group_size"]),
            authors=tuple(metadata["authors"].split()),
            vectors=vectors,
        )


def calibrate(
    encoder: Encoder, documents: Iterable[Document], authors: int, group_size: int, seed: int
) -> Calibration:
    """Make a calibration set from any corpus with enough authors.

    Args:
        encoder: Whose vectors.
        documents: By people who have nothing to do with who is to be measured.
        authors: How many authors, drawn from those with enough documents.
        group_size: Documents an author, drawn from all of theirs.
        seed: Decides the draw, for every author independently.

    Raises:
        UserError: Too few authors have ``group_size`` documents.
    """
    texts: dict[str, list[str]] = defaultdict(list)
    for document in documents:
        texts[document.author].append(document.text)
    able = sorted(
        (name for name, own in texts.items() if len(own) >= group_size),
        key=lambda name: (derive(seed, "calibrate", "author", name), name),
    )
    if len(able) < authors:
        raise UserError(
            f"calibration needs {authors} authors of at least {group_size} documents; "
            f"these documents have {len(able)}"
        )
    groups = []
    for name in able[:authors]:
        rng = np.random.default_rng(derive(seed, "calibrate", "documents", name))
        chosen = rng.choice(len(texts[name]), group_size, replace=False)
        groups.append([texts[name][i] for i in chosen])
    vectors = encoder.document_vectors([text for group in groups for text in group])
    return Calibration(
        encoder=encoder.name,
        revision=encoder.revision,
        max_length=encoder.max_length,
        group_size=group_size,
        authors=tuple(sha256_bytes("\0".join(group).encode())[:16] for group in groups),
        vectors=encoder.aggregate(vectors.reshape(authors, group_size, -1)),
    )
