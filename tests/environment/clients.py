"""boto3 clients for the environment itself: made-up keys, an address that is said, no look at anybody's profile."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

import boto3
import botocore.session
from botocore.config import Config

from tests.environment.places import REGION, checked

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

# A retry could hide what a test looks for, so that a lost connection is tried once more and nothing else is.
CONFIG = Config(
    connect_timeout=5,
    read_timeout=60,
    max_pool_connections=64,
    retries={"mode": "standard", "total_max_attempts": 2},
    s3={"addressing_style": "path"},
)
NO_PROFILE = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}


@cache
def session() -> boto3.Session:
    """A session that knows made-up keys and nothing else."""
    core = botocore.session.Session(session_vars=NO_PROFILE)
    return boto3.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION, botocore_session=core
    )


def cloudformation(url: str) -> CloudFormationClient:
    """A client for stacks."""
    return session().client("cloudformation", endpoint_url=checked(url), config=CONFIG)


def dynamodb(url: str) -> DynamoDBClient:
    """A client for tables."""
    return session().client("dynamodb", endpoint_url=checked(url), config=CONFIG)


def functions(url: str) -> LambdaClient:
    """A client for functions and their event source mappings."""
    return session().client("lambda", endpoint_url=checked(url), config=CONFIG)


def iam(url: str) -> IAMClient:
    """A client for roles."""
    return session().client("iam", endpoint_url=checked(url), config=CONFIG)


def logs(url: str) -> CloudWatchLogsClient:
    """A client for log groups."""
    return session().client("logs", endpoint_url=checked(url), config=CONFIG)


def s3(url: str) -> S3Client:
    """A client for buckets."""
    return session().client("s3", endpoint_url=checked(url), config=CONFIG)


def sqs(url: str) -> SQSClient:
    """A client for queues."""
    return session().client("sqs", endpoint_url=checked(url), config=CONFIG)
