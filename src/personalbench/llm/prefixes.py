"""Common beginnings of prompts: who answers them, and how they are read only once.

A few-shot prompt of 1,300 tokens takes seconds to read and a topic at its end takes
none. Each endpoint therefore stays with one group of requests that begin alike, and
finds what it has read. llama.cpp keeps that per slot: in an embedded server the state of
one slot that has read the common beginning is saved and copied into the other slots.
"""

import asyncio
from bisect import bisect
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import groupby
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


class Work:
    """The requests that wait, group by group.

    Args:
        requests: By key.
    """

    def __init__(self, requests: Mapping[str, Request]) -> None:
        ordered = sorted(
            requests.items(), key=lambda item: [each.content for each in item[1].messages]
        )
        self.groups = _groups(ordered)
        chunks = groupby(ordered, key=lambda item: self.groups.get(item[0]))
        self._waiting = [deque(chunk) for _, chunk in chunks]
        self._at: dict[str, deque[tuple[str, Request]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting))

    def take(self, endpoint: str) -> tuple[str, Request] | None:
        """The next request for an endpoint; None if none waits.

        An endpoint that is done with a group begins one that nobody is at, and only then
        helps where most is left: so that endpoints read different beginnings at one time.
        """
        at = self._at.get(endpoint)
        if not at:
            left = [chunk for chunk in self._waiting if chunk]
            if not left:
                return None
            taken = list(map(id, self._at.values()))
            untouched = [chunk for chunk in left if id(chunk) not in taken]
            at = self._at[endpoint] = untouched[0] if untouched else max(left, key=len)
        return at.popleft()

    def put_back(self, endpoint: str, key: str, request: Request) -> None:
        """Return a request that the endpoint could not answer."""
        self._at[endpoint].appendleft((key, request))


class SharedPrefixes:
    """Puts the common beginning of a request's group into the slot that answers it.

    Args:
        model: The model's name in requests.
        groups: The group of every request that has one, by key.
    """

    def __init__(self, model: str, groups: Mapping[str, _Group]) -> None:
        self._model = model
        self._groups = groups
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
        first = ordered[start][1]
        size, shared = _leading_group(ordered, start)
        if size > 1:
            group = _Group(_cut(first.messages, shared), size)
            groups.update((key, group) for key, _ in ordered[start : start + size])
        start += size
    return groups


def _leading_group(ordered: Sequence[tuple[str, Request]], start: int) -> tuple[int, int]:
    """How many requests from one on begin as it does, and how many characters they share."""
    first = ordered[start][1].messages
    size, shared = 1, 0
    for index in range(start + 1, len(ordered)):
        common = _common_characters(first, ordered[index][1].messages)
        if common < max(_WORTHWHILE, _KEPT_SHARE * shared):
            break
        size, shared = size + 1, common
    return size, shared


def _common_characters(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Characters that two conversations share before their last messages differ."""
    if one[:-1] != other[:-1] or one[-1].role != other[-1].role:
        return 0
    a, b = one[-1].content, other[-1].content
    # The first length at which the beginnings differ is one more than they share.
    lengths = range(1, min(len(a), len(b)) + 1)
    return _characters(one[:-1]) + bisect(lengths, False, key=lambda size: a[:size] != b[:size])


def _cut(messages: Sequence[Message], characters: int) -> list[Message]:
    """The first characters of a conversation; only its last message is shortened."""
    kept = characters - _characters(messages[:-1])
    last = messages[-1].model_copy(update={"content": messages[-1].content[:kept]})
    return [*messages[:-1], last]


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message.content) for message in messages)
