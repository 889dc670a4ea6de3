"""How many tokens a request has: the provider's count, and an estimate that follows it."""

import time

from outrider.agent.context.pruning import stale_reads
from outrider.agent.context.tokens import FEWEST_PER_BYTE, MOST_PER_BYTE, Counter
from outrider.agent.state.memory import Touch
from outrider.ports.model import Message, Tokens, ToolCall


def talk(steps, size=400):
    messages = [Message("system", "You are."), Message("user", "Go.")]
    for number in range(steps):
        called = ToolCall(f"c{number}", "read_file", "{}")
        messages += [Message("assistant", "", (called,)), Message("tool", "x" * size, tool_call_id=called.id)]
    return messages


def test_the_count_of_the_provider_is_the_truth():
    counter, messages = Counter(tools=4_000), talk(10)
    counter.take("m", messages, Tokens(2_000, 50))
    assert counter.tokens(messages) == 2_050
    answered = [*messages, Message("assistant", "An answer that was counted.")]
    assert counter.tokens(answered) == 2_050


def test_what_is_new_is_estimated_as_the_model_counted_before():
    counter, messages = Counter(tools=0), talk(10)
    size = sum(len(one.encoded) for one in messages)
    counter.take("m", messages, Tokens(size // 2, 0))
    new = Message("user", "y" * 1_000)
    assert abs(counter.tokens([*messages, new]) - size // 2 - len(new.encoded) // 2) <= 2
    counter.forget()
    assert abs(counter.tokens(messages) - size // 2) <= 2


def test_a_count_without_what_was_in_a_cache_is_no_count_of_the_request():
    counter, messages = Counter(), talk(10)
    estimate = counter.tokens(messages)
    for told in (0, 1, 40):
        counter.take("m", messages, Tokens(told, 5))
        assert counter.tokens(messages) == estimate


def test_a_count_that_cannot_be_true_of_texts_teaches_nothing_beyond_its_bounds():
    messages = talk(10)
    size = sum(len(one.encoded) for one in messages)
    for told, bound in ((size // 12, FEWEST_PER_BYTE), (10 * size, MOST_PER_BYTE)):
        counter = Counter()
        counter.take("m", messages, Tokens(told, 0))
        counter.forget()
        assert counter.tokens(messages) == int(size * bound)


def test_the_count_of_one_model_is_none_of_another():
    counter, messages = Counter(), talk(10)
    size = sum(len(one.encoded) for one in messages)
    counter.take("m", messages, Tokens(size // 2, 0))
    counter.asks("other")
    assert abs(counter.tokens(messages) - size / 3.5) < 2
    counter.asks("m")
    assert abs(counter.tokens(messages) - size // 2) < 2


def test_a_long_context_of_which_little_is_new_is_counted_at_once():
    counter, messages = Counter(tools=9_000), talk(1_400, size=400)
    assert counter.tokens(messages) > 200_000
    messages += talk(2)[2:]
    counter.forget()
    took = []
    for _ in range(5):
        begun = time.perf_counter()
        counter.tokens(messages)
        took.append(time.perf_counter() - begun)
    assert min(took) < 0.02


def test_a_read_is_stale_after_a_change_and_after_a_read_of_as_much():
    def stale(*touches):
        return stale_reads([Touch(f"c{number}", "a.py", *rest) for number, rest in enumerate(touches)])

    whole, part, change = (False,), (False, 10, 20), (True,)
    assert stale(whole, whole) == {"c0"}
    assert stale(whole, part) == set()
    assert stale(part, whole) == {"c0"}
    assert stale((False, 12, 15), part) == {"c0"}
    assert stale(part, (False, 12, None)) == set()
    assert stale(whole, change) == {"c0"}
    assert stale(change, whole) == set()
    assert stale_reads([Touch("c0", "a.py"), Touch("c1", "b.py")]) == set()
