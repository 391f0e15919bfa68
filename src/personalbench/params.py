"""params.yaml as typed models: what a stage may be told, and nothing else."""

import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from personalbench.errors import UserError
from personalbench.templates import SHIPPED

Count = Annotated[int, Field(ge=1)]
MOVING_REVISIONS = frozenset({"", "main", "master", "head", "latest", "stable", "default"})
GroupSize = Annotated[int, Field(ge=2, le=8)]
"""Documents in one vector; intervals list all of a group's resamples, 6,435 of eight."""
Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(ge=0, le=2)]

REFERENCE_LINES = ("ceiling", "floor")
_OWN_WORDS = ("unknown_key", "name", "twin", "model", "missing")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


class Section(BaseModel):
    """A section of params.yaml: unknown keys and wrong types are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _keys_are_known(cls, values: Any) -> Any:
        """Say which keys are allowed; pydantic's own message would not."""
        if isinstance(values, dict) and cls.model_config["extra"] == "forbid":
            allowed = [field.alias or name for name, field in cls.model_fields.items()]
            for key in values:
                if key not in allowed:
                    raise PydanticCustomError(
                        "unknown_key",
                        "unknown key {key}; allowed here: {allowed}",
                        {"key": repr(key), "allowed": ", ".join(allowed)},
                    )
        return values


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
        language: Code of the language that every text should be in; a warning otherwise.
            None does not look.
        min_cases: Fewest cases of a bundle.
        prompt_ngram: A prompt that shares this many words in a row with its source is
            contaminated; a warning.
    """

    language: str | None = "en"
    min_cases: Count = 5
    prompt_ngram: Count = 8


class Price(Section):
    """What a hosted model costs, in US dollars per million tokens."""

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]


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
        logprobs: True where it gives log-probabilities: the judge's verdicts then have a
            probability.
        max_context: Longest prompt and answer together, in tokens.
        temperature: Of the texts that it writes, where ``personalize`` has null.
        max_tokens: Of the texts that it writes, where ``personalize`` has null.
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
    logprobs: bool = False
    max_context: Count = 4096
    temperature: Temperature = 0.7
    max_tokens: Count = 256
    concurrency: Count = 8
    price: Price | None = None
    _name: str | None = PrivateAttr(default=None)

    @property
    def name(self) -> str:
        """Its name in the registry; the id of an entry that stands in none."""
        return self._name or self.id

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
    documents_per_author: Annotated[int, Field(ge=2)] = 16


class BundleParams(Section):
    """Whose writing is imitated, and on which topics.

    Attributes:
        authors: Names of the authors, or how many to draw.
    """

    authors: Count | Annotated[list[str], Field(min_length=1)]
    cases: Count
    group_size: GroupSize = 5
    contrast_documents: Count = 10
    genre: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    prompt_model: str
    temperature: Temperature = 0.3
    max_tokens: Count = 80
    shared_ngram_limit: Count = 6


class PromptedParams(Section):
    """What a twin that is prompted may set for itself; None takes the section's own value.

    Attributes:
        method: What the generator sees.
        topics: ``first_sentence`` puts the first sentence of the reference document in the
            topic's place: an ablation that shows what a contaminated prompt gives away.
        generator: Name in the registry.
        temperature: Of the answers.
        max_tokens: Of an answer.
    """

    method: str
    topics: Literal["summary", "first_sentence"] = "summary"
    generator: str | None = None
    temperature: Temperature | None = None
    max_tokens: Count | None = None


class NonPersonalizedParams(PromptedParams):
    """The topic only."""

    method: Literal["non_personalized"]


class FewShotParams(PromptedParams):
    """Profile documents as examples."""

    method: Literal["few_shot"]
    samples: Count = 5


class ProfileParams(PromptedParams):
    """A written style profile, extracted once an author, in ``profile_tokens`` at most."""

    method: Literal["profile"]
    posts: Count = 10
    profile_tokens: Count = 300


class ContrastiveParams(PromptedParams):
    """The author's documents beside those of others, with measured features of both."""

    method: Literal["contrastive"]
    samples: Count = 3
    authors: Count = 3


