"""The settings of template.yaml that people forget, each as a claim."""

import json
import re
from typing import Any, NoReturn

import pytest

from isolane.due import BY_DUE
from isolane.payloads import Payloads
from isolane.task import DAY_S, UNREVIEWED_S
from scoring.limits import check
from tests.template import (
    FUNCTION,
    PARAMETERS,
    PLACES,
    RESOURCES,
    TEMPLATE,
    events,
    number,
    of_type,
    overrides,
    property_of,
    referred,
    target,
    walk,
)
from tests.world import settings

FUNCTIONS = sorted(of_type(FUNCTION))
QUEUES = of_type("AWS::SQS::Queue")
DEAD_LETTERS = {f"{name}Queue": f"{name}DeadLetterQueue" for name in ("Score", "Alarm", "Embed")}
TABLES = of_type("AWS::DynamoDB::Table")
SERVED = [(name, event) for name in FUNCTIONS for event in events(name, kind="SQS")]
ANSWERING = [name for name in FUNCTIONS if events(name, kind="Api")]
API = RESOURCES["Api"]["Properties"]

served = pytest.mark.parametrize(("function", "event"), SERVED, ids=[name for name, _ in SERVED])
each_place = pytest.mark.parametrize("place", PLACES)


def test_there_is_something_to_hold() -> None:
    assert FUNCTIONS == [
        "DeadLetters",
        "EmbeddingWorker",
        "EmbeddingsApi",
        "ImagesApi",
        "ImagesSweeper",
        "ObjectAlarms",
        "ObjectsApi",
        "OperationsApi",
        "ReservationsApi",
        "ScoringApi",
        "ScoringWorker",
        "Sweeper",
    ]
    assert [name for name, _ in SERVED] == [
        "DeadLetters",
        "DeadLetters",
        "EmbeddingWorker",
        "ObjectAlarms",
        "ScoringWorker",
    ]
    assert PLACES == ["default", "local", "localstack"]


