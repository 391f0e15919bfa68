"""What of a model's answer is text, by rule.

For model output only: human text is never put through this. Thoughts, special
tokens and a fence around the whole answer are removed; a wrapper in words ("Here
is the post:") is only flagged, for where it ends is a guess.
"""

import re

from personalbench.llm.cache import Response
from personalbench.llm.types import Reply, Status

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_OPENED_BY_TEMPLATE = re.compile(r"\A.*?</think>", re.DOTALL)
_UNFINISHED_THOUGHT = re.compile(r"\A\s*<think>")
_SPECIAL = (
    r"<\|[a-z0-9_]+\|>|</?(?:start|end)_of_turn>|<(?:bos|eos|pad|unk|sop|eop)>|</s>|\[/?INST\]"
    r"|\[gMASK\]"
)
_LEADING_TOKENS = re.compile(
    rf"\A(?:\s*(?:<s>|{_SPECIAL})(?:(?:assistant|model)\b[ \t]*\n?)?)+", re.IGNORECASE
)
_FIRST_TOKEN = re.compile(_SPECIAL, re.IGNORECASE)
_FENCE = re.compile(r"\A```[^\n`]*\n(?P<inner>.*?)\n?```\Z", re.DOTALL)
_QUOTES = {'"': '"', "“": "”", "'": "'", "‘": "’", "«": "»"}
_PREAMBLE = re.compile(
    r"\A(?:(?:sure|certainly|of course|absolutely|okay|ok)\b[^\n]*[:!.]\s*\n"
    r"|(?:here(?:['’]s| is| are)|below is|this is)\b[^\n]*:\s*\n)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\n[^\n]*\b(?:let me know|(?:i )?hope this helps|feel free to|would you like me to)\b[^\n]*\Z",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\A(?:(?:i['’]m|i am) (?:very |really |so )?sorry[,.;:!]?|sorry[,.;:!]?|i apologi[sz]e[,.;:!]?"
    r"|unfortunately,?|as an ai(?: language)?(?: model| assistant)?,?)?\s*(?:but\s+)?"
    r"i(?:['’]m| am)?\s+(?:can['’]?t|cannot|can not|won['’]t|will not|unable to|not able to)"
    r"(?:\s*(?:\.\.\.|…|\.|\Z)"
    r"|\s+(?:help|assist|comply|fulfil+|do (?:that|this|so)|provide|create|write|generate"
    r"|produce|imitate|continue (?:with|this)|answer|engage)\b)",
    re.IGNORECASE,
)


def clean(response: Response, *, cached: bool = False) -> Reply:
    """Turn what a server answered into a reply with a status.

    Rules, in this order: ``<think>`` blocks go, also one that the chat template opened;
    special tokens at the start go, and the answer
    ends at the next one; a code fence around the whole answer goes. What was removed
    or noticed is flagged by name.

    Args:
        response: The answer as it came.
        cached: Whether the answer was kept from an earlier call.
    """
    raw = response.content or ""
    flags = ["replacement_character"] if "\ufffd" in raw else []
    if response.reasoning:
        flags.append("thoughts")
    text, unfinished = _without_thoughts(raw, flags)
    text = _without_fence(_without_tokens(text, flags), flags)
    status, reason = _status(response, text, unfinished)
    if status in ("ok", "truncated"):
        flags += _wrappers(text)
    return Reply(
        status=status,
        text=text if status in ("ok", "truncated") else "",
        raw=raw,
        reason=reason,
        flags=tuple(flags),
        finish_reason=response.finish_reason,
        answered=response.answered,
        prompt_tokens=response.prompt_tokens,
        reused_tokens=response.reused_tokens,
        completion_tokens=response.completion_tokens,
        seconds=response.seconds,
        model=response.model,
        seed=response.seed,
        weighed=response.weighed,
        cached=cached,
    )


def _without_thoughts(text: str, flags: list[str]) -> tuple[str, bool]:
    """The text after the thoughts, and whether thinking never came to an end."""
    rest = _THOUGHT.sub("", text)
    if "</think>" in rest:
        rest = _OPENED_BY_TEMPLATE.sub("", rest)
    if rest != text and "thoughts" not in flags:
        flags.append("thoughts")
    if _UNFINISHED_THOUGHT.match(rest):
        return "", True
    if "<think>" in rest:
        flags.append("think_tag")
    return rest.strip(), False


def _without_tokens(text: str, flags: list[str]) -> str:
    rest = _LEADING_TOKENS.sub("", text)
    end = _FIRST_TOKEN.search(rest)
    rest = (rest[: end.start()] if end else rest).strip()
    if rest != text:
        flags.append("special_tokens")
    return rest


def _without_fence(text: str, flags: list[str]) -> str:
    fence = _FENCE.match(text)
    if not fence or "```" in fence["inner"]:
        return text
    flags.append("fence")
    return fence["inner"].strip()


def _status(response: Response, text: str, unfinished: bool) -> tuple[Status, str | None]:
    if unfinished:
        return "truncated_reasoning", "the tokens ran out inside <think>"
    if response.refusal or response.finish_reason == "content_filter":
        return "refused", response.refusal or "the server's content filter"
    if not text and response.finish_reason == "length":
        return "truncated_reasoning", "the tokens ran out before the answer began"
    if not text:
        return "empty", "the answer holds no text"
    if _REFUSAL.match(text):
        return "refused", text.splitlines()[0][:200]
    if response.finish_reason == "length":
        return "truncated", "the tokens ran out before the answer ended"
    return "ok", None


def _wrappers(text: str) -> list[str]:
    found = []
    if _PREAMBLE.match(text):
        found.append("preamble")
    if _CLOSING.search(text):
        found.append("closing")
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        found.append("quoted")
    return found