class TrainingParams(Section):
    """How a twin is trained.

    Attributes:
        engine: ``peft`` trains embedded models with torch, ``mlx`` those of an mlx-lm server
            on this machine.
        documents: Most profile documents to learn from.
        epochs: How often it reads them.
        rank: Of the low-rank updates.
        learning_rate: The highest on the way.
        max_length: Tokens of a prompt and its document; what is longer ends there.
    """

    engine: Literal["peft", "mlx"] = "peft"
    documents: Annotated[int, Field(ge=20)] = 200
    epochs: Count = 2
    rank: Count = 16
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-3
    max_length: Count = 512


class FinetunedParams(PromptedParams, TrainingParams):
    """The topic only, to a generator that was trained on the author's profile split."""

    method: Literal["finetuned"]


class FileParams(Section):
    """Answers that another program wrote.

    Attributes:
        answers: The file, below ``twins/``: there DVC sees that it changed.
        allow_missing: Count a case without an answer as a gap; otherwise it is an error.
    """

    method: Literal["file"]
    answers: str
    allow_missing: bool = False

    @field_validator("answers")
    @classmethod
    def _where_dvc_looks(cls, answers: str) -> str:
        if PurePosixPath(answers).parts[:1] != ("twins",) or ".." in answers:
            raise ValueError("put the file below twins/, for example twins/mine.jsonl")
        return answers


TwinParams = Annotated[
    NonPersonalizedParams
    | FewShotParams
    | ProfileParams
    | ContrastiveParams
    | FinetunedParams
    | FileParams,
    Field(discriminator="method"),
]


