"""What of a model's answer is text."""

import pytest

from personalbench.llm.cache import Response
from personalbench.llm.clean import clean
from personalbench.llm.types import Reply


def cleaned(content: str | None, finish_reason: str = "stop", **fields: str) -> Reply:
    return clean(Response(content=content, finish_reason=finish_reason, **fields))


WRAPPED = 'Here is the post in the author\'s style:\n\n"Went out today."\n\nLet me know if it fits.'


@pytest.mark.parametrize(
    ("raw", "text", "flags"),
    [
        ("Went out today.", "Went out today.", ()),
        (
            "<think>They like dashes. YES or NO?</think>\n\nMy dog - she ran.",
            "My dog - she ran.",
            ("thoughts",),
        ),
        ("They like dashes.\n</think>\n\nMy dog.", "My dog.", ("thoughts",)),
        ("<think>\n\n</think>\n\nMy dog.", "My dog.", ("thoughts",)),
        ("I <think> therefore I am.", "I <think> therefore I am.", ("think_tag",)),
        ("Went out.<|im_end|>\n<|im_start|>user", "Went out.", ("special_tokens",)),
        ("<|im_start|>assistant\nWent out.", "Went out.", ("special_tokens",)),
        ("Went out.</s>", "Went out.", ("special_tokens",)),
        ("Went out.<end_of_turn>", "Went out.", ("special_tokens",)),
        ("[gMASK]<sop><|assistant|>\nWent out.<|user|>", "Went out.", ("special_tokens",)),
        ("```text\nWent out.\n```", "Went out.", ("fence",)),
        ("```\nWent out.\n\nCame back.\n```", "Went out.\n\nCame back.", ("fence",)),
        (
            "Use this:\n```\nls\n```\nand that.",
            "Use this:\n```\nls\n```\nand that.",
            (),
        ),
        (
            "```\none\n```\nand\n```\ntwo\n```",
            "```\none\n```\nand\n```\ntwo\n```",
            (),
        ),
        (WRAPPED, WRAPPED, ("preamble", "closing")),
        ("“Went out today.”", "“Went out today.”", ("quoted",)),
        ("Sure thing, we went out.", "Sure thing, we went out.", ()),
    ],
)
def test_what_is_removed_and_what_is_only_flagged(
    raw: str, text: str, flags: tuple[str, ...]
) -> None:
    reply = cleaned(raw)
    assert (reply.status, reply.text, reply.flags) == ("ok", text, flags)
    assert reply.raw == raw


@pytest.mark.parametrize(
    ("raw", "finish_reason", "status"),
    [
        ("<think>let me look at the samples and", "length", "truncated_reasoning"),
        ("<think>let me look at the samples and", "stop", "truncated_reasoning"),
        (None, "length", "truncated_reasoning"),
        ("", "stop", "empty"),
        (" \n", "stop", "empty"),
        (None, "stop", "empty"),
        ("<think>hm</think>\n", "stop", "empty"),
        ("<|im_end|>", "stop", "empty"),
        ("I'm sorry, I can't ...", "stop", "refused"),
        ("I’m sorry, but I can’t help with that.", "stop", "refused"),
        ("I cannot assist with this request.", "stop", "refused"),
        ("As an AI language model, I am unable to imitate people.", "stop", "refused"),
        ("Went", "content_filter", "refused"),
        ("I went to the", "length", "truncated"),
    ],
)
def test_every_failure_has_its_own_status_and_a_reason(
    raw: str | None, finish_reason: str, status: str
) -> None:
    reply = cleaned(raw, finish_reason)
    assert reply.status == status
    assert reply.reason
    assert reply.text == ("I went to the" if status == "truncated" else "")


def test_the_servers_own_refusal_counts() -> None:
    reply = cleaned(None, refusal="not this")
    assert (reply.status, reply.reason) == ("refused", "not this")


def test_thoughts_that_the_server_keeps_apart_are_flagged() -> None:
    reply = cleaned("My dog.", reasoning="They like dogs.")
    assert (reply.text, reply.flags) == ("My dog.", ("thoughts",))


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, I can't believe I missed your birthday.",
        "I cannot tell you how glad I was.",
        "Sorry I have not written.",
        "Here are the facts. We lost.",
    ],
)
def test_ordinary_writing_is_no_refusal_and_no_wrapper(text: str) -> None:
    reply = cleaned(text)
    assert (reply.status, reply.flags) == ("ok", ())
