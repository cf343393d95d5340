"""SSM parameters: secrets that a function reads when it needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isolane.aws.failures import in_our_words

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


@dataclass(frozen=True)
class Parameters:
    """Parameter Store. Every method is one call to SSM."""

    client: SSMClient

    def secret(self, name: str) -> str:
        """The decrypted value of a SecureString; it is never logged, and kept by whoever asked."""
        with in_our_words():
            return self.client.get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"]