@served
def test_a_function_of_a_queue_reports_which_messages_failed(function: str, event: dict[str, Any]) -> None:
    assert event["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


@served
@each_place
def test_a_message_stays_hidden_six_times_as_long_as_its_function_may_run(
    function: str, event: dict[str, Any], place: str
) -> None:
    visibility_s = number(QUEUES[target(event["Queue"])]["Properties"]["VisibilityTimeout"], place=place)
    timeout_s = number(property_of(function, "Timeout"), place=place)
    window_s = number(event.get("MaximumBatchingWindowInSeconds", 0), place=place)
    assert visibility_s >= 6 * timeout_s + window_s


@served
def test_concurrency_is_limited_at_the_queue_and_never_below_two(function: str, event: dict[str, Any]) -> None:
    limit = event["ScalingConfig"]["MaximumConcurrency"]
    least = PARAMETERS[limit["Ref"]]["MinValue"] if isinstance(limit, dict) else limit
    assert least >= 2
    assert property_of(function, "ReservedConcurrentExecutions") is None


def test_a_batch_is_as_large_as_the_pool_that_works_on_it() -> None:
    assert PARAMETERS["ScoreBatchSize"]["Default"] == PARAMETERS["PoolSize"]["Default"]


def test_redrive_is_a_backstop_and_leads_to_a_queue_that_exists() -> None:
    for name, dead_letters in DEAD_LETTERS.items():
        redrive = QUEUES[name]["Properties"]["RedrivePolicy"]
        assert redrive["maxReceiveCount"] == 1000
        assert target(redrive["deadLetterTargetArn"]) == dead_letters
        assert redrive["deadLetterTargetArn"]["Fn::GetAtt"][1] == "Arn"


def test_every_queue_that_a_function_serves_has_a_redrive_or_is_where_one_leads() -> None:
    leads_to = {
        target(queue["Properties"]["RedrivePolicy"]["deadLetterTargetArn"])
        for queue in QUEUES.values()
        if "RedrivePolicy" in queue["Properties"]
    }
    without = {target(event["Queue"]) for _, event in SERVED} - leads_to
    assert all("RedrivePolicy" in QUEUES[name]["Properties"] for name in without)


def test_dead_letters_are_kept_longer_than_the_messages_of_the_queue() -> None:
    kept_s = {name: queue["Properties"]["MessageRetentionPeriod"] for name, queue in QUEUES.items()}
    assert all(kept_s[dead_letters] > kept_s[name] for name, dead_letters in DEAD_LETTERS.items())


@pytest.mark.parametrize("function", ANSWERING)
def test_the_gateway_never_gives_up_before_the_function(function: str) -> None:
    assert number(property_of(function, "Timeout"), place="default") <= 25


@each_place
def test_time_limits_nest(place: str) -> None:
    model_s = number({"Ref": "ModelTimeout"}, place=place)
    worker_s = number({"Ref": "WorkerTimeout"}, place=place)
    check(settings(MODEL_TIMEOUT_SECONDS=str(model_s), WORKER_TIMEOUT_SECONDS=str(worker_s)))


def test_each_system_owns_its_paths_with_any_method_and_the_rest_is_nobodys() -> None:
    routes = [event for name in ANSWERING for event in events(name, kind="Api")]
    paths = [event["Path"] for event in routes]
    assert {event["Method"] for event in routes} == {"ANY"}
    assert len(set(paths)) == len(paths)
    assert {"/", "/{proxy+}", "/score", "/result", "/tasks", "/tasks/{proxy+}", "/health"} <= set(paths)


@pytest.mark.parametrize("kind", sorted(API["GatewayResponses"]))
def test_what_the_gateway_answers_by_itself_looks_like_our_errors(kind: str) -> None:
    response = API["GatewayResponses"][kind]
    template = response["ResponseTemplates"]["application/json"]
    said = json.loads(template.replace("$context.error.messageString", '"A sentence."'))
    headers = {name.lower(): value for name, value in response["ResponseParameters"]["Headers"].items()}
    assert set(said) == {"error", "message"}
    assert re.fullmatch(r"[a-z_]+", said["error"])
    assert headers["access-control-allow-origin"] == "'*'"
    assert headers["content-type"] == "'application/json'"
    assert headers["cache-control"] == "'no-store'"
    assert headers["x-request-id"] == "context.requestId"


def test_no_answer_of_the_gateway_is_left_to_its_own_shape() -> None:
    assert {"DEFAULT_4XX", "DEFAULT_5XX"} <= set(API["GatewayResponses"])


def test_every_name_that_is_referred_to_exists() -> None:
    conditions = {value[0] for key, value in walk(TEMPLATE) if key == "Fn::If"}
    assert referred(TEMPLATE) - {*RESOURCES, *PARAMETERS} == set()
    assert conditions == set(TEMPLATE["Conditions"])


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_every_parameter_is_explained_has_a_default_and_is_used(name: str) -> None:
    assert PARAMETERS[name]["Description"].endswith(".")
    assert "Default" in PARAMETERS[name]
    assert name in referred(TEMPLATE)


@each_place
def test_every_parameter_that_a_place_sets_exists_and_is_allowed(place: str) -> None:
    for name, value in overrides(place).items():
        assert value in [str(each) for each in PARAMETERS[name].get("AllowedValues", [value])]
        assert re.fullmatch(PARAMETERS[name].get("AllowedPattern", ".*"), value)


def test_nobody_is_let_in_without_a_token_on_aws() -> None:
    assert PARAMETERS["AllowAnonymous"]["Default"] == "false"
    assert "AllowAnonymous" not in overrides("default")


@pytest.mark.parametrize("table", sorted(TABLES))
def test_every_table_is_on_demand_and_can_be_restored(table: str) -> None:
    properties = TABLES[table]["Properties"]
    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


@pytest.mark.parametrize("name", ["TasksTable", "StateTable", "Bucket"])
def test_what_cannot_be_made_again_outlives_the_stack(name: str) -> None:
    assert RESOURCES[name]["DeletionPolicy"] == RESOURCES[name]["UpdateReplacePolicy"] == "Retain"


def test_state_never_expires_and_the_other_tables_name_the_attribute_by_which_rows_do() -> None:
    expiry = {name: table["Properties"].get("TimeToLiveSpecification") for name, table in TABLES.items()}
    assert expiry == {
        "StateTable": None,
        "TasksTable": {"AttributeName": "ttl", "Enabled": True},
        "ValuesTable": {"AttributeName": "expires_at", "Enabled": True},
    }


def test_the_bucket_is_private_encrypted_and_forgets_what_is_temporary() -> None:
    bucket = RESOURCES["Bucket"]["Properties"]
    rules = bucket["LifecycleConfiguration"]["Rules"]
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert "BucketEncryption" in bucket
    assert [rule["ExpirationInDays"] for rule in rules if rule.get("Prefix") == "tmp/"] == [2]


def test_a_text_is_there_for_as_long_as_somebody_may_review_it() -> None:
    rules = RESOURCES["Bucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    (days,) = (rule["ExpirationInDays"] for rule in rules if rule.get("Prefix") == Payloads(never).kept_prefix)
    assert days * DAY_S > UNREVIEWED_S + DAY_S


def never() -> NoReturn:
    raise AssertionError("no bucket is asked for")


def test_the_sweeper_is_done_before_it_is_called_again() -> None:
    (schedule,) = events("Sweeper", kind="Schedule")
    assert schedule["Schedule"] == "rate(1 minute)"
    assert property_of("Sweeper", "Timeout") < 60


def test_what_must_happen_without_a_reader_is_found_by_an_index_that_the_code_knows() -> None:
    indexes = {index["IndexName"]: index for index in TABLES["TasksTable"]["Properties"]["GlobalSecondaryIndexes"]}
    assert [key["AttributeName"] for key in indexes[BY_DUE]["KeySchema"]] == ["due", "due_at"]


def test_queues_are_encrypted() -> None:
    assert all(queue["Properties"]["SqsManagedSseEnabled"] for queue in QUEUES.values())
