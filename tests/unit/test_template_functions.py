"""What template.yaml gives each function, and what it does not: role, variables, logs, traces."""

import importlib.util
import json
import re

import pytest

from isolane.settings import VARIABLES
from tests.environment.places import ROOT
from tests.template import (
    FUNCTION,
    PARAMETERS,
    RESOURCES,
    as_list,
    of_type,
    property_of,
    statements,
    target,
    variables_of,
)

FUNCTIONS = sorted(of_type(FUNCTION))

READ_BY_LIBRARIES = {"POWERTOOLS_LOG_LEVEL", "POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE"}
SECRETS = {
    "OPENAI_API_KEY": {"EmbeddingWorker", "EmbeddingsApi", "ScoringWorker"},
    "IMAGE_API_KEY": {"ImagesApi", "ImagesSweeper"},
}
"""Variables that hold a secret, and the functions that alone get them."""
WITHOUT_RESOURCE = {"xray:PutTraceSegments", "xray:PutTelemetryRecords", "cloudwatch:GetMetricData"}
"""Actions for which AWS offers no resource to name."""
PREFIXES = {
    "${Bucket.Arn}/tmp/payloads/*",
    "${Bucket.Arn}/reviews/*",
    "${Bucket.Arn}/images/*",
    "${Bucket.Arn}/tmp/images/*",
    ":async-invoke/*",
}
"""Objects and invocations cannot be named one by one; their prefix can."""

each_function = pytest.mark.parametrize("function", FUNCTIONS)


@each_function
def test_no_role_allows_a_wildcard_that_could_be_a_name(function: str) -> None:
    for statement in statements(function):
        actions = as_list(statement["Action"])
        resources = [json.dumps(each) for each in as_list(statement["Resource"])]
        assert not [action for action in actions if "*" in action]
        if set(actions) <= WITHOUT_RESOURCE:
            continue
        assert not [each for each in resources if "*" in each and not any(prefix in each for prefix in PREFIXES)]


@each_function
def test_every_function_has_a_role_of_its_own(function: str) -> None:
    roles = [target(property_of(name, "Role")) for name in FUNCTIONS]
    assert roles.count(target(property_of(function, "Role"))) == 1
    assert property_of(function, "Policies") is None


@each_function
def test_every_function_writes_to_a_log_group_of_its_own_that_forgets(function: str) -> None:
    group = target(property_of(function, "LoggingConfig")["LogGroup"])
    allowed = [each for each in statements(function) if "logs:PutLogEvents" in each["Action"]]
    assert RESOURCES[group]["Type"] == "AWS::Logs::LogGroup"
    assert target(RESOURCES[group]["Properties"]["RetentionInDays"]) == "LogRetentionDays"
    assert [target(each["Resource"]) for each in allowed] == [group]


@each_function
def test_every_function_is_traced(function: str) -> None:
    assert property_of(function, "Tracing") == "Active"
    assert RESOURCES["Api"]["Properties"]["TracingEnabled"] is True


@each_function
def test_every_variable_that_the_code_reads_is_declared(function: str) -> None:
    expected = VARIABLES - {name for name, owners in SECRETS.items() if function not in owners}
    assert expected <= set(variables_of(function))


@each_function
def test_no_variable_is_declared_that_nobody_reads(function: str) -> None:
    assert set(variables_of(function)) <= VARIABLES | READ_BY_LIBRARIES


def test_a_secret_goes_to_the_function_that_needs_it_and_to_no_other() -> None:
    for name, owners in SECRETS.items():
        assert {function for function in FUNCTIONS if name in variables_of(function)} == owners


def test_no_secret_is_written_out() -> None:
    secret = re.compile(r"key|secret|token|password", re.IGNORECASE)
    for function in FUNCTIONS:
        written = {name: value for name, value in variables_of(function).items() if not isinstance(value, dict)}
        assert not [name for name in written if secret.search(name)]
    assert PARAMETERS["OpenAiKey"]["NoEcho"] is True
    assert PARAMETERS["OpenAiKey"]["Default"] == ""


def test_the_address_of_aws_is_always_declared_and_never_under_a_condition() -> None:
    assert variables_of("ScoringApi")["AWS_ENDPOINT_URL"] == {"Ref": "EndpointUrl"}
    assert PARAMETERS["EndpointUrl"]["Default"] == ""


@each_function
def test_every_handler_exists(function: str) -> None:
    module, _, handler = property_of(function, "Handler").rpartition(".")
    code = ROOT / property_of(function, "CodeUri") / f"{module.replace('.', '/')}.py"
    made = rf"^(def {handler}\(event: .*, context: .*\)|{handler} = serving\(build\)$)"
    assert re.search(made, code.read_text(), re.MULTILINE)
    assert importlib.util.find_spec(module) is not None


@each_function
def test_sam_build_leaves_the_code_as_it_is_so_that_any_python_can_build(function: str) -> None:
    assert RESOURCES[function]["Metadata"] == {"SkipBuild": True}
    assert RESOURCES[function]["Properties"]["CodeUri"] == "functions"
