"""Common beginnings of prompts, worked out once for all slots of an embedded server.

A few-shot prompt of 1,300 tokens takes seconds to read and a topic at its end takes
none. llama.cpp keeps what it has read per slot; here the state of one slot that has
read the common beginning is saved and copied into the other slots.
"""

import asyncio
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import httpx2
import openai

from personalbench.llm.embedded import Address
from personalbench.llm.types import Message, Request

_WORTHWHILE = 1000  # characters; shorter beginnings are read as fast as copied
_KEPT_SHARE = 0.8  # a group ends where the common beginning would lose more


class _Group:
    """Requests that begin alike.

    Attributes:
        beginning: The messages up to where they differ.
        members: How many requests still need it.
    """

    def __init__(self, beginning: Sequence[Message], members: int) -> None:
        self.beginning = beginning
        self.members = members
        self.lock = asyncio.Lock()
        self.saved = False


class SharedPrefixes:
    """Puts the common beginning of a request's group into the slot that answers it.

    Args:
        model: The model's name in requests.
        ordered: All requests by key, ordered so that common beginnings are adjacent.
    """

    def __init__(self, model: str, ordered: Sequence[tuple[str, Request]]) -> None:
        self._model = model
        self._groups = _groups(ordered)
        self._loaded: dict[tuple[str, int], _Group | None] = {}

    async def prepare(
        self, client: openai.AsyncOpenAI, address: Address, slot: int, key: str
    ) -> None:
        """Make a server's slot ready for a request; the first of a group reads, others copy.

        A fault here is left to the request itself, which meets and reports it.
        """
        assert address.states is not None
        group = self._groups.get(key)
        place = (address.base_url, slot)
        if group is None:
            self._loaded[place] = None
            return
        state = address.states / f"{id(group):x}.state"
        if self._loaded.get(place) is not group:
            async with group.lock:
                try:
                    await self._load(client, address, slot, group, state)
                    self._loaded[place] = group
                except openai.APIError:
                    self._loaded[place] = None
        group.members -= 1
        if group.members == 0:
            state.unlink(missing_ok=True)

    async def _load(
        self, client: openai.AsyncOpenAI, address: Address, slot: int, group: _Group, state: Path
    ) -> None:
        slot_url = f"{address.base_url.removesuffix('/v1')}/slots/{slot}"
        if group.saved:
            await _post(client, f"{slot_url}?action=restore", {"filename": state.name})
            return
        body = {
            "model": self._model,
            "messages": [message.model_dump() for message in group.beginning],
            "max_tokens": 1,
            "id_slot": slot,
        }
        await _post(client, "/chat/completions", body)
        await _post(client, f"{slot_url}?action=save", {"filename": state.name})
        group.saved = True


async def _post(client: openai.AsyncOpenAI, path: str, body: dict[str, Any]) -> None:
    await client.post(path, cast_to=httpx2.Response, body=body)


def _groups(ordered: Sequence[tuple[str, Request]]) -> dict[str, _Group]:
    """The group of every request that has one, by key."""
    groups: dict[str, _Group] = {}
    start = 0
    while start < len(ordered):
        size, shared = _leading_group([request for _, request in ordered[start:]])
        if size > 1:
            group = _Group(_cut(ordered[start][1].messages, shared), size)
            groups.update((key, group) for key, _ in ordered[start : start + size])
        start += size
    return groups


def _leading_group(requests: Sequence[Request]) -> tuple[int, int]:
    """How many of the first requests begin alike, and how many characters they share."""
    size, shared = 1, 0
    for other in requests[1:]:
        common = _common_characters(requests[0].messages, other.messages)
        if common < max(_WORTHWHILE, _KEPT_SHARE * shared):
            break
        size, shared = size + 1, common
    return size, shared


def _common_characters(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Characters that two conversations share before their last messages differ."""
    if one[:-1] != other[:-1] or one[-1].role != other[-1].role:
        return 0
    pairs = zip(one[-1].content, other[-1].content, strict=False)
    return _characters(one[:-1]) + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cut(messages: Sequence[Message], characters: int) -> list[Message]:
    """The first characters of a conversation; only its last message is shortened."""
    kept = characters - _characters(messages[:-1])
    last = messages[-1].model_copy(update={"content": messages[-1].content[:kept]})
    return [*messages[:-1], last]


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message.content) for message in messages)
