"""Whether conditional writes and transactions are what they are on AWS."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import uuid4

from botocore.exceptions import ClientError
from mypy_boto3_dynamodb import DynamoDBClient

from tests.environment import clients

THREADS = 50
ROUNDS = 4
SEATS = 4


@contextmanager
def scratch_table(url: str) -> Iterator[tuple[DynamoDBClient, str]]:
    """A table for one probe."""
    client, name = clients.dynamodb(url), f"probe-{uuid4().hex[:8]}"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
    )
    try:
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        yield client, name
    finally:
        client.delete_table(TableName=name)


def winners(attempt: Callable[[int], object]) -> int:
    """How many of 50 threads, started together, get past the condition."""

    def tried(number: int) -> bool:
        try:
            attempt(number)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return False
        return True

    with ThreadPoolExecutor(THREADS) as threads:
        return sum(threads.map(tried, range(THREADS)))


def one_winner(url: str) -> str:
    """Put-if-absent by 50 threads, a few times over: each time one wins."""
    with scratch_table(url) as (client, name):
        for turn in range(ROUNDS):
            won = winners(
                lambda number, turn=turn: client.put_item(  # type: ignore[misc]  # a default binds the loop's variable
                    TableName=name,
                    Item={"key": {"S": f"turn-{turn}"}, "by": {"N": str(number)}},
                    ConditionExpression="attribute_not_exists(#key)",
                    ExpressionAttributeNames={"#key": "key"},
                )
            )
            assert won == 1, f"{won} of {THREADS} threads created the same row"
    return f"one of {THREADS} threads creates a row, {ROUNDS} times of {ROUNDS}"


def no_seat_too_many(url: str) -> str:
    """A counter taken down by 50 threads stops where its condition says."""
    with scratch_table(url) as (client, name):
        won = winners(
            lambda _: client.update_item(
                TableName=name,
                Key={"key": {"S": "seats"}},
                UpdateExpression="SET #left = if_not_exists(#left, :all) - :one",
                ConditionExpression="attribute_not_exists(#left) OR #left >= :one",
                ExpressionAttributeNames={"#left": "left"},
                ExpressionAttributeValues={":all": {"N": str(SEATS)}, ":one": {"N": "1"}},
            )
        )
        left = client.get_item(TableName=name, Key={"key": {"S": "seats"}}, ConsistentRead=True)["Item"]["left"]["N"]
    assert (won, left) == (SEATS, "0"), f"{won} threads took one of {SEATS} seats, and {left} are left"
    return f"{SEATS} of {THREADS} threads get one of {SEATS} seats"


def reasons(url: str) -> str:
    """A canceled transaction says which condition failed, and shows the row as it is."""
    with scratch_table(url) as (client, name):
        client.put_item(TableName=name, Item={"key": {"S": "taken"}, "by": {"S": "first"}})
        try:
            client.transact_write_items(
                TransactItems=[
                    {"Put": {"TableName": name, "Item": {"key": {"S": "free"}}}},
                    {
                        "Put": {
                            "TableName": name,
                            "Item": {"key": {"S": "taken"}, "by": {"S": "second"}},
                            "ConditionExpression": "attribute_not_exists(#key)",
                            "ExpressionAttributeNames": {"#key": "key"},
                            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                        }
                    },
                ]
            )
        except client.exceptions.TransactionCanceledException as canceled:
            seen = canceled.response["CancellationReasons"]
        else:
            raise AssertionError("a transaction with a failing condition went through")
        half_done = "Item" in client.get_item(TableName=name, Key={"key": {"S": "free"}}, ConsistentRead=True)
    codes = [reason["Code"] for reason in seen]
    assert codes == ["None", "ConditionalCheckFailed"], f"the reasons are {codes}"
    assert seen[1].get("Item", {}).get("by") == {"S": "first"}, "the reason does not show the row"
    assert not half_done, "half of a canceled transaction was written"
    return "each reason in its place, with the row as it is; nothing is half done"
