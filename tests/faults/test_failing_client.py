"""Each kind of fault: what botocore makes of it, and whether the item was written."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from tests.faults.answers import EmptyPage, PartialBatch
from tests.faults.calls import key_names
from tests.faults.clients import connect
from tests.faults.conftest import Toy, furnish
from tests.faults.failing_client import Process, at, either, when
from tests.faults.faults import (
    CancelTransaction,
    Conflict,
    Crash,
    CrashAfter,
    CrashBefore,
    Delay,
    Fault,
    LoseAnswer,
    Meanwhile,
    Refuse,
    Unreachable,
)
from tests.faults.moto_over_http import moto_over_http
from tests.faults.time_to_live import age_rows, reap_rows
from tests.faults.visibility import reveal_messages
from tests.faults.wire import WireError

Key = dict[str, dict[str, str]]

NOT_APPLIED: list[tuple[Fault, type[Exception], str]] = [
    (Refuse(error="throttled"), ClientError, "ProvisionedThroughputExceededException"),
    (Refuse(error=WireError(code="ThrottlingException")), ClientError, "ThrottlingException"),
    (Refuse(error="server error"), ClientError, "InternalServerError"),
    (Refuse(error="unavailable"), ClientError, "ServiceUnavailable"),
    (Unreachable(how="refused"), EndpointConnectionError, ""),
    (Unreachable(how="timeout"), ConnectTimeoutError, ""),
    (Unreachable(how="reset"), ConnectionClosedError, ""),
    (Conflict(), ClientError, "TransactionConflictException"),
]
APPLIED: list[tuple[Fault, type[Exception], str]] = [
    (LoseAnswer(how="reset"), ConnectionClosedError, ""),
    (LoseAnswer(how="timeout"), ReadTimeoutError, ""),
    (LoseAnswer(how="server error"), ClientError, "InternalServerError"),
]


def named(case: object) -> str | None:
    return str(case) if isinstance(case, Fault) else ""


def row(key: str) -> Key:
    return {"id": {"S": key}}


def add_one(dynamodb: Any, *, key: str = "a") -> None:
    dynamodb.update_item(
        TableName="things",
        Key=row(key),
        UpdateExpression="ADD #value :one",
        ExpressionAttributeNames={"#value": "value"},
        ExpressionAttributeValues={":one": {"N": "1"}},
    )


def create(dynamodb: Any, *, key: str = "a") -> None:
    dynamodb.put_item(TableName="things", Item=row(key), ConditionExpression="attribute_not_exists(id)")


def send(sqs: Any, *, queue_url: str) -> None:
    sqs.send_message(QueueUrl=queue_url, MessageBody="hello")


def rename(dynamodb: Any) -> None:
    _write(dynamodb)


def _write(dynamodb: Any) -> None:
    dynamodb.put_item(TableName="things", Item={**row("a"), "value": {"N": "1"}})


def put_two(dynamodb: Any) -> None:
    puts = [{"Put": {"TableName": "things", "Item": row(key)}} for key in ("one", "two")]
    dynamodb.transact_write_items(TransactItems=puts)


def struck(client: Any, action: Callable[[Any], Any], *, by: Fault, index: int = 1) -> Process:
    process = Process(plan=at(index, by))
    with process.attached(client):
        action(client)
    return process


@pytest.fixture
def emulator() -> Iterator[Toy]:
    """The toy world behind a real HTTP endpoint."""
    with moto_over_http() as url:
        yield furnish(connect("dynamodb", endpoint_url=url), connect("sqs", endpoint_url=url))


@pytest.fixture(params=["in process", "over HTTP"])
def place(request: pytest.FixtureRequest) -> Toy:
    """The toy world twice: where moto answers hooks of its own, and where nothing but the network does."""
    return request.getfixturevalue("toy" if request.param == "in process" else "emulator")  # type: ignore[no-any-return]


def client_at(place: Toy, *, service: str = "dynamodb", attempts: int = 1) -> Any:
    url = place.dynamodb.meta.endpoint_url
    return connect(service, endpoint_url=None if "amazonaws.com" in url else url, attempts=attempts)


class TestRefusedBeforeItIsApplied:
    @pytest.mark.parametrize(("fault", "error", "code"), NOT_APPLIED, ids=named)
    def test_the_caller_sees_the_error_and_nothing_is_written(
        self, place: Toy, fault: Fault, error: type[Exception], code: str
    ) -> None:
        place.put("a")
        with pytest.raises(error) as caught:
            struck(client_at(place), add_one, by=fault)
        if isinstance(caught.value, ClientError):
            assert caught.value.response["Error"]["Code"] == code
        assert place.number("a") == 0

    @pytest.mark.parametrize("fault", [Refuse(error="server error", retry=True), Unreachable(retry=True)], ids=named)
    def test_the_sdks_retry_hides_it_and_writes_once(self, place: Toy, fault: Fault) -> None:
        place.put("a")
        process = struck(client_at(place), add_one, by=fault)
        assert (place.number("a"), process.calls[0].attempts, process.calls[0].outcome) == (1, 2, "ok")

    def test_the_clients_own_retries_run_unless_they_are_overruled(self, toy: Toy) -> None:
        process = struck(connect("dynamodb", attempts=3), add_one, by=LoseAnswer(how="timeout"))
        assert (toy.number("a"), process.calls[0].attempts) == (2, 2)

    def test_a_fault_that_is_not_to_be_retried_surfaces_from_a_client_that_retries(self, toy: Toy) -> None:
        with pytest.raises(EndpointConnectionError):
            struck(connect("dynamodb", attempts=4), add_one, by=Unreachable(times=None, retry=False))
        assert toy.number("a") == 0

    def test_a_fault_of_every_sending_cannot_be_retried_for_ever(self) -> None:
        with pytest.raises(ValueError, match="for ever"):
            Refuse(times=None, retry=True)

    @pytest.mark.parametrize(
        ("service", "code", "call"),
        [
            ("sqs", "RequestThrottled", lambda sqs: sqs.list_queues()),
            ("s3", "SlowDown", lambda s3: s3.list_buckets()),
            ("sns", "ThrottlingException", lambda sns: sns.list_topics()),
            ("lambda", "ThrottlingException", lambda functions: functions.list_functions()),
        ],
    )
    @pytest.mark.usefixtures("toy")
    def test_every_protocol_says_it_in_its_own_words(self, service: str, code: str, call: Callable[[Any], Any]) -> None:
        with pytest.raises(ClientError) as caught:
            struck(connect(service), call, by=Refuse())
        assert caught.value.response["Error"]["Code"] == code


class TestAppliedAndTheAnswerLost:
    @pytest.mark.parametrize(("fault", "error", "code"), APPLIED, ids=named)
    def test_the_caller_sees_an_error_and_it_is_written(
        self, place: Toy, fault: Fault, error: type[Exception], code: str
    ) -> None:
        place.put("a")
        with pytest.raises(error) as caught:
            struck(client_at(place), add_one, by=fault)
        if isinstance(caught.value, ClientError):
            assert caught.value.response["Error"]["Code"] == code
        assert place.number("a") == 1

    @pytest.mark.parametrize("how", ["reset", "timeout", "server error"])
    def test_the_sdks_retry_writes_it_twice_and_says_nothing(self, place: Toy, how: Any) -> None:
        place.put("a")
        process = struck(client_at(place), add_one, by=LoseAnswer(how=how, retry=True))
        assert (place.number("a"), process.calls[0].attempts, process.calls[0].outcome) == (2, 2, "ok")

    def test_a_conditional_write_is_refused_its_own_success(self, toy: Toy) -> None:
        with pytest.raises(ClientError, match="ConditionalCheckFailed"):
            struck(connect("dynamodb"), create, by=LoseAnswer(retry=True))
        assert "Item" in toy.dynamodb.get_item(TableName="things", Key=row("a"))

    def test_a_message_is_sent_twice(self, toy: Toy) -> None:
        struck(connect("sqs"), lambda it: send(it, queue_url=toy.queue_url), by=LoseAnswer(how="timeout", retry=True))
        assert toy.messages() == 2


class TestTransactions:
    @pytest.mark.parametrize(
        "reasons",
        [
            ["TransactionConflict", None],
            ["TransactionConflict", "ProvisionedThroughputExceeded"],
            ["ConditionalCheckFailed", "TransactionConflict"],
        ],
    )
    def test_one_is_canceled_for_any_mix_of_reasons(self, toy: Toy, reasons: list[str | None]) -> None:
        dynamodb = connect("dynamodb", attempts=3)
        with pytest.raises(dynamodb.exceptions.TransactionCanceledException) as caught:
            struck(dynamodb, put_two, by=CancelTransaction(reasons=reasons))
        told = caught.value.response["CancellationReasons"]
        assert [reason["Code"] for reason in told] == [reason or "None" for reason in reasons]
        assert toy.dynamodb.scan(TableName="things")["Count"] == 0

    @pytest.mark.usefixtures("toy")
    def test_a_reason_may_carry_the_row_that_stood_in_the_way(self) -> None:
        reason = {"Code": "ConditionalCheckFailed", "Message": "no", "Item": {**row("one"), "value": {"N": "4"}}}
        with pytest.raises(ClientError) as caught:
            struck(connect("dynamodb"), put_two, by=CancelTransaction(reasons=[reason, None]))
        assert caught.value.response["CancellationReasons"][0]["Item"]["value"] == {"N": "4"}

    @pytest.mark.usefixtures("toy")
    def test_a_conflict_names_the_item_that_it_is_about(self) -> None:
        with pytest.raises(ClientError) as caught:
            struck(connect("dynamodb"), put_two, by=Conflict(item=1))
        assert [reason["Code"] for reason in caught.value.response["CancellationReasons"]] == [
            "None",
            "TransactionConflict",
        ]

    @pytest.mark.usefixtures("toy")
    def test_a_conflict_does_not_befall_a_read(self) -> None:
        process = struck(connect("dynamodb"), lambda it: it.get_item(TableName="things", Key=row("a")), by=Conflict())
        assert (process.calls[0].fault, process.calls[0].outcome) == ("", "ok")


class TestAnswers:
    def test_an_empty_page_still_leads_to_every_item(self, place: Toy) -> None:
        for number in range(3):
            place.put(f"page-{number}")
        dynamodb = client_at(place)
        pages: list[Any] = []

        def read(client: Any) -> None:
            pages.extend(client.get_paginator("scan").paginate(TableName="things"))

        struck(dynamodb, read, by=EmptyPage())
        found = {item["id"]["S"] for page in pages for item in page["Items"]}
        assert (pages[0]["Items"], pages[0]["Count"], "LastEvaluatedKey" in pages[0]) == ([], 0, True)
        assert found == {item["id"]["S"] for item in place.dynamodb.scan(TableName="things")["Items"]}

    def test_a_caller_that_stops_at_an_empty_page_loses_items(self, toy: Toy) -> None:
        toy.put("a")
        toy.put("b")
        first: list[Any] = []
        struck(connect("dynamodb"), lambda it: first.extend(it.scan(TableName="things")["Items"]), by=EmptyPage())
        assert first == []

    def test_a_page_of_a_resource_is_emptied_too(self, toy: Toy) -> None:
        toy.put("a")
        toy.put("b")
        session = boto3.session.Session("testing", "testing", region_name="eu-central-1")
        table = session.resource("dynamodb").Table("things")
        process = Process(plan=at(1, EmptyPage()))
        with process.attached(table):
            page = table.scan()
            rest = table.scan(ExclusiveStartKey=page["LastEvaluatedKey"])
        assert (page["Items"], [item["id"] for item in rest["Items"]]) == ([], ["a", "b"])

    def test_a_batch_read_leaves_keys_unprocessed(self, place: Toy) -> None:
        for key in ("a", "b", "c"):
            place.put(key)
        answer: dict[str, Any] = {}
        asked: dict[str, Any] = {"things": {"Keys": [row("a"), row("b"), row("c")], "ConsistentRead": True}}
        struck(
            client_at(place), lambda it: answer.update(it.batch_get_item(RequestItems=asked)), by=PartialBatch(keep=1)
        )
        assert [item["id"]["S"] for item in answer["Responses"]["things"]] == ["a"]
        assert answer["UnprocessedKeys"] == {"things": {"Keys": [row("b"), row("c")], "ConsistentRead": True}}
        assert len(asked["things"]["Keys"]) == 3

    def test_a_batch_write_leaves_items_unprocessed(self, toy: Toy) -> None:
        puts = [{"PutRequest": {"Item": row(key)}} for key in ("a", "b", "c")]
        answer: dict[str, Any] = {}
        struck(
            connect("dynamodb"),
            lambda it: answer.update(it.batch_write_item(RequestItems={"things": puts})),
            by=PartialBatch(keep=2),
        )
        assert answer["UnprocessedItems"] == {"things": puts[2:]}
        assert toy.dynamodb.scan(TableName="things")["Count"] == 2

    @pytest.mark.parametrize(
        ("fault", "in_the_queue"),
        [(PartialBatch(keep=1), 1), (PartialBatch(keep=0), 0), (PartialBatch(applied=True), 3)],
    )
    def test_entries_of_a_batch_of_messages_fail(self, toy: Toy, fault: Fault, in_the_queue: int) -> None:
        entries = [{"Id": str(number), "MessageBody": "hello"} for number in range(3)]
        answer: dict[str, Any] = {}
        struck(
            connect("sqs"),
            lambda it: answer.update(it.send_message_batch(QueueUrl=toy.queue_url, Entries=entries)),
            by=fault,
        )
        kept = getattr(fault, "keep", 0)
        assert [done["Id"] for done in answer["Successful"]] == ["0", "1", "2"][:kept]
        assert [failed["Id"] for failed in answer["Failed"]] == ["0", "1", "2"][kept:]
        assert toy.messages() == in_the_queue

    def test_a_deletion_of_messages_is_done_in_part(self, toy: Toy) -> None:
        for _ in range(2):
            toy.sqs.send_message(QueueUrl=toy.queue_url, MessageBody="hello")
        taken = toy.sqs.receive_message(QueueUrl=toy.queue_url, MaxNumberOfMessages=10)["Messages"]
        entries = [{"Id": it["MessageId"], "ReceiptHandle": it["ReceiptHandle"]} for it in taken]
        struck(
            connect("sqs"),
            lambda it: it.delete_message_batch(QueueUrl=toy.queue_url, Entries=entries),
            by=PartialBatch(keep=1),
        )
        assert toy.messages() == 0
        reveal_messages()
        assert toy.messages() == 1


class TestTime:
    def test_a_delay_moves_the_clock_it_is_given(self, toy: Toy) -> None:
        passed: list[float] = []
        struck(connect("dynamodb"), add_one, by=Delay(seconds=70, pass_time=passed.append))
        assert (passed, toy.number("a")) == ([70], 1)

    def test_an_expired_row_is_still_read_and_still_meets_conditions(self, toy: Toy) -> None:
        toy.put("a", expires_at=1_000, due_ms=5_000)

        def grow_old() -> None:
            age_rows(toy.dynamodb, table="things", attributes={"expires_at": 600, "due_ms": 600})

        found: dict[str, Any] = {}
        struck(
            connect("dynamodb"),
            lambda it: found.update(it.get_item(TableName="things", Key=row("a"))["Item"]),
            by=Meanwhile(happens=grow_old),
        )
        assert (found["expires_at"], found["due_ms"]) == ({"N": "400"}, {"N": "4400"})

    def test_rows_are_reaped_only_when_they_are_due(self, toy: Toy) -> None:
        toy.put("old", ttl=99)
        toy.put("young", ttl=100)
        toy.put("without")
        assert reap_rows(toy.dynamodb, table="things", attribute="ttl", now_s=100) == 1
        left = {item["id"]["S"] for item in toy.dynamodb.scan(TableName="things")["Items"]}
        assert left == {"young", "without"}


class TestDeath:
    @pytest.mark.parametrize(("fault", "value"), [(CrashBefore(), 0), (CrashAfter(), 1)], ids=named)
    def test_the_process_dies_where_it_is_told_to(self, place: Toy, fault: Fault, value: int) -> None:
        place.put("a")
        with pytest.raises(Crash):
            struck(client_at(place), add_one, by=fault)
        assert place.number("a") == value

    def test_no_handler_of_exceptions_brings_it_back(self, toy: Toy) -> None:
        def stubborn(dynamodb: Any) -> None:
            try:
                add_one(dynamodb)
            except Exception:  # noqa: BLE001 - this is what is tried
                add_one(dynamodb)
            finally:
                add_one(dynamodb, key="last words")

        with pytest.raises(Crash):
            struck(connect("dynamodb"), stubborn, by=CrashAfter())
        assert (toy.number("a"), toy.number("last words")) == (1, 0)

    def test_its_other_threads_die_with_it(self, toy: Toy) -> None:
        process = Process(plan=when(CrashBefore(), operation="UpdateItem", nth=5))
        dynamodb = connect("dynamodb")
        with process.attached(dynamodb), ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(add_one, dynamodb) for _ in range(20)]
        at_most_begun = 5 + 3
        assert len(process.calls) <= at_most_begun
        assert toy.number("a") <= len(process.calls) - 1
        assert sum(isinstance(future.exception(), Crash) for future in futures) >= len(futures) - at_most_begun

    def test_a_retry_of_the_sdk_may_be_its_last_step(self, toy: Toy) -> None:
        process = Process(
            plan=at(1, LoseAnswer(retry=True)), gate=lambda call: CrashBefore() if call.attempts == 2 else None
        )
        dynamodb = connect("dynamodb")
        with process.attached(dynamodb), pytest.raises(Crash):
            add_one(dynamodb)
        assert toy.number("a") == 1


class TestRecord:
    def test_each_call_is_noted_with_its_item_its_purpose_and_its_end(self, toy: Toy) -> None:
        process = Process(keys=key_names(toy.dynamodb))
        dynamodb, sqs = connect("dynamodb"), connect("sqs")
        with process.attached(dynamodb, sqs):
            add_one(dynamodb)
            put_two(dynamodb)
            send(sqs, queue_url=toy.queue_url)
            with pytest.raises(ClientError):
                create(dynamodb, key="a")
        assert [f"{call.index}. {call}: {call.outcome}" for call in process.calls] == [
            "1. UpdateItem things/a (add_one): ok",
            "2. TransactWriteItems things/one, things/two (put_two): ok",
            "3. SendMessage work/new message (send): ok",
            "4. PutItem things/a (create): ConditionalCheckFailedException",
        ]

    def test_a_purpose_is_the_public_name_nearest_to_the_call(self, toy: Toy) -> None:
        process = Process()
        dynamodb = connect("dynamodb")
        with process.attached(dynamodb):
            rename(dynamodb)
        assert [call.purpose for call in process.calls] == ["rename"]
        assert toy.number("a") == 1

    def test_nothing_is_noted_once_the_block_is_left(self, toy: Toy) -> None:
        dynamodb = connect("dynamodb")
        process = struck(dynamodb, add_one, by=Delay(seconds=0))
        add_one(dynamodb)
        assert (len(process.calls), toy.number("a")) == (1, 2)

    @pytest.mark.usefixtures("toy")
    def test_threads_get_numbers_of_their_own(self) -> None:
        process = Process()
        dynamodb = connect("dynamodb")
        with process.attached(dynamodb):
            threads = [threading.Thread(target=add_one, args=(dynamodb,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert [call.index for call in process.calls] == list(range(1, 9))

    def test_a_session_passes_its_faults_on_to_clients_made_later(self, toy: Toy) -> None:
        session = boto3.session.Session("testing", "testing", region_name="eu-central-1")
        process = Process(plan=at(1, LoseAnswer(retry=True)))
        with process.attached(session):
            add_one(session.client("dynamodb"))
        assert (toy.number("a"), [str(call) for call in process.calls]) == (2, ["UpdateItem things/a (add_one)"])

    @pytest.mark.usefixtures("toy")
    def test_a_presigned_url_is_no_call(self) -> None:
        s3 = connect("s3")
        process = Process()
        with process.attached(s3):
            s3.generate_presigned_url("get_object", Params={"Bucket": "pictures", "Key": "a"})
        assert process.calls == []


def test_plans_can_be_put_together(toy: Toy) -> None:
    throttle_second_read = when(Refuse(), service="dynamodb", operation="GetItem", nth=2)
    lose_writes = when(LoseAnswer(retry=True), operation="UpdateItem", nth=None, matches=lambda call: "a" in str(call))
    process = Process(plan=either(throttle_second_read, lose_writes))
    dynamodb = connect("dynamodb")
    with process.attached(dynamodb):
        dynamodb.get_item(TableName="things", Key=row("a"))
        add_one(dynamodb)
        add_one(dynamodb)
        with pytest.raises(ClientError):
            dynamodb.get_item(TableName="things", Key=row("a"))
    assert toy.number("a") == 4
