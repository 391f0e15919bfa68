"""Time of stylometry, ROUGE-L and the search for copied runs over 1,000 generations.

Made-up texts with the word frequencies of English: 50 authors with ten profile posts, 1,000
generations of 200 words against reference posts of 300.

    python bench/bench_stylometry.py
"""

import random
import time

from personalbench.metrics.copying import copying
from personalbench.metrics.rouge import rouge_l
from personalbench.metrics.stylometry import FUNCTION_WORDS, compare, style_of
from personalbench.text.tokenise import words

AUTHORS, GENERATIONS = 50, 20


def make_text(generator: random.Random, length: int) -> str:
    """Sentences of words drawn by Zipf's law, the function words being the most frequent."""
    vocabulary = [*FUNCTION_WORDS, *(f"word{chr(97 + k % 26)}{k}" for k in range(5_000))]
    chances = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    drawn = generator.choices(vocabulary, chances, k=length)
    return "".join(word + generator.choice([" "] * 10 + [", ", ". ", "! "]) for word in drawn)


def main() -> None:
    generator = random.Random(1)
    profiles = [[make_text(generator, 300) for _ in range(10)] for _ in range(AUTHORS)]
    cases = [
        (author, make_text(generator, 200), make_text(generator, 300))
        for author in range(AUTHORS)
        for _ in range(GENERATIONS)
    ]

    steps: dict[str, tuple[float, float]] = {}

    def lap(name: str, wall: float, cpu: float) -> None:
        steps[name] = (time.perf_counter() - wall, time.process_time() - cpu)

    start = time.perf_counter(), time.process_time()
    styles = [style_of(posts) for posts in profiles]
    for author, text, _ in cases:
        compare(style_of([text]), styles[author])
    lap("stylometry", *start)
    start = time.perf_counter(), time.process_time()
    for _, text, reference in cases:
        rouge_l(text, reference)
    lap("ROUGE-L", *start)
    start = time.perf_counter(), time.process_time()
    for author, text, _ in cases:
        copying(text, profiles[author])
    lap("copied runs", *start)

    count = sum(len(words(text)) for _, text, _ in cases)
    print(f"{len(cases)} generations, {count} words")
    for name, (wall, cpu) in steps.items():
        print(f"{name:12} {wall:6.2f} s wall, {cpu:6.2f} s processor")
    wall = steps["stylometry"][0] + steps["ROUGE-L"][0]
    print(f"stylometry and ROUGE-L {wall:.2f} s wall (bound 10 s)")


if __name__ == "__main__":
    main()
