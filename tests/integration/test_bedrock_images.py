"""Pictures of Bedrock's: its asynchronous invocations as a double of it answers, and what they leave in a bucket."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from moto import mock_aws

from images.bedrock_images import BedrockImages
from images.download import MAX_BYTES
from images.provider import Job, Made, NoPicture, NotMade, Working
from images.providers import build
from isolane.aws.bucket import Bucket
from isolane.bindings import Bindings
from isolane.deadline import Deadline
from isolane.errors import OutgoingError, TimedOut, Unreachable
from isolane.model_errors import ModelBusy, ModelRejected
from tests.doubles import steps
from tests.doubles.model_server import ModelServer
from tests.environment import clients
from tests.pictures import png
from tests.world import World, settings

MODEL = "amazon.nova-canvas-v1:0"
ARN = "arn:aws:bedrock:us-east-1:123456789012:async-invoke/abcdef012345"
JOB = Job(key="task-1", prompt="a red fox in the snow")
FOLDER = "tmp/images/task-1/"


@dataclass
class Bedrock:
    """The provider, the double that it asks, and the bucket of both."""

    server: ModelServer
    bucket: Bucket

    def provider(self, *, model: str = MODEL, timeout_s: float = 10) -> BedrockImages:
        real = Bindings(settings(AWS_ENDPOINT_URL=self.server.url, MODEL_TIMEOUT_SECONDS=str(timeout_s)))
        changes = {"IMAGE_PROVIDER": f"bedrock:{model}", "BUCKET": self.bucket.name}
        changes["MODEL_TIMEOUT_SECONDS"] = str(timeout_s)
        made = {"s3": self.bucket.client, "bedrock-runtime": real.models.client}
        provider = build(Bindings(settings(**changes), make_client=made.__getitem__))
        assert isinstance(provider, BedrockImages)
        return provider

    def submit(self, *, within_s: float = 30, **other: Any) -> str:
        return self.provider(**other).submit(JOB, deadline=Deadline.after(within_s))

    def ask(self, prediction_id: str = ARN, *, within_s: float = 30, **other: Any) -> Any:
        return self.provider(**other).ask(prediction_id, JOB, deadline=Deadline.after(within_s))

    def says(self, status: str, **other: Any) -> Any:
        """What becomes of an invocation that is answered so."""
        model = "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-canvas-v1:0"
        output = {"s3OutputDataConfig": {"s3Uri": f"s3://{self.bucket.name}/{FOLDER}"}}
        answer = {"invocationArn": ARN, "modelArn": model, "status": status, "submitTime": "2026-11-30T12:00:00Z"}
        self.server.play(steps.status(200, {**answer, "outputDataConfig": output, **other}))
        return self.ask()

    def put(self, name: str, data: bytes) -> None:
        self.bucket.client.put_object(Bucket=self.bucket.name, Key=f"{FOLDER}{name}", Body=data)

    def collect(self) -> bytes:
        """The picture of an invocation that has completed."""
        made = self.says("Completed")
        assert isinstance(made, Made)
        return made.collect(Deadline.after(30))


@pytest.fixture
def bedrock() -> Iterator[Bedrock]:
    with mock_aws(), ModelServer() as server:
        s3 = clients.session().client("s3", config=clients.CONFIG)
        yield Bedrock(server, World(lambda _: s3).make_bucket())


def test_a_submit_starts_one_invocation_under_the_jobs_key(bedrock: Bedrock) -> None:
    bedrock.server.play(steps.status(200, {"invocationArn": ARN}))
    assert bedrock.submit() == ARN
    [request] = bedrock.server.requests
    assert (request.method, request.path) == ("POST", "/async-invoke")
    assert request.json == {
        "modelId": MODEL,
        "modelInput": {"taskType": "TEXT_IMAGE", "textToImageParams": {"text": JOB.prompt}},
        "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": f"s3://{bedrock.bucket.name}/{FOLDER}"}},
        "clientRequestToken": JOB.key,
    }


def test_a_model_that_is_not_amazons_gets_the_prompt(bedrock: Bedrock) -> None:
    bedrock.server.play(steps.status(200, {"invocationArn": ARN}))
    bedrock.submit(model="stability.stable-image-core-v1:1")
    assert bedrock.server.requests[0].json["modelInput"] == {"prompt": JOB.prompt}


BAD_SUBMITS: dict[str, tuple[steps.Step, type[OutgoingError], str]] = {
    "throttled": (steps.failure(429, "ThrottlingException"), ModelBusy, "model_busy"),
    "too many at once": (steps.failure(400, "ServiceQuotaExceededException"), ModelBusy, "model_busy"),
    "the same under way": (steps.failure(409, "ConflictException"), ModelBusy, "model_busy"),
    "a server error": (steps.failure(500, "InternalServerException"), ModelBusy, "model_busy"),
    "no access": (steps.failure(403, "AccessDeniedException"), ModelRejected, "model_rejected"),
    "an unknown model": (steps.failure(404, "ResourceNotFoundException"), ModelRejected, "model_rejected"),
    "a prompt that it does not take": (
        steps.failure(400, "ValidationException", message=f"Malformed: {JOB.prompt}"),
        NoPicture,
        "refused",
    ),
    "an ARN of something else": (
        steps.status(200, {"invocationArn": "arn:aws:iam::123456789012:role/x"}),
        ModelBusy,
        "model_busy",
    ),
    "no ARN": (steps.status(200, {}), ModelBusy, "model_busy"),
    "a number": (steps.status(200, {"invocationArn": 7}), ModelBusy, "model_busy"),
    "a page": (steps.error_page(200), ModelBusy, "model_busy"),
    "an error page": (steps.error_page(), ModelBusy, "model_busy"),
    "a broken connection": (steps.reset(), Unreachable, "unreachable"),
    "silence": (steps.silent(), TimedOut, "timed_out"),
    "a byte at a time": (steps.slow_body(every_s=0.05), TimedOut, "timed_out"),
}


@pytest.mark.parametrize(("step", "kind", "code"), BAD_SUBMITS.values(), ids=BAD_SUBMITS)
def test_a_submit_that_fails_is_one_request_and_one_outcome(
    bedrock: Bedrock, step: steps.Step, kind: type[OutgoingError], code: str
) -> None:
    bedrock.server.play(step)
    with pytest.raises(OutgoingError) as failed:
        bedrock.submit(timeout_s=0.5 if step["kind"] in steps.ENDLESS else 10)
    assert (type(failed.value), failed.value.code) == (kind, code)
    assert len(bedrock.server.requests) == 1
    assert "red fox" not in "".join(traceback.format_exception(failed.value))


def test_an_invocation_in_progress_is_worked_on(bedrock: Bedrock) -> None:
    assert isinstance(bedrock.says("InProgress"), Working)
    assert bedrock.server.requests[0].path == f"/async-invoke/{ARN.replace(':', '%3A').replace('/', '%2F')}"


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("The service failed. secret-of-the-provider", "generation_failed"),
        ("This request has been blocked by our content filters. secret-of-the-provider", "refused"),
        ("", "generation_failed"),
    ],
)
def test_a_failed_invocation_says_why_in_our_words(bedrock: Bedrock, sentence: str, code: str) -> None:
    found = bedrock.says("Failed", failureMessage=sentence)
    assert isinstance(found, NotMade)
    assert found.problem.code == code
    assert "secret" not in found.problem.message


def test_a_state_that_nobody_knows_is_no_answer(bedrock: Bedrock) -> None:
    with pytest.raises(ModelBusy):
        bedrock.says("Resting")


@pytest.mark.parametrize("name", ["ValidationException", "ResourceNotFoundException"])
def test_an_invocation_that_nobody_knows_is_none(bedrock: Bedrock, name: str) -> None:
    bedrock.server.play(steps.failure(400, name))
    assert bedrock.ask() is None


@pytest.mark.parametrize(
    "bad", ["", "p0001", f"{ARN}/../x", ARN.upper(), f"{ARN}\n", "arn:aws:iam::123456789012:role/x"]
)
def test_an_id_that_is_no_invocations_is_not_asked_for(bedrock: Bedrock, bad: str) -> None:
    assert bedrock.ask(bad) is None
    assert bedrock.server.requests == []


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (steps.failure(429, "ThrottlingException"), ModelBusy),
        (steps.failure(403, "AccessDeniedException"), ModelRejected),
        (steps.error_page(), ModelBusy),
        (steps.status(200, {}), ModelBusy),
        (steps.reset(), Unreachable),
        (steps.silent(), TimedOut),
    ],
    ids=["throttled", "no access", "an error page", "another shape", "a broken connection", "silence"],
)
def test_a_question_that_is_not_answered_says_nothing_of_the_invocation(
    bedrock: Bedrock, step: steps.Step, kind: type[OutgoingError]
) -> None:
    bedrock.server.play(step)
    with pytest.raises(OutgoingError) as failed:
        bedrock.ask(timeout_s=0.5 if step["kind"] in steps.ENDLESS else 10)
    assert type(failed.value) is kind


def test_the_picture_is_the_first_that_lies_in_the_jobs_folder(bedrock: Bedrock) -> None:
    bedrock.put("abcdef012345/manifest.json", b"{}")
    bedrock.put("abcdef012345/output_1.PNG", png())
    bedrock.put("abcdef012345/output_2.png", b"another")
    bedrock.bucket.client.put_object(Bucket=bedrock.bucket.name, Key="tmp/images/task-0/a.png", Body=b"somebody else's")
    assert bedrock.collect() == png()


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("manifest.json", b"{}", "no_output"),
        ("output.png", bytes(MAX_BYTES + 1), "picture_too_large"),
    ],
)
def test_where_no_picture_lies_there_none_is_made(bedrock: Bedrock, name: str, data: bytes, code: str) -> None:
    bedrock.put(name, data)
    with pytest.raises(NoPicture) as failed:
        bedrock.collect()
    assert failed.value.code == code


def test_a_bucket_that_does_not_answer_says_nothing_of_the_picture(bedrock: Bedrock) -> None:
    with ModelServer() as broken:
        broken.play(steps.status(503))
        bedrock.bucket = Bindings(settings(AWS_ENDPOINT_URL=broken.url)).bucket
        with pytest.raises(ModelBusy):
            bedrock.collect()


def test_canceling_asks_for_nothing(bedrock: Bedrock) -> None:
    bedrock.provider().cancel(ARN, deadline=Deadline.after(30))
    assert bedrock.server.requests == []


def test_without_time_nothing_is_sent(bedrock: Bedrock) -> None:
    with pytest.raises(TimedOut):
        bedrock.submit(within_s=0)
    with pytest.raises(TimedOut):
        bedrock.ask(within_s=0)
    assert bedrock.server.requests == []
