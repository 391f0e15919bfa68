"""How fast a twin is trained: a plain loop, and ours in both precisions, in one run.

python bench/train_twin.py                  # tokens/s over a few documents, minutes
python bench/train_twin.py --documents 200  # ours over as many, two epochs: the bound

Tokens count prompts and documents, not padding. On a machine that does other work as well,
the CPU time says more than the clock.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model

from personalbench.corpus.sotu import SotuReader
from personalbench.llm.embedded import MODEL_FILES
from personalbench.params import ModelParams, TrainingParams
from personalbench.training.examples import Example
from personalbench.training.learner import Tokens, encode
from personalbench.training.torch_model import TorchModel, lora_config
from personalbench.training.trainer import train

WORDS = 190  # a passage ends with the sentence in which it reaches them: 200 on average
DOCUMENTS = 200
EPOCHS = 2
SECONDS = 600
MEMORY = 4.0  # GiB
PROMPT = (
    "Write a short speech passage of two or three paragraphs.\n\nThe text is about the state of "
    "the treasury and what was spent on roads and harbours.\n\nWrite only the text itself."
)
SPEC = ModelParams(
    kind="embedded",
    family="smollm2",
    id="smollm2-135m",
    revision=MODEL_FILES["smollm2-135m"].sha256,
)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, help="ours alone, over so many, to the end")
    documents = parser.parse_args().documents
    if documents is not None:
        whole(documents)
        return
    examples = passages(22)
    base = TorchModel.load(SPEC, torch.float32)
    plain = measured("plain loop, float32", lambda: plain_loop(base, examples[:4]))
    for precision in (torch.float32, torch.bfloat16):
        base = TorchModel.load(SPEC, precision)
        speed = measured(f"ours, {precision}", lambda base=base: trained(base, examples, 1))
        print(f"{precision} against the plain loop: {speed / plain:.2f} times the tokens/s")


def passages(count: int) -> list[Example]:
    """Passages of presidential messages, in the public domain."""
    reader = SotuReader(WORDS)
    texts = (raw.text for part in reader.parts() for raw in reader.parse(part).documents)
    return [Example(str(n), PROMPT, text) for n, text in enumerate(islice(texts, count))]


def measured(name: str, work: Callable[[], int]) -> float:
    """Run it, print its speed, and return its tokens a second of CPU time, on all cores."""
    started, busy = time.perf_counter(), time.process_time()
    tokens = work()
    busy = (time.process_time() - busy) / torch.get_num_threads()
    clock = time.perf_counter() - started
    print(
        f"{name}: {tokens} tokens in {clock:.0f} s: "
        f"{tokens / clock:.0f} tokens/s by the clock, {tokens / busy:.0f} by CPU time; "
        f"most memory so far {memory():.1f} GiB",
        flush=True,
    )
    return tokens / busy


def memory() -> float:
    """Most memory that this process has held, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def plain_loop(base: TorchModel, examples: list[Example]) -> int:
    """One document a step, all logits, labels that hide the prompt."""
    model = get_peft_model(base.network, LoraConfig(**lora_config(16)))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    encoded = encode(base, SPEC, examples, 512)
    for each in encoded:
        ids = torch.tensor([each.ids])
        labels = ids.clone()
        labels[0, : each.start] = -100
        model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    base.network = model.unload()
    return count(encoded)


def trained(base: TorchModel, examples: list[Example], epochs: int) -> int:
    """Our loop; the looks at the held-out documents take their time too."""
    encoded = encode(base, SPEC, examples, 512)
    held_out = max(2, len(encoded) // 11)
    with tempfile.TemporaryDirectory() as folder:
        result = train(
            base.adapted(16, 1),
            encoded[:-held_out],
            encoded[-held_out:],
            TrainingParams(epochs=epochs),
            1,
            Path(folder) / "checkpoint",
            "bench",
        )
    for point in result.curve:
        print(f"  step {point.step}: train {point.train}, held out {point.held_out:.3f}")
    return count(encoded[:-held_out]) * epochs


def count(examples: list[Tokens]) -> int:
    """Tokens of prompts and documents."""
    return sum(len(each.ids) for each in examples)


def whole(documents: int) -> None:
    """The bound: 200 documents of 200 words, two epochs."""
    started = time.perf_counter()
    examples = passages(documents + documents // 10)
    base = TorchModel.load(SPEC)
    measured(f"{documents} documents, {base.dtype}", lambda: trained(base, examples, EPOCHS))
    seconds = (time.perf_counter() - started) * DOCUMENTS / documents
    print(
        f"{DOCUMENTS} documents: {seconds:.0f} s (bound {SECONDS}), {memory():.1f} GiB ({MEMORY})"
    )


if __name__ == "__main__":
    main()
