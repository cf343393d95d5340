"""Fetching a picture from where its provider says that it is: a URL of somebody else's, of which nothing is believed.

One request, without a key, without a redirect, to a host that was allowed; bounded in time and in size. No error names
the URL, which is the provider's business and may be signed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from images.hosts import Hosts
from images.provider import NoPicture
from isolane import http
from isolane.deadline import Deadline
from isolane.errors import AddressForbidden, ReplyTooLarge
from isolane.model_errors import ModelBusy
from isolane.provider_words import retry_after_s, utc_now
from isolane.task import Problem

MAX_BYTES = 10_485_760
_LONGEST_URL = 4_096
_FOR_NOW = {408, 425, 429}

FORBIDDEN = Problem(
    code="picture_forbidden", message="The provider's picture is at a place that must not be fetched from."
)
GONE = Problem(code="picture_gone", message="The provider's picture is not there any more.")
TOO_LARGE = Problem(code="picture_too_large", message="The provider's picture is larger than 10 MB.")
INVALID = Problem(code="picture_invalid", message="The provider served no picture.")


@dataclass(frozen=True, kw_only=True)
class Download:
    """What may be fetched, and how long that may take."""

    hosts: Hosts
    timeout_s: float
    now: Callable[[], datetime] = field(default=utc_now, repr=False)

    def fetch(self, url: str, *, deadline: Deadline) -> bytes:
        """The bytes at this URL, unchecked.

        Raises NoPicture where there will never be any, and TimedOut, Unreachable or ModelBusy where there may be later.
        """
        connect = self.hosts.dial_to(url) if len(url) <= _LONGEST_URL else None
        if connect is None:
            raise NoPicture(FORBIDDEN)
        try:
            reply = http.request(
                "GET",
                url,
                headers={"accept": "image/*"},
                body=None,
                deadline=deadline,
                timeout_s=self.timeout_s,
                max_bytes=MAX_BYTES,
                connect=connect,
            )
        except AddressForbidden:
            raise NoPicture(FORBIDDEN) from None
        except ReplyTooLarge:
            raise NoPicture(TOO_LARGE) from None
        return _body(reply, now=self.now())


def _body(reply: http.Reply, *, now: datetime) -> bytes:
    """A link that has expired is answered with 400 or 403 by those who sign them; it is as gone as one with 404."""
    if reply.status == 200:
        return reply.body
    if reply.status in _FOR_NOW or reply.status >= 500:
        wait_s = retry_after_s(reply.headers, now=now)
        raise ModelBusy(f"The picture's host cannot answer for now (status {reply.status}).", retry_after_s=wait_s)
    if 300 <= reply.status < 400:
        raise NoPicture(FORBIDDEN)
    raise NoPicture(GONE if reply.status >= 400 else INVALID)
