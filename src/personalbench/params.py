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


class CorpusParams(Section):
    """What is read, and which authors and documents are kept."""

    reader: Literal["sotu", "blogs", "table", "folder"] = "sotu"
    path: str | None = None
    min_profile: Count = 20
    min_reference: Count = 10
    min_mean_words: Count = 100
    max_documents: Count | None = None
    passage_words: Count = 150
    near_duplicate: Share = 0.8


class CheckParams(Section):
    """Limits of the data-quality checks."""


class ModelParams(Section):
    """One entry of the registry of language models."""

    kind: Literal["embedded", "server"]
    endpoint: str | None = None
    id: str
    revision: str
    concurrency: Count = 8


class WeightsParams(Section):
    """Which encoder measures authorship.

    Attributes:
        encoder: Its weights: ``luar-mini`` comes along, the others are fetched.
        revision: Commit on the hub, for an encoder whose revision is not pinned here.
        folder: Where the files of a fetched encoder are already, in place of the hub.
        max_length: Longest document in tokens; the rest is cut off and counted.
    """

    encoder: Literal["luar-mini", "luar-mud", "luar-crud"] = "luar-mini"
    revision: Annotated[str, Field(pattern="^[0-9a-f]{40}$")] | None = None
    folder: str | None = None
    max_length: Annotated[int, Field(ge=3, le=512)] = 512


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
