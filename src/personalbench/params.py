"""params.yaml as typed models: what a stage may be told, and nothing else."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from personalbench.errors import UserError

Count = Annotated[int, Field(ge=1)]
MOVING_REVISIONS = frozenset({"", "main", "master", "head", "latest", "stable", "default"})
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


class Price(Section):
    """What a hosted model costs, in US dollars per million tokens."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]


class ModelParams(Section):
    """One entry of the registry of language models.

    Attributes:
        kind: ``embedded`` runs inside the stage; ``server`` is called over HTTP.
        family: Who trained it, for example ``qwen3``; a judge should be of another
            family than the generator.
        id: The model's name as the server knows it, or an embedded model's name.
        revision: Commit, release or content hash; for an embedded model its file's
            sha256. Names that move (``main``, ``latest``) are refused.
        quantization: For example ``4bit``; None for full precision.
        endpoints: Base addresses ending in ``/v1``; requests are spread over them.
        api_key_env: Environment variable that holds the key; None if none is needed.
        chat_template: Options for the server's chat template, such as
            ``enable_thinking``.
        extra_body: Further fields of the request's body.
        send_seed: False where a seed costs batching (mlx-lm) or is refused.
        structured: True where the server honours a JSON schema.
        max_context: Longest prompt and answer together, in tokens.
        concurrency: Calls in flight per endpoint.
        price: None where calls cost nothing.
    """

    kind: Literal["embedded", "server"]
    family: str
    id: str
    revision: str
    quantization: str | None = None
    endpoints: list[str] = []
    api_key_env: str | None = None
    chat_template: dict[str, Any] = {}
    extra_body: dict[str, Any] = {}
    send_seed: bool = True
    structured: bool = True
    max_context: Count = 4096
    concurrency: Count = 8
    price: Price | None = None

    @field_validator("revision")
    @classmethod
    def _immutable(cls, revision: str) -> str:
        if revision.strip().lower() in MOVING_REVISIONS:
            raise ValueError(f"{revision!r} moves; give a commit, a dated release or a hash")
        return revision

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "server" and not self.endpoints:
            raise ValueError("a server needs endpoints")
        if self.kind == "embedded" and self.endpoints:
            raise ValueError("an embedded model has no endpoints")
        for endpoint in self.endpoints:
            if not endpoint.startswith(("http://", "https://")):
                raise ValueError(f"{endpoint!r} is no http address")
        return self


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
