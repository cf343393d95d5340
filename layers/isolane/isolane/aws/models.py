"""Bedrock's models: one call, in time, and its errors in our words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's own, which is no OSError
    ConnectTimeoutError,
    HTTPClientError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from isolane import time_limit
from isolane.deadline import Deadline
from isolane.errors import InvalidJson, InvalidRequest, TimedOut, TooLarge, Unreachable
from isolane.json_edge import JsonObject, dumps, parse_object
from isolane.model_errors import InputTooLong, ModelBusy, ModelError, ModelRefused, ModelRejected
from isolane.provider_words import retry_after_s, says_filtered, says_quota, says_too_long, utc_now

if TYPE_CHECKING:
    from mypy_boto3_bedrock_runtime import BedrockRuntimeClient

_MALFORMED = (ResponseParserError, LookupError, TypeError, AttributeError, ValueError)
"""What comes of an answer that is not the service's, a page of something in between, which botocore takes for one."""
_FOR_NOW = {
    "ThrottlingException",
    "ModelNotReadyException",
    "ServiceUnavailableException",
    "InternalServerException",
    "ModelTimeoutException",
    "ModelErrorException",
    "ConflictException",  # the same token, under way
    "ServiceQuotaExceededException",  # of what may be under way at once
}
_UNKNOWN = {"ValidationException", "ResourceNotFoundException"}
"""What GetAsyncInvoke says of an invocation that is not there; its ARN was well-formed."""
_ARN = re.compile(r"arn:aws(-[a-z]+)*:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:async-invoke/[a-z0-9]{12}")


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """What a model said."""

    text: str = field(repr=False)
    """All blocks of text, one after another; "" where it said nothing."""
    stop_reason: str
    """Why it stopped, in Converse's words: end_turn, max_tokens, content_filtered, …"""


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """How far a model is with what it was asked to do by and by."""

    status: str
    """InProgress, Completed or Failed."""
    failure: str = field(repr=False)
    """Why it failed, in the service's words; "" where it did not."""


@dataclass(frozen=True)
class Models:
    """Bedrock's runtime. Every method is one request: the client must have its retries off, and a read timeout."""

    client: BedrockRuntimeClient

    def converse(
        self, model: str, *, system: str, user: str, max_tokens: int, deadline: Deadline, timeout_s: float
    ) -> Conversation:
        """Asks a model once, within `timeout_s` and the deadline. Raises TimedOut, Unreachable, and a ModelError."""
        with _in_our_words():
            answer = time_limit.run(
                lambda: self.client.converse(
                    modelId=model,
                    system=[{"text": system}],
                    messages=[{"role": "user", "content": [{"text": user}]}],
                    inferenceConfig={"maxTokens": max_tokens},
                ),
                limit_s=deadline.bounded(timeout_s),
            )
            return _conversation(answer)

    def invoke(
        self, model: str, body: JsonObject, *, max_bytes: int, deadline: Deadline, timeout_s: float
    ) -> JsonObject:
        """Calls a model in its own form once. Raises TimedOut, Unreachable, and a ModelError."""
        with _in_our_words():
            raw = time_limit.run(
                lambda: self.client.invoke_model(
                    modelId=model, body=dumps(body), contentType="application/json", accept="application/json"
                )["body"].read(max_bytes + 1),
                limit_s=deadline.bounded(timeout_s),
            )
            return parse_object(raw, max_bytes=max_bytes)

    def start(
        self, model: str, body: JsonObject, *, output: str, token: str, deadline: Deadline, timeout_s: float
    ) -> str:
        """Has a model do its work by and by, once for each token; returns the invocation's ARN.

        `output` is a URI of S3 under which it puts what it has made. Raises ModelRefused for a body that it does not
        take, and what the others raise.
        """
        with _in_our_words(), _about_the_body():
            answer = time_limit.run(
                lambda: self.client.start_async_invoke(
                    modelId=model,
                    modelInput=body,
                    outputDataConfig={"s3OutputDataConfig": {"s3Uri": output}},
                    clientRequestToken=token,
                ),
                limit_s=deadline.bounded(timeout_s),
            )
            if _ARN.fullmatch(answer["invocationArn"]) is None:
                raise ValueError("no ARN of an invocation")
            return answer["invocationArn"]

    def progress(self, arn: str, *, deadline: Deadline, timeout_s: float) -> Invocation | None:
        """How far an invocation is; None where there is no such. Raises what the others raise."""
        if _ARN.fullmatch(arn) is None:
            return None
        with _in_our_words():
            try:
                answer = time_limit.run(
                    lambda: self.client.get_async_invoke(invocationArn=arn), limit_s=deadline.bounded(timeout_s)
                )
            except ClientError as error:
                if _code(error) in _UNKNOWN:
                    return None
                raise
            return Invocation(status=answer["status"], failure=answer.get("failureMessage", ""))


def _conversation(answer: Mapping[str, Any]) -> Conversation:
    blocks = answer["output"]["message"]["content"]
    return Conversation(text="".join(block.get("text", "") for block in blocks), stop_reason=answer["stopReason"])


@contextmanager
def _about_the_body() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if _code(error) != "ValidationException":
            raise
        raise ModelRefused("The model's provider does not accept this prompt.") from None


def _code(error: ClientError) -> str:
    return error.response.get("Error", {}).get("Code", "")


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Without their causes: the service's sentences may quote the text."""
    try:
        yield
    except ClientError as error:
        raise _translated(error) from None
    except (ConnectTimeoutError, ReadTimeoutError):
        raise TimedOut from None
    except (ConnectionError, HTTPClientError) as error:
        raise Unreachable(f"The model's provider could not be reached ({type(error).__name__}).") from None
    except BotoCoreError as error:
        raise ModelRejected(f"The model could not be asked ({type(error).__name__}).") from None
    except (*_MALFORMED, InvalidJson, InvalidRequest, TooLarge):
        raise ModelBusy("The model's provider did not answer in its own form.") from None


def _translated(error: ClientError) -> ModelError:
    response: Any = error.response
    code, sentence = _code(error), response.get("Error", {}).get("Message", "")
    about = response.get("ResponseMetadata", {})
    if says_quota(sentence):
        return ModelRejected(f"The allowance at the model's provider is used up ({code}).")
    if code in _FOR_NOW or about.get("HTTPStatusCode", 0) >= 500:
        wait_s = retry_after_s(about.get("HTTPHeaders", {}), now=utc_now())
        return ModelBusy(f"The model cannot answer for now ({code}).", retry_after_s=wait_s)
    if says_too_long(sentence):
        return InputTooLong()
    if says_filtered(sentence):
        return ModelRefused()
    return ModelRejected(f"The model's provider does not accept the request ({code}).")
