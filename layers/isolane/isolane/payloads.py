"""A text that travels in a message or a row, or lies in the bucket with a pointer to it where it is too large."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isolane.characters import nfc

if TYPE_CHECKING:
    from isolane.aws.bucket import Bucket

INLINE_BYTES = 240_000
"""What fits into a message beside the other fields, as JSON text (the limit is 262,144 for the whole)."""


@dataclass(frozen=True)
class Payloads:
    """Large texts under a prefix of one bucket, which forgets them after some days."""

    bucket: Callable[[], Bucket]
    """Asked for only where a text is too large or kept: most functions never make a client for it."""
    prefix: str = "tmp/payloads/"
    kept_prefix: str = "reviews/"
    """Where a text lies that a human has to see; the bucket forgets it when nobody may judge it any more."""

    def carry(self, text: str, *, key: str) -> dict[str, str]:
        """The fields by which a message carries the text: itself, or where it lies."""
        if _size_in_json(text) <= INLINE_BYTES:
            return {"text": text}
        self.bucket().put_text(self.prefix + key, text)
        return {"text_key": self.prefix + key, "text_digest": text_digest(text)}

    def unpack(self, fields: Mapping[str, Any]) -> str:
        """The text that the fields carry. Raises KeyError where they carry none."""
        if "text" in fields:
            return str(fields["text"])
        return self.bucket().get_text(str(fields["text_key"]))

    def keep(self, fields: Mapping[str, Any], *, key: str) -> None:
        """Puts the text that the fields carry where it outlives its message. Twice is once."""
        self.bucket().put_text(self.kept_prefix + key, self.unpack(fields))

    def kept(self, key: str) -> str | None:
        """A text that was kept; None where it is gone."""
        return self.bucket().find_text(self.kept_prefix + key)


def digest_in(fields: Mapping[str, Any]) -> str | None:
    """The digest of the text that the fields carry, without fetching it; None where they carry none."""
    if "text" in fields:
        return text_digest(str(fields["text"]))
    return fields.get("text_digest")


def text_digest(text: str) -> str:
    """One for all texts that read the same."""
    return hashlib.sha256(nfc(text).encode()).hexdigest()


def _size_in_json(text: str) -> int:
    # Quotes, backslashes and control characters are escaped; two bytes for the longest of the usual escapes.
    return len(text.encode()) + sum(text.count(character) for character in '"\\\n\r\t')
