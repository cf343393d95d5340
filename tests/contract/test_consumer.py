"""The consumer, on real queues: one message's trouble is that message's alone."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from isolane.aws.queue import Queue
from isolane.consumer import Consumer, Message
from isolane.deadline import Deadline
from isolane.errors import Unavailable
from tests.waiting import wait_until
from tests.world import World, receive

Handle = Callable[[Message], None]


@pytest.fixture
def queue(whole_world: World) -> Queue:
    return whole_world.make_queue("work", VisibilityTimeout="60")


@pytest.fixture
def dead_letters(whole_world: World) -> Queue:
    return whole_world.make_queue("dead")


@pytest.fixture
def consumer(queue: Queue, dead_letters: Queue) -> Consumer:
    return Consumer(queue=queue, dead_letters=dead_letters, pool_size=3)


def send(queue: Queue, *bodies: str) -> dict[str, Any]:
    """The event with which Lambda would deliver these bodies."""
    for body in bodies:
        queue.send(body)
    records: list[dict[str, Any]] = []

    def all_there() -> bool:
        records.extend(receive(queue))
        return len(records) == len(bodies)

    wait_until(all_there, description="every message is received")
    return {"Records": sorted(records, key=lambda record: bodies.index(record["body"]))}


def consume(consumer: Consumer, event: dict[str, Any], handle: Handle, *, left_s: float = 30) -> list[str]:
    """The bodies of those messages that are to be delivered again; checks the form of the answer to the letter."""
    answer = consumer.consume(event, handle, deadline=Deadline.after(left_s))
    bodies = {record["messageId"]: record["body"] for record in event["Records"]}
    failed = [bodies[failure["itemIdentifier"]] for failure in answer["batchItemFailures"]]
    failures = [{"itemIdentifier": record["messageId"]} for record in event["Records"] if record["body"] in failed]
    assert json.dumps(answer) == json.dumps({"batchItemFailures": failures})
    return failed


def by_name(message: Message) -> None:
    """Does what the message says."""
    match message.body["do"]:
        case "ack":
            message.ack()
        case "retry":
            message.retry(delay_seconds=0)
        case "dead_letter":
            message.dead_letter("told_to")
        case "raise":
            raise Unavailable
        case "burst":
            raise RuntimeError("not foreseen")


def do(what: str) -> str:
    return json.dumps({"do": what})


def test_a_hostile_batch_harms_nobody_else(consumer: Consumer, queue: Queue, dead_letters: Queue) -> None:
    bad = ["{bad", "[]", '{"a":1,"a":2}', '{"a":NaN}', '{"a":"\\ud800"}']
    event = send(queue, do("ack"), *bad, do("raise"), do("burst"), do("nothing"))
    handled: list[str] = []

    def handle(message: Message) -> None:
        handled.append(message.body["do"])
        by_name(message)

    assert consume(consumer, event, handle) == [do("raise"), do("burst")]
    assert sorted(handled) == ["ack", "burst", "nothing", "raise"]
    dead = wait_until(lambda: received(dead_letters, count=len(bad)), description="the bad ones are dead letters")
    assert sorted(body for body, _ in dead) == sorted(bad)
    assert {reason for _, reason in dead} == {"invalid_json", "invalid_request"}


def received(queue: Queue, *, count: int, _seen: dict[str, list[tuple[str, str]]] = {}) -> list[tuple[str, str]]:  # noqa: B006 - it remembers on purpose, by queue
    seen = _seen.setdefault(queue.url, [])
    seen += [(record["body"], record["messageAttributes"]["reason"]["stringValue"]) for record in receive(queue)]
    return seen if len(seen) >= count else []


@pytest.mark.parametrize("size", [1, 3])
def test_all_failing_is_all_named(consumer: Consumer, queue: Queue, size: int) -> None:
    bodies = [json.dumps({"do": "raise", "n": number}) for number in range(size)]
    assert consume(consumer, send(queue, *bodies), by_name) == bodies


def test_a_retry_comes_back_after_its_delay(consumer: Consumer, queue: Queue) -> None:
    event = send(queue, do("retry"))
    assert consume(consumer, event, by_name) == [do("retry")]
    again = wait_until(lambda: receive(queue), description="the message is there again, long before its timeout")
    assert [record["body"] for record in again] == [do("retry")]


def test_the_first_word_counts(consumer: Consumer, queue: Queue) -> None:
    def handle(message: Message) -> None:
        message.ack()
        message.retry(delay_seconds=0)
        message.dead_letter("too late")
        raise RuntimeError

    assert consume(consumer, send(queue, do("ack")), handle) == []


def test_nothing_is_started_that_cannot_finish(queue: Queue, dead_letters: Queue) -> None:
    consumer = Consumer(queue=queue, dead_letters=dead_letters, needs_s=5)
    started: list[Message] = []
    assert consume(consumer, send(queue, do("ack")), started.append, left_s=4.9) == [do("ack")]
    assert started == []


def test_a_slow_message_does_not_hold_up_the_rest(consumer: Consumer, queue: Queue) -> None:
    """The slow one waits until both others are done: with fewer than three places this would never end."""
    others_done = threading.Semaphore(0)

    def handle(message: Message) -> None:
        if message.body["do"] == "slow":
            assert all(others_done.acquire(timeout=10) for _ in range(2))
        else:
            others_done.release()

    bodies = [do("slow"), json.dumps({"do": "ack", "n": 1}), json.dumps({"do": "ack", "n": 2})]
    assert consume(consumer, send(queue, *bodies), handle) == []


def test_the_age_of_a_message_is_known(consumer: Consumer, queue: Queue) -> None:
    ages: list[float] = []
    before = time.time()
    consume(consumer, send(queue, do("ack")), lambda message: ages.append(message.age_s))
    assert 0 <= ages[0] <= time.time() - before + 2


def test_a_message_that_sqs_knows_no_more_fails_alone(consumer: Consumer, queue: Queue) -> None:
    """A duplicate delivery has deleted it, and its handler fails: even its visibility cannot be changed."""

    def handle(message: Message) -> None:
        if message.body["do"] == "burst":
            handle_, url = message.record["receiptHandle"], queue.url
            queue.client.delete_message(QueueUrl=url, ReceiptHandle=handle_)
            raise RuntimeError

    assert consume(consumer, send(queue, do("ack"), do("burst"), do("nothing")), handle) == [do("burst")]