class PersonalizeParams(Section):
    """The generator and its settings; every further key is a twin's name.

    Attributes:
        generator: The model that writes, for twins that name none.
        temperature: None takes the model's.
        max_tokens: None takes the model's.
        max_failure_rate: The stage stops where a larger share of a twin's cases has no
            answer.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, TwinParams]

    generator: str
    temperature: Temperature | None = None
    max_tokens: Count | None = None
    max_failure_rate: Share = 0.05

    def twin(self, name: str) -> TwinParams:
        """The section of one twin."""
        return self.__pydantic_extra__[name]


class JudgeParams(Section):
    """The judge: a model of another family than the generator's.

    Attributes:
        max_failure_rate: A stage stops where a larger share of the judge's answers is
            missing or unusable.
    """

    model: str
    temperature: Temperature = 0.0
    max_failure_rate: Share = 0.05
    trait_posts: Count = 10


class TrustParams(Section):
    """How thoroughly the judge is tried.

    Attributes:
        authors: Trait questions are extracted anew for so many authors at most.
        extractions: How often, each time by chance.
        temperature: Of these extractions; at 0 most models repeat themselves.
        texts: Texts that are judged twice, and pairs that are shown in both orders.
    """

    authors: Count = 10
    extractions: Annotated[int, Field(ge=2)] = 3
    temperature: Temperature = 0.7
    texts: Count = 10


class ScoreParams(Section):
    """How intervals are made, and which answers are flagged.

    Attributes:
        bootstrap: Replicates of the bootstrap.
        copied_run: An answer that shares so many words in a row with a document that its
            twin saw is flagged as copied, ...
        copied_share: ... and so is one with this share of its 5-grams in those documents.
    """

    bootstrap: Annotated[int, Field(ge=100)] = 10_000
    copied_run: Count = 10
    copied_share: Share = 0.2


class TrackParams(Section):
    """Where runs are logged; ``MLFLOW_TRACKING_URI`` names another store.

    Attributes:
        experiment: Name of the MLflow experiment.
        texts: Whether files with texts of the corpus or of a model go there, too.
    """

    experiment: str = "personalbench"
    texts: bool = True


class Params(Section):
    """All of params.yaml.

    Attributes:
        templates: Folder of the prompt templates; None takes the shipped ones.
        twins: What is compared; each has a section under ``personalize``.
    """

    seed: Annotated[int, Field(ge=0)]
    templates: str | None = None
    twins: Annotated[list[str], Field(min_length=1)]
    corpus: CorpusParams
    check: CheckParams
    bundle: BundleParams
    weights: WeightsParams
    validate_: ValidateParams = Field(alias="validate")
    personalize: PersonalizeParams
    judge: JudgeParams
    trust: TrustParams = TrustParams()
    score: ScoreParams
    track: TrackParams
    models: dict[str, ModelParams]

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        """Every name that a section uses stands where it is defined."""
        defined = sorted(self.personalize.__pydantic_extra__)
        for name in self.twins:
            if not _NAME.fullmatch(name) or name in REFERENCE_LINES:
                raise PydanticCustomError(
                    "name",
                    "twins: {name} is no name for a twin: lower-case letters, digits, _ and -, "
                    "not ceiling or floor",
                    {"name": repr(name)},
                )
            if name not in defined:
                raise PydanticCustomError(
                    "twin",
                    "twins: {name} has no section under personalize; there are: {defined}",
                    {"name": name, "defined": ", ".join(defined)},
                )
        if len(set(self.twins)) < len(self.twins):
            raise PydanticCustomError("twin", "twins: a name stands twice")
        uses = {
            "bundle.prompt_model": self.bundle.prompt_model,
            "judge.model": self.judge.model,
            "personalize.generator": self.personalize.generator,
            **{
                f"personalize.{twin}.generator": section.generator
                for twin, section in self.personalize.__pydantic_extra__.items()
                if not isinstance(section, FileParams) and section.generator is not None
            },
        }
        for key, name in uses.items():
            if name not in self.models:
                raise PydanticCustomError(
                    "model",
                    "{key}: {name} is not in the registry; there are: {models}",
                    {"key": key, "name": name, "models": ", ".join(sorted(self.models))},
                )
        for name, spec in self.models.items():
            spec._name = name
        return self

    @property
    def template_folder(self) -> Path:
        """Folder of the prompt templates."""
        return SHIPPED if self.templates is None else Path(self.templates)

    def method_of(self, twin: str) -> str:
        """A twin's method; ``file`` for answers that another program wrote."""
        return self.personalize.twin(twin).method

    def generator_of(self, twin: str) -> str | None:
        """The registry's name of the model that writes a twin's answers; None for a file."""
        section = self.personalize.twin(twin)
        if isinstance(section, FileParams):
            return None
        return section.generator or self.personalize.generator

    def topics_of(self, twin: str) -> str | None:
        """What stands for the topic in a twin's prompts; None for a file."""
        section = self.personalize.twin(twin)
        return None if isinstance(section, FileParams) else section.topics

    def models_in_use(self) -> list[ModelParams]:
        """The registry's entries that this run calls, each once."""
        generators = {self.generator_of(twin) for twin in self.twins} - {None}
        names = {self.bundle.prompt_model, self.judge.model, *generators}
        return [model for name, model in sorted(self.models.items()) if name in names]


def load_params(path: Path = Path("params.yaml")) -> Params:
    """Read and check params.yaml.

    Raises:
        UserError: The file is missing or no YAML in UTF-8, a key is unknown, or a value has a
            type or range that is not allowed; names the file, the key and what is.
    """
    try:
        values: Any = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run from the repository's root") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8"
        ) from None
    except RecursionError:
        raise UserError(f"{path}: not YAML: nested too deep; close the brackets") from None
    except (YAMLError, ValueError) as error:  # a date or number of a wrong form is the latter
        raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    try:
        return Params.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{path}: {_explain(error.errors()[0])}") from None


def _explain(error: ErrorDetails) -> str:
    """The key and what is wrong with it, in one line."""
    location = [str(part) for part in error["loc"]]
    if location[:1] == ["personalize"]:
        # The method that pydantic chose by is part of its location, not of the file's.
        del location[2:3]
    key = ".".join(location)
    where = f"{key}: " if key else ""
    found = "" if error["type"] in _OWN_WORDS else f" (found {error['input']!r})"
    return f"{where}{error['msg']}{found}"
