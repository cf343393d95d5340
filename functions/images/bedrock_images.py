"""A model of Bedrock's that makes pictures by and by, and puts them into our bucket."""

from __future__ import annotations

from dataclasses import dataclass

from images.download import GONE, MAX_BYTES, TOO_LARGE
from images.fates import NO_OUTPUT, REFUSED, failed
from images.provider import Job, Made, NoPicture, Prediction, Working
from isolane import time_limit
from isolane.aws.bucket import Bucket
from isolane.aws.models import Models
from isolane.deadline import Deadline
from isolane.errors import ReplyTooLarge, Unavailable
from isolane.json_edge import JsonObject
from isolane.model_errors import InputTooLong, ModelBusy, ModelRefused

PREFIX = "tmp/images/"
"""Where the bucket forgets things after some days: what is delivered is a copy."""
_ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


@dataclass(frozen=True, kw_only=True)
class BedrockImages:
    """One model, by its id or an ARN. A prediction's id is the ARN of its invocation."""

    models: Models
    bucket: Bucket
    model: str
    timeout_s: float

    def submit(self, job: Job, *, deadline: Deadline) -> str:
        """StartAsyncInvoke, which takes a token once."""
        try:
            return self.models.start(
                self.model,
                _question(self.model, job.prompt),
                output=f"s3://{self.bucket.name}/{_folder(job)}",
                token=job.key,
                deadline=deadline,
                timeout_s=self.timeout_s,
            )
        except (InputTooLong, ModelRefused):
            raise NoPicture(REFUSED) from None

    def ask(self, prediction_id: str, job: Job, *, deadline: Deadline) -> Prediction | None:
        """GetAsyncInvoke, which does not tell waiting from working."""
        found = self.models.progress(prediction_id, deadline=deadline, timeout_s=self.timeout_s)
        if found is None:
            return None
        match found.status:
            case "InProgress":
                return Working()
            case "Completed":
                return Made(collect=lambda deadline: self._collect(job, deadline=deadline))
            case "Failed":
                return failed(found.failure)
            case _:
                raise ModelBusy("The model's provider did not answer in its own form.")

    def cancel(self, prediction_id: str, *, deadline: Deadline) -> None:
        """Bedrock cannot stop what it has begun."""

    def _collect(self, job: Job, *, deadline: Deadline) -> bytes:
        try:
            return time_limit.run(lambda: self._output(job), limit_s=deadline.bounded(self.timeout_s))
        except ReplyTooLarge:
            raise NoPicture(TOO_LARGE) from None
        except Unavailable:
            raise ModelBusy("The bucket with the picture did not answer.") from None

    def _output(self, job: Job) -> bytes:
        """The first picture, by its name, of all that lies in the job's folder."""
        key = next((key for key in self.bucket.keys(_folder(job)) if key.lower().endswith(_ENDINGS)), None)
        if key is None:
            raise NoPicture(NO_OUTPUT)
        data = self.bucket.find_bytes(key, max_bytes=MAX_BYTES)
        if data is None:
            raise NoPicture(GONE)
        return data


def _folder(job: Job) -> str:
    return f"{PREFIX}{job.key}/"


def _question(model: str, prompt: str) -> JsonObject:
    """Amazon's own models have a form of their own; the others take a prompt."""
    if "amazon." in model:
        return {"taskType": "TEXT_IMAGE", "textToImageParams": {"text": prompt}}
    return {"prompt": prompt}
