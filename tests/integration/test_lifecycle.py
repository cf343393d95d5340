"""The local AWS comes up, goes down, keeps its data and forgets them, whatever else is on the machine."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from socket import create_server

import pytest

from tests.environment import clients, emulator, processes, stack
from tests.environment.console import Problem
from tests.environment.down import down, reset
from tests.environment.dynamodb_local import free_port
from tests.environment.places import STACK_NAME, is_ministack, remembered_port, started
from tests.environment.up import up

TABLE = "kept"
EMPTY = '{"Resources": {"Nothing": {"Type": "AWS::SQS::Queue"}}}'


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """An emulator of this test's own, in a folder with a space in its name."""
    local = tmp_path / "a checkout"
    where = f"http://localhost:{free_port()}"
    up(where, local=local)
    yield where
    down(local=local)


@pytest.fixture
def local(tmp_path: Path) -> Path:
    return tmp_path / "a checkout"


def make_table(url: str) -> None:
    clients.dynamodb(url).create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
    )
    clients.dynamodb(url).put_item(TableName=TABLE, Item={"key": {"S": "row"}})


def tables(url: str) -> list[str]:
    return clients.dynamodb(url).list_tables()["TableNames"]


def test_what_answers_already_is_used_as_it_is(url: str, local: Path) -> None:
    before = started(local=local)
    assert up(url, local=local).name == "ministack"
    assert started(local=local) == before


def test_a_checkout_has_one_emulator(url: str, local: Path) -> None:
    with pytest.raises(Problem, match="runs on port"):
        up(f"http://localhost:{free_port()}", local=local)
    assert emulator.find(url) is not None


def test_data_outlive_a_stop_and_are_gone_after_a_reset(url: str, local: Path) -> None:
    make_table(url)
    assert down(local=local)
    assert emulator.find(url) is None
    up(url, local=local)
    assert clients.dynamodb(url).scan(TableName=TABLE)["Items"] == [{"key": {"S": "row"}}]
    reset(local=local)
    assert not local.exists()
    up(url, local=local)
    assert tables(url) == []


def test_stopping_twice_is_as_good_as_once_and_stops_nobody_elses(url: str, local: Path, tmp_path: Path) -> None:
    assert not down(local=tmp_path / "another checkout")
    ours = started(local=local)
    assert ours is not None
    assert is_ministack(ours.pid)
    code = str(local / "tmp" / "ministack-lambda-x")
    with subprocess.Popen([sys.executable, "-c", "input()", code], stdin=subprocess.PIPE) as forgotten:
        assert (down(local=local), down(local=local)) == (True, False)
        if processes.VISIBLE:
            assert forgotten.wait(timeout=10) == -signal.SIGKILL, "what MiniStack has forgotten ends with it"
    assert not is_ministack(ours.pid)


def test_the_port_is_remembered_after_a_stop(url: str, local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    up(url, local=local)
    down(local=local)
    assert url.endswith(f":{remembered_port(local=local)}")


def test_a_port_that_something_else_has_is_reported_by_its_number_and_nothing_is_started(tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with pytest.raises(Problem, match=f"Port {port} is taken by .*not an AWS emulator"):
            up(f"http://127.0.0.1:{port}", local=tmp_path)
    assert started(local=tmp_path) is None


def test_nothing_is_started_for_an_address_of_another_machine(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="Nothing answers at"):
        up("http://emulator.invalid:4566", local=tmp_path)


def test_a_stack_that_was_never_finished_is_cleared_away_and_one_that_stands_is_not(url: str) -> None:
    cloudformation = clients.cloudformation(url)
    cloudformation.create_change_set(
        StackName=STACK_NAME, ChangeSetName="broken-off", ChangeSetType="CREATE", TemplateBody=EMPTY
    )
    assert stack.clear_away_broken(url)
    assert stack.find(url) is None
    cloudformation.create_stack(StackName=STACK_NAME, TemplateBody=EMPTY)
    assert not stack.clear_away_broken(url)
    standing = stack.find(url)
    assert standing is not None
    assert standing.stands
