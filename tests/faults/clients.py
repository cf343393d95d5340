"""Clients for the lab: of made-up credentials, for moto in this process or any endpoint."""

from functools import cache
from typing import Any

import boto3
from botocore import UNSIGNED
from botocore.config import Config

REGION = "eu-central-1"


def new_client(service: str, *, endpoint_url: str | None = None, attempts: int = 1, signed: bool = True) -> Any:
    """A client of made-up credentials that tries `attempts` times in all; without a signature it is quicker."""
    retries: Any = {"mode": "standard", "total_max_attempts": attempts}
    signature = {} if signed else {"signature_version": UNSIGNED}
    return _session().client(
        service,  # type: ignore[call-overload]  # any service, by its name
        endpoint_url=endpoint_url,
        config=Config(retries=retries, read_timeout=5, connect_timeout=2, **signature),
    )


# The same client for the same arguments: to make one takes longer than most of these tests.
connect = cache(new_client)


@cache
def _session() -> boto3.session.Session:
    # One for all: each session reads botocore's descriptions of the services again.
    return boto3.session.Session("testing", "testing", region_name=REGION)
