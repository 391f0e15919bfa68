"""Which requests share a beginning, and where it ends."""

from personalbench.llm.prefixes import Work, _groups
from personalbench.llm.types import Message, Request


def asks(*contents: str) -> Request:
    roles = ["system", "user"][-len(contents) :]
    messages = [
        Message(role=role, content=content)  # type: ignore[arg-type]
        for role, content in zip(roles, contents, strict=True)
    ]
    return Request(messages=tuple(messages), temperature=0.0, max_tokens=5, seed=0)


def test_requests_of_one_author_are_a_group_and_a_loner_is_none() -> None:
    ann, ben = "Ann wrote this. " * 100, "Ben did. " * 200
    ordered = [
        ("a1", asks(ann + "Topic: sea")),
        ("a2", asks(ann + "Topic: snow")),
        ("a3", asks(ann + "Topic: wind")),
        ("b1", asks(ben + "Topic: sea")),
        ("b2", asks(ben + "Topic: wind")),
        ("c1", asks("Short and alone.")),
    ]
    groups = _groups(ordered)
    assert sorted(groups) == ["a1", "a2", "a3", "b1", "b2"]
    assert groups["a1"] is groups["a2"] is groups["a3"] is not groups["b1"]
    assert (groups["a1"].members, groups["b1"].members) == (3, 2)
    assert groups["a1"].beginning == [Message(role="user", content=ann + "Topic: ")]
    assert groups["b1"].beginning == [Message(role="user", content=ben + "Topic: ")]


def test_a_common_instruction_does_not_make_two_authors_one_group() -> None:
    rules = "Write plainly. " * 80
    ann, ben = rules + "Ann wrote this. " * 200, rules + "Ben did. " * 300
    ordered = [(f"{who[-3]}{n}", asks(who + str(n))) for who in (ann, ben) for n in (1, 2)]
    groups = _groups(ordered)
    assert len({id(group) for group in groups.values()}) == 2


def test_earlier_messages_must_be_equal() -> None:
    samples = "A sample. " * 200
    same = [("1", asks(samples, "sea")), ("2", asks(samples, "snow"))]
    group = _groups(same)["1"]
    assert group.beginning == [
        Message(role="system", content=samples),
        Message(role="user", content="s"),
    ]
    assert _groups([("1", asks(samples, "sea")), ("2", asks(samples + "!", "sea"))]) == {}


def test_short_beginnings_are_not_worth_it() -> None:
    assert _groups([("1", asks("Topic: sea")), ("2", asks("Topic: snow"))]) == {}


def test_each_endpoint_stays_with_a_group_and_helps_when_none_is_untouched() -> None:
    prompts = {
        f"{who}{n}": asks(f"{who} wrote this. " * 100 + str(n)) for who in "abc" for n in "1234"
    }
    work = Work(prompts)
    taken = [work.take(where) for where in ("one", "two") * 4]
    assert [each[0] for each in taken if each] == ["a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4"]
    assert len(work) == 4
    assert [work.take("one"), work.take("two")] == [("c1", prompts["c1"]), ("c2", prompts["c2"])]
    work.put_back("two", "c2", prompts["c2"])  # it could not answer; another one takes it
    assert [(work.take("one") or ("",))[0] for _ in range(4)] == ["c2", "c3", "c4", ""]


def test_many_short_prompts_are_shared_by_all_endpoints() -> None:
    work = Work({str(n): asks(f"Topic {n:03}") for n in range(100)})
    assert [(work.take(where) or ("",))[0] for where in ("one", "two", "three")] == ["0", "1", "2"]
