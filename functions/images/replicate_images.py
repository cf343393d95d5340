"""Any endpoint that speaks Replicate's predictions, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from images.download import Download
from images.fates import REFUSED
from images.provider import Job, NoPicture, Prediction
from images.replicate_answers import ID, MAX_BYTES, formless, id_in, prediction_in
from isolane import http
from isolane.deadline import Deadline
from isolane.errors import OutgoingError, ReplyTooLarge
from isolane.json_endpoint import JsonEndpoint
from isolane.model_errors import InputTooLong, ModelError, ModelRefused
from isolane.openai_endpoint import failure, rejected
from isolane.provider_words import utc_now

_ABOUT_THE_PROMPT = {400, 422}
_NOT_THERE = {404, 410}
_OVER = {*_NOT_THERE, 409, 422}
"""How a cancel is answered where there is nothing left to be canceled."""


@dataclass(frozen=True, kw_only=True)
class ReplicateImages:
    """One model at one endpoint."""

    base_url: str
    """Up to and with the version: https://api.replicate.com/v1."""
    model: str
    """OWNER/NAME."""
    key: str = field(repr=False)
    timeout_s: float
    download: Download
    """It knows nothing of the key: pictures lie at other hosts than the provider's."""
    now: Callable[[], datetime] = field(default=utc_now, repr=False)

    def submit(self, job: Job, *, deadline: Deadline) -> str:
        """One POST, which a provider that heeds idempotency keys takes once. No `Prefer: wait`: nobody waits here."""
        path, question = f"models/{self.model}/predictions", {"input": {"prompt": job.prompt}}
        with _in_bounds():
            reply = self._endpoint.post(path, question, deadline=deadline, headers={"idempotency-key": job.key})
        if not _succeeded(reply):
            raise self._not_taken(reply)
        return id_in(reply.body)

    def ask(self, prediction_id: str, job: Job, *, deadline: Deadline) -> Prediction | None:  # noqa: ARG002 - the id will do
        """One GET."""
        if ID.fullmatch(prediction_id) is None:
            return None
        with _in_bounds():
            reply = self._endpoint.get(f"predictions/{prediction_id}", deadline=deadline)
        if reply.status in _NOT_THERE:
            return None
        if not _succeeded(reply):
            raise self._failure(reply)
        return prediction_in(reply.body, prediction_id=prediction_id, fetch=self._fetch)

    def cancel(self, prediction_id: str, *, deadline: Deadline) -> None:
        """One POST."""
        if ID.fullmatch(prediction_id) is None:
            return
        with _in_bounds():
            reply = self._endpoint.post(f"predictions/{prediction_id}/cancel", deadline=deadline)
        if not _succeeded(reply) and reply.status not in _OVER:
            raise self._failure(reply)

    @property
    def _endpoint(self) -> JsonEndpoint:
        return JsonEndpoint(base_url=self.base_url, key=self.key, timeout_s=self.timeout_s, max_bytes=MAX_BYTES)

    def _fetch(self, url: str, deadline: Deadline) -> bytes:
        return self.download.fetch(url, deadline=deadline)

    def _failure(self, reply: http.Reply) -> OutgoingError:
        return failure(reply, now=self.now(), max_bytes=MAX_BYTES)

    def _not_taken(self, reply: http.Reply) -> OutgoingError:
        """A failure that is about the prompt is its picture's end; every other may pass, or somebody has to act."""
        found = failure(reply, now=self.now(), max_bytes=MAX_BYTES, rejected=_rejected)
        return NoPicture(REFUSED) if isinstance(found, InputTooLong | ModelRefused) else found


def _rejected(status: int) -> ModelError:
    return ModelRefused() if status in _ABOUT_THE_PROMPT else rejected(status)


def _succeeded(reply: http.Reply) -> bool:
    return 200 <= reply.status < 300


@contextmanager
def _in_bounds() -> Iterator[None]:
    """An answer without end may come of something in between; another time it may be an answer."""
    try:
        yield
    except ReplyTooLarge:
        raise formless() from None
