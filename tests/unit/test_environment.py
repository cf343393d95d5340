"""The parts of the local environment that decide something."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.environment import dynamodb_local, startable
from tests.environment.console import Problem
from tests.environment.demo import Answer, chosen_texts, show, waited_for
from tests.environment.deploy import emulator_for, parameters
from tests.environment.emulator import Emulator
from tests.environment.fingerprint import fingerprint
from tests.environment.install import only
from tests.environment.places import (
    ROOT,
    checked,
    endpoint,
    harmless,
    is_here,
    port_of,
    remember_port,
    started,
)
from tests.environment.sam_local import chosen
from tests.environment.tools import tool, use
from tests.template import PLACES, overrides
from tests.waiting import WaitedTooLong, wait_until


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A shell that says nothing about where AWS is."""
    for name in ("AWS_ENDPOINT_URL", "PORT", "LOCALSTACK_HOST"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_an_address_comes_before_a_port_that_before_a_host_and_that_before_what_was_used_last(
    shell: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert endpoint(local=tmp_path / "nothing") == "http://localhost:4566"
    remember_port(4711, local=tmp_path)
    assert endpoint(local=tmp_path) == "http://localhost:4711"
    shell.setenv("LOCALSTACK_HOST", "emulator:4800")
    assert endpoint(local=tmp_path) == "http://emulator:4800"
    shell.setenv("PORT", "4700")
    assert endpoint(local=tmp_path) == "http://localhost:4700"
    shell.setenv("AWS_ENDPOINT_URL", "http://localhost:4600/")
    assert endpoint(local=tmp_path) == "http://localhost:4600"


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1", " ", "4566.0"])
def test_what_cannot_be_a_port_is_refused_by_name(port: str, shell: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shell.setenv("PORT", port)
    with pytest.raises(Problem, match="PORT"):
        endpoint(local=tmp_path)


def test_what_cannot_be_a_host_is_refused_by_name(shell: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shell.setenv("LOCALSTACK_HOST", "emulator:port")
    with pytest.raises(Problem, match="LOCALSTACK_HOST"):
        endpoint(local=tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "https://dynamodb.us-east-1.amazonaws.com",
        "https://sqs.cn-north-1.amazonaws.com.cn",
        "localhost:4566",
        "",
        "http://localhost:99999",
    ],
)
def test_aws_itself_and_what_is_no_address_are_refused(url: str) -> None:
    with pytest.raises(Problem, match="AWS_ENDPOINT_URL"):
        checked(url)


def test_an_emulator_is_only_started_on_this_machine() -> None:
    assert is_here("http://localhost:4566")
    assert is_here("http://127.0.0.1:4566")
    assert not is_here("http://172.17.0.1:4566")
    assert port_of("https://emulator.test") == 443


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ModelTimeout": "50"}, "ModelTimeout"),
        ({"ScorerChain": "openai:gpt-5-mini"}, "OpenAiBaseUrl"),
        ({"ScorerChain": "builtin,nobody"}, "scorer"),
        ({"Embedder": "openai:text-embedding-3-small"}, "Embedder"),
        ({"ImageProvider": "replicate:somebody/something", "ImageHosts": ","}, "ImageHosts"),
        ({"MaxRetries": "some"}, "MAX_RETRIES"),
    ],
)
def test_parameters_with_which_nothing_would_start_are_refused_before_they_are_deployed(
    changed: dict[str, str], said: str
) -> None:
    with pytest.raises(Problem, match=said):
        startable.check(changed)


@pytest.mark.parametrize("place", PLACES)
def test_the_parameters_of_each_place_would_start(place: str) -> None:
    startable.check(overrides(place))


def test_a_child_process_gets_made_up_keys_whatever_the_shell_holds() -> None:
    shell = {"AWS_PROFILE": "production", "AWS_SESSION_TOKEN": "real", "AWS_ACCESS_KEY_ID": "AKIAREAL", "PATH": "/bin"}
    child = harmless(shell, url="http://localhost:4566")
    assert not {"production", "real", "AKIAREAL"} & set(child.values())
    assert child["PATH"] == "/bin"
    assert child["AWS_ENDPOINT_URL"] == "http://localhost:4566"


@pytest.mark.parametrize("note", ["", "{", "[]", '{"pid": 1}', "null"])
def test_a_torn_note_about_what_was_started_is_no_note(note: str, tmp_path: Path) -> None:
    (tmp_path / "emulator.json").write_text(note)
    assert started(local=tmp_path) is None


PARTS = [
    "functions/api.py",
    "layers/isolane/isolane/tasks.py",
    "template.yaml",
    *(f"tests/environment/{name}.py" for name in ("adapt", "build", "deploy")),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a file in each of the places that a deployment is made from."""
    for name in PARTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before")
    return tmp_path


@pytest.mark.parametrize("name", [*PARTS, "functions/new.py"])
def test_any_change_to_what_is_deployed_changes_the_fingerprint(name: str, project: Path) -> None:
    before = fingerprint({}, target="ministack", root=project)
    (project / name).write_text("after")
    assert fingerprint({}, target="ministack", root=project) != before


def test_parameters_and_the_kind_of_emulator_change_the_fingerprint_and_compiled_files_do_not(project: Path) -> None:
    before = fingerprint({"A": "1"}, target="ministack", root=project)
    (project / "functions/__pycache__").mkdir()
    (project / "functions/__pycache__/api.cpython-313.pyc").write_bytes(b"\0")
    assert fingerprint({"A": "1"}, target="ministack", root=project) == before
    assert fingerprint({"A": "2"}, target="ministack", root=project) != before
    assert fingerprint({"A": "1"}, target="localstack", root=project) != before


def test_one_package_with_all_its_hashes_is_taken_out_of_a_lock() -> None:
    wanted = "uv==2 ; python_version > '3' \\\n    --hash=sha256:2 \\\n    --hash=sha256:3\n"
    lock = f"ab==1 \\\n    --hash=sha256:1\n{wanted}z==4\n"
    assert only("uv", lock=lock) == wanted
    with pytest.raises(Problem, match="pip"):
        only("pip", lock=lock)


PENDING = {"status": "pending", "terminal": False}
DONE = {"status": "completed", "terminal": True}


def said(body: dict[str, Any], *, retry_after_s: float) -> Answer:
    return Answer(status=202, retry_after_s=retry_after_s, location="result?taskId=1", body=body)


def wait(first: Answer, *later: Answer) -> tuple[dict[str, Any], list[float]]:
    """Wait against an API that answers as it was told to, on a clock that moves only when somebody sleeps."""
    slept: list[float] = []
    answers = iter(later)
    task = waited_for(first, look=lambda _: next(answers), elapsed_s=lambda: sum(slept), sleep=slept.append)
    assert next(answers, None) is None
    return task, slept


def test_the_demo_asks_again_when_the_api_allows_it_until_the_task_is_terminal() -> None:
    first, second, third = said(PENDING, retry_after_s=2), said(PENDING, retry_after_s=3), said(DONE, retry_after_s=2)
    assert wait(first, second, third) == (DONE, [2, 3])


def test_the_demo_does_not_wait_for_what_is_terminal_at_once() -> None:
    assert wait(said(DONE, retry_after_s=2)) == (DONE, [])


def test_the_demo_gives_up_on_a_task_that_is_never_terminal() -> None:
    with pytest.raises(Problem, match="still pending after 296 s"):
        wait(said(PENDING, retry_after_s=8), *[said(PENDING, retry_after_s=8)] * 1000)


def test_the_demo_does_not_wait_for_a_human() -> None:
    in_review = {"status": "in_review", "terminal": False, "error": {"code": "low_score", "message": "Low."}}
    assert wait(said(PENDING, retry_after_s=2), said(in_review, retry_after_s=60)) == (in_review, [2])
    show(in_review)
    judged = {"score": 7, "dimensions": {"all": 7}, "comments": ["Short."], "model": "builtin-rubric"}
    show({**in_review, "result": judged})


def test_the_demo_fails_when_the_task_did() -> None:
    failed = {"status": "failed", "terminal": True, "error": {"code": "timed_out"}}
    with pytest.raises(Problem, match="timed_out"):
        wait(said(failed, retry_after_s=2))


def test_a_text_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="nowhere"):
        chosen_texts(str(tmp_path / "nowhere.txt"))


def test_the_essays_of_the_demo_are_real_ones_in_two_scripts() -> None:
    texts = chosen_texts(None)
    assert list(texts) == ["english.txt", "chinese.txt"]
    assert all(len(text) > 500 for text in texts.values())


def test_dynamodb_local_is_left_out_with_a_reason_and_demanded_where_nothing_may_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(dynamodb_local, "CACHE", tmp_path)
    monkeypatch.delenv("REQUIRE_ALL", raising=False)
    assert dynamodb_local.missing() == "DynamoDB Local needs java and npm, which this machine lacks"
    monkeypatch.setenv("REQUIRE_ALL", "1")
    with pytest.raises(Problem, match="REQUIRE_ALL"):
        dynamodb_local.missing()


def test_a_place_that_cannot_be_deployed_to_is_refused_by_name() -> None:
    with pytest.raises(Problem, match="ENV is local or localstack, and 'production' is neither"):
        emulator_for("production")


def test_an_event_that_is_not_there_is_refused_with_those_that_are() -> None:
    assert chosen("scoring-api.submit").logical_name == "ScoringApi"
    with pytest.raises(Problem, match=r"there are .*scoring-api\.submit"):
        chosen("scoring-api.nothing")


def test_tools_that_are_not_there_are_not_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ISOLANE_TOOLS", str(tmp_path))
    assert tool("localstack") is None
    (tmp_path / "localstack").write_text("#!/bin/sh\necho http://127.0.0.1:$1\n")
    (tmp_path / "localstack").chmod(0o755)
    found = tool("localstack")
    assert found is not None
    assert use(found, "4600") == "http://127.0.0.1:4600"


def test_a_tool_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "broken").chmod(0o755)
    with pytest.raises(Problem, match="broken failed"):
        use(tmp_path / "broken")


def test_waiting_ends_with_the_answer_or_with_what_was_waited_for() -> None:
    assert wait_until(lambda: json.loads("[1]"), description="there is an answer") == [1]
    with pytest.raises(WaitedTooLong, match="pigs fly"):
        wait_until(lambda: None, description="pigs fly", timeout_s=0.05)


def test_a_parameter_that_is_not_said_again_is_the_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    ministack = Emulator(name="ministack", version="1", url="http://localhost:1")
    monkeypatch.setenv("PARAMETERS", "PostsPerMinute=5")
    assert parameters(ministack)["PostsPerMinute"] == "5"
    monkeypatch.delenv("PARAMETERS")
    assert parameters(ministack)["PostsPerMinute"] == "0"
    assert parameters(ministack)["AllowAnonymous"] == "true", "as samconfig.toml has it"


@pytest.mark.parametrize("name", ["ann", "o'x", 'say "x"', "a b", "$HOME", "`id`"])
def test_a_token_is_made_for_whoever_was_said_whatever_quotes_are_in_it(name: str) -> None:
    told = [f"USER={name}", "PY=sh -c 'printenv USER_NAME' --"]
    done = subprocess.run(
        ["make", "--silent", "--assume-old=.venv/installed.lock", "token", *told],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{name}\n"
