"""An S3 bucket: texts that are too large for a message or a row, and what has no place in either."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isolane.aws.failures import in_our_words
from isolane.errors import ReplyTooLarge

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class Bucket:
    """One bucket, by name. Every method is one call to S3, if nothing else is said."""

    client: S3Client
    name: str

    def put_text(self, key: str, text: str) -> None:
        with in_our_words():
            self.client.put_object(
                Bucket=self.name, Key=key, Body=text.encode(), ContentType="application/json; charset=utf-8"
            )

    def get_text(self, key: str) -> str:
        with in_our_words():
            return self.client.get_object(Bucket=self.name, Key=key)["Body"].read().decode()

    def find_text(self, key: str) -> str | None:
        """The same, or None where there is no such object."""
        try:
            return self.get_text(key)
        except self.client.exceptions.NoSuchKey:
            return None

    def put(self, key: str, data: bytes, *, content_type: str) -> None:
        with in_our_words():
            self.client.put_object(Bucket=self.name, Key=key, Body=data, ContentType=content_type)

    def link(self, key: str, *, ttl_s: int) -> str:
        """Where anybody can read the object for so long; made without a call, whether or not there is one."""
        return self.client.generate_presigned_url(
            "get_object", Params={"Bucket": self.name, "Key": key}, ExpiresIn=ttl_s
        )

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin so, in their order; the first thousand."""
        with in_our_words():
            found = self.client.list_objects_v2(Bucket=self.name, Prefix=prefix)
        return [entry["Key"] for entry in found.get("Contents", ())]

    def find_bytes(self, key: str, *, max_bytes: int) -> bytes | None:
        """What lies there, or None where nothing does. Raises ReplyTooLarge, without reading further."""
        try:
            with in_our_words(), closing(self.client.get_object(Bucket=self.name, Key=key)["Body"]) as body:
                data = body.read(max_bytes + 1)
        except self.client.exceptions.NoSuchKey:
            return None
        if len(data) > max_bytes:
            raise ReplyTooLarge
        return data
