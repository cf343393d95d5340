"""A client made by mistake goes nowhere."""

import boto3
import pytest
from botocore.exceptions import ClientError, HTTPClientError
from moto import mock_aws


def test_a_stray_client_cannot_open_a_socket() -> None:
    stray = boto3.client("dynamodb", endpoint_url="http://127.0.0.1:9")
    with pytest.raises(HTTPClientError, match="A test tried to use socket"):
        stray.list_tables()


def test_the_keys_are_made_up() -> None:
    credentials = boto3.Session().get_credentials()
    assert credentials is not None
    assert credentials.access_key == "test"


def test_moto_answers_without_a_socket() -> None:
    with mock_aws(), pytest.raises(ClientError, match="ResourceNotFound"):
        boto3.client("dynamodb").describe_table(TableName="nobody-made-this")
