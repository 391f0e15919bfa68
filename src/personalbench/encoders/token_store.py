"""A corpus as token ids, flat in memory: tokenised once, read at random."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tqdm import tqdm

from personalbench.corpus.document import Document
from personalbench.storage import sha256_bytes

_BATCH = 1024


@dataclass(frozen=True)
class TokenStore:
    """Documents as token ids, without the special tokens at their ends.

    Attributes:
        ids: Token ids of all documents, one after another.
        starts: Where each document begins, and the end of the last, shape (N + 1,).
        authors: Names of the authors, sorted.
        members: For every author, the numbers of the documents.
    """

    ids: NDArray[np.uint16]
    starts: NDArray[np.int64]
    authors: list[str]
    members: list[NDArray[np.int64]]

    def document(self, number: int) -> NDArray[np.uint16]:
        """Token ids of one document."""
        return self.ids[self.starts[number] : self.starts[number + 1]]

    @property
    def sha256(self) -> str:
        """Hash of all documents in their order."""
        return sha256_bytes(self.ids.tobytes() + self.starts.tobytes())

    @classmethod
    def build(
        cls, documents: Iterable[Document], tokenizer: Tokenizer, shortest: int
    ) -> "TokenStore":
        """Tokenise documents.

        Args:
            documents: In any order.
            tokenizer: Its vocabulary has at most 65,536 entries.
            shortest: Documents of fewer tokens are left out.
        """
        ids: list[NDArray[np.uint16]] = []
        owners: list[str] = []
        progress = tqdm(desc="tokenise", unit="document", disable=None)
        remaining = iter(documents)
        while batch := list(islice(remaining, _BATCH)):
            encoded = tokenizer.encode_batch([d.text for d in batch], add_special_tokens=False)
            for document, encoding in zip(batch, encoded, strict=True):
                if len(encoding.ids) >= shortest:
                    ids.append(np.array(encoding.ids, dtype=np.uint16))
                    owners.append(document.author)
            progress.update(len(batch))
        progress.close()
        authors, owner = np.unique(np.array(owners), return_inverse=True)
        order = np.argsort(owner, kind="stable")
        members = np.split(order, np.searchsorted(owner[order], np.arange(1, len(authors))))
        return cls(
            ids=np.concatenate(ids),
            starts=np.cumsum([0, *map(len, ids)]),
            authors=[str(author) for author in authors],
            members=members,
        )
