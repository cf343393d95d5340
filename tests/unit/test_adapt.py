"""What is changed for emulators is changed there and nowhere else."""

import copy
import json
from typing import Any

from tests.environment.adapt import (
    VERBS,
    architecture,
    batches_allowed,
    for_localstack,
    for_ministack,
    for_sam_local,
    layer_inside,
    nothing_retained,
    numbers_filled_in,
    usual_log_groups,
    verbs_written_out,
)
from tests.template import FUNCTION, TEMPLATE

TARGETS = (for_ministack, for_localstack, for_sam_local)


def routes(template: dict[str, Any]) -> set[tuple[str, str]]:
    """Each verb and path of the API."""
    functions = [each["Properties"] for each in template["Resources"].values() if each["Type"] == FUNCTION]
    found = [event["Properties"] for each in functions for event in each["Events"].values() if event["Type"] == "Api"]
    return {(each["Method"], each["Path"]) for each in found}


def test_any_method_is_written_out_as_every_verb_of_the_same_path() -> None:
    paths = {path for _, path in routes(TEMPLATE)}
    assert routes(verbs_written_out(TEMPLATE)) == {(verb, path) for verb in VERBS for path in paths}
    assert {"OPTIONS", "HEAD"} < set(VERBS)


def test_events_that_are_not_routes_stay_as_they_are() -> None:
    adapted = verbs_written_out(TEMPLATE)
    worker = ("Resources", "ScoringWorker", "Properties", "Events")
    before, after = TEMPLATE, adapted
    for key in worker:
        before, after = before[key], after[key]
    assert after == before


def test_number_parameters_become_numbers_where_an_emulator_compares_them() -> None:
    adapted = numbers_filled_in(TEMPLATE, parameters={"ScoreBatchSize": "7"})
    event = adapted["Resources"]["ScoringWorker"]["Properties"]["Events"]["Scores"]["Properties"]
    assert event["BatchSize"] == 7
    assert event["MaximumBatchingWindowInSeconds"] == 0
    assert event["ScalingConfig"] == {"MaximumConcurrency": 5}


def test_parameters_stay_parameters_in_the_environment_and_where_they_are_text() -> None:
    adapted = numbers_filled_in(TEMPLATE, parameters={})
    assert adapted["Globals"] == TEMPLATE["Globals"]
    assert adapted["Parameters"] == TEMPLATE["Parameters"]
    assert adapted["Resources"]["Api"]["Properties"]["StageName"] == {"Ref": "StageName"}


def test_who_may_send_a_message_may_send_ten_and_nobody_else() -> None:
    adapted = batches_allowed(TEMPLATE)
    for name in (each for each, resource in TEMPLATE["Resources"].items() if resource["Type"] == "AWS::IAM::Role"):
        before, after = (json.dumps(template["Resources"][name]) for template in (TEMPLATE, adapted))
        assert ("sqs:SendMessageBatch" in after) == ('"sqs:SendMessage"' in before)
        assert "sqs:SendMessageBatch" not in before


def test_the_layer_goes_inside_the_bundle() -> None:
    adapted = layer_inside(TEMPLATE, bundle="somewhere")
    functions = [each["Properties"] for each in adapted["Resources"].values() if each["Type"] == FUNCTION]
    assert {each["CodeUri"] for each in functions} == {"somewhere"}
    assert "IsolaneLayer" not in adapted["Resources"]
    assert "Layers" not in adapted["Globals"]["Function"]


def test_functions_log_where_the_emulator_lets_them() -> None:
    adapted = usual_log_groups(TEMPLATE)
    assert not [each for each in adapted["Resources"].values() if "LoggingConfig" in each["Properties"]]


def test_a_local_stack_that_goes_leaves_nothing_behind() -> None:
    adapted = nothing_retained(TEMPLATE)
    policies = [each.get("DeletionPolicy", "Delete") for each in adapted["Resources"].values()]
    assert set(policies) == {"Delete"}


def test_sam_local_gives_each_function_time_for_its_container() -> None:
    adapted = for_sam_local(TEMPLATE, parameters={})
    functions = [each["Properties"] for each in adapted["Resources"].values() if each["Type"] == FUNCTION]
    limits = {each.get("Timeout", adapted["Globals"]["Function"]["Timeout"]) for each in functions}
    assert limits == {120}


def test_adapting_leaves_the_template_that_was_given_alone() -> None:
    before = copy.deepcopy(TEMPLATE)
    for adapt in TARGETS:
        adapt(TEMPLATE, parameters={})
    assert before == TEMPLATE


def test_this_machine_is_called_what_lambda_calls_it() -> None:
    assert [architecture(name) for name in ("x86_64", "AMD64", "arm64", "aarch64")] == [
        "x86_64",
        "x86_64",
        "arm64",
        "arm64",
    ]
