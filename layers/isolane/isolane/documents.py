"""A document of a batch on its way through the queue: what its message says, and which version of it this is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from isolane.errors import InvalidRequest
from isolane.json_edge import dumps

Version: TypeAlias = tuple[int, str]
"""When its batch was handed in (milliseconds), and the batch's id; the greater one is the newer document."""

LATEST_S = 86_400
"""A document that has no vector this long after it was handed in gets none."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """One text to be embedded. It has no row of its own: what is to be known of it travels in its message."""

    batch_id: str
    index: int
    """Its place in the batch, from 0: under this it is marked as done, so that twice is once."""
    owner: str
    document_id: str
    text: str
    at_ms: int
    """When its batch was handed in."""
    attempt: int = 1

    @property
    def version(self) -> Version:
        return (self.at_ms, self.batch_id)

    def again(self) -> Document:
        """The document for its next attempt."""
        return replace(self, attempt=self.attempt + 1)

    def overdue(self, now_ms: int) -> bool:
        return now_ms >= self.at_ms + LATEST_S * 1000

    def as_body(self) -> str:
        """The body of its message."""
        return dumps(
            {
                "batch_id": self.batch_id,
                "index": self.index,
                "owner": self.owner,
                "id": self.document_id,
                "text": self.text,
                "at_ms": self.at_ms,
                "attempt": self.attempt,
            }
        )

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Document:
        """Raises InvalidRequest for a message that no batch of ours has sent."""
        texts = [body.get(name) for name in ("batch_id", "owner", "id", "text")]
        numbers = [body.get(name) for name in ("index", "at_ms", "attempt")]
        if not (all(isinstance(text, str) for text in texts) and all(_counts(number) for number in numbers)):
            raise InvalidRequest("A message names its batch, its place there, its owner and its text.")
        batch_id, owner, document_id, text = map(str, texts)
        index, at_ms, attempt = (int(number or 0) for number in numbers)
        return cls(
            batch_id=batch_id,
            index=index,
            owner=owner,
            document_id=document_id,
            text=text,
            at_ms=at_ms,
            attempt=attempt,
        )


def _counts(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**15
