"""The faulty proxy: it passes things on as they are, strikes as often as it is told, and keeps count."""

import http.client
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from tests.faults.clients import connect, new_client
from tests.faults.conftest import Toy, furnish
from tests.faults.moto_over_http import moto_over_http
from tests.faults.proxy import FaultyProxy, running
from tests.faults.proxy_faults import KINDS, Settings

KEY = {"id": {"S": "a"}}


@pytest.fixture(scope="module")
def emulator() -> Iterator[Toy]:
    with moto_over_http() as url:
        yield furnish(connect("dynamodb", endpoint_url=url), connect("sqs", endpoint_url=url))


@pytest.fixture(scope="module")
def proxy(emulator: Toy) -> Iterator[FaultyProxy]:
    with running(upstream=emulator.dynamodb.meta.endpoint_url) as proxy:
        yield proxy


@pytest.fixture
def toy(emulator: Toy, proxy: FaultyProxy) -> Toy:
    """The toy world behind the proxy, empty, and nothing fails."""
    ask(proxy, "PUT", {"rate": 0, "services": [], "seed": 0, "kinds": list(KINDS), "delay_ms": 0})
    ask(proxy, "DELETE")
    emulator.put("a")
    emulator.drain()
    return emulator


def ask(proxy: FaultyProxy, method: str, body: Any = None) -> Any:
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(f"{proxy.url}/_faults", method=method, data=data)  # noqa: S310 - our own server
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - our own server
        return json.load(answer)


def add_one(proxy: FaultyProxy, *, attempts: int = 1) -> None:
    connect("dynamodb", endpoint_url=proxy.url, attempts=attempts).update_item(
        TableName="things",
        Key=KEY,
        UpdateExpression="ADD #value :one",
        ExpressionAttributeNames={"#value": "value"},
        ExpressionAttributeValues={":one": {"N": "1"}},
    )


@pytest.mark.parametrize(
    ("kind", "surfaces", "value"),
    [
        ("throttle", "ProvisionedThroughputExceededException", 0),
        ("server_error", "InternalServerError", 0),
        ("unavailable", "ServiceUnavailable", 0),
        ("conflict", "TransactionConflictException", 0),
        ("closed", "ConnectionClosedError", 0),
        ("lost", "ConnectionClosedError", 1),
        ("error_after", "InternalServerError", 1),
    ],
)
def test_each_kind_is_what_it_says(toy: Toy, proxy: FaultyProxy, kind: str, surfaces: str, value: int) -> None:
    ask(proxy, "PUT", {"rate": 1, "kinds": [kind]})
    with pytest.raises((ClientError, ConnectionClosedError)) as caught:
        add_one(proxy)
    # botocore makes a class of the error's code where the service's model has it.
    code = caught.value.response["Error"]["Code"] if isinstance(caught.value, ClientError) else ""
    assert surfaces in (code, type(caught.value).__name__)
    assert toy.number("a") == value
    assert ask(proxy, "GET")["counters"]["by_kind"] == {kind: {"dynamodb UpdateItem": 1}}


def test_a_delayed_call_is_answered(toy: Toy, proxy: FaultyProxy) -> None:
    ask(proxy, "PUT", {"rate": 1, "kinds": ["delay"], "delay_ms": 1})
    add_one(proxy)
    assert toy.number("a") == 1


def test_sqs_is_refused_in_its_own_words(toy: Toy, proxy: FaultyProxy) -> None:
    ask(proxy, "PUT", {"rate": 1, "kinds": ["throttle"]})
    sqs = connect("sqs", endpoint_url=proxy.url)
    with pytest.raises(sqs.exceptions.RequestThrottled):
        sqs.send_message(QueueUrl=toy.queue_url, MessageBody="hello")
    assert toy.messages() == 0


def test_a_transaction_is_canceled_item_by_item(toy: Toy, proxy: FaultyProxy) -> None:
    ask(proxy, "PUT", {"rate": 1, "kinds": ["conflict"]})
    puts = [{"Put": {"TableName": "things", "Item": {"id": {"S": key}}}} for key in ("one", "two")]
    with pytest.raises(ClientError) as caught:
        connect("dynamodb", endpoint_url=proxy.url).transact_write_items(TransactItems=puts)
    codes = [reason["Code"] for reason in caught.value.response["CancellationReasons"]]
    assert codes == ["TransactionConflict", "None"]
    assert "Item" not in toy.dynamodb.get_item(TableName="things", Key={"id": {"S": "one"}})


@pytest.mark.usefixtures("toy")
def test_a_read_does_not_meet_a_transaction(proxy: FaultyProxy) -> None:
    ask(proxy, "PUT", {"rate": 1, "kinds": ["conflict"]})
    connect("dynamodb", endpoint_url=proxy.url).get_item(TableName="things", Key=KEY)
    assert ask(proxy, "GET")["counters"]["struck"] == 0


def test_only_the_services_asked_for_are_struck(toy: Toy, proxy: FaultyProxy) -> None:
    ask(proxy, "PUT", {"rate": 1, "services": ["sqs"], "kinds": ["server_error"]})
    add_one(proxy)
    assert toy.number("a") == 1


def struck_calls(proxy: FaultyProxy, *, seed: int) -> list[int]:
    ask(proxy, "PUT", {"rate": 0.3, "kinds": ["throttle"], "seed": seed})
    struck = []
    for number in range(25):
        try:
            add_one(proxy)
        except ClientError:
            struck.append(number)
    return struck


def test_a_seed_strikes_the_same_calls_again(toy: Toy, proxy: FaultyProxy) -> None:
    first, again, other = (struck_calls(proxy, seed=seed) for seed in (7, 7, 8))
    assert first == again != other
    assert 2 <= len(first) <= 15
    counters = ask(proxy, "GET")["counters"]
    assert (counters["calls"], counters["struck"]) == (75, len(first) * 2 + len(other))
    assert toy.number("a") == 75 - counters["struck"]


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 2},
        {"rate": "often"},
        {"rate": True},
        {"kinds": []},
        {"kinds": ["plague"]},
        {"kinds": "lost"},
        {"seed": 1.5},
        {"delay_ms": -1},
        {"services": [1]},
        {"unknown": 1},
        [],
    ],
)
def test_wrong_settings_are_refused_and_change_nothing(proxy: FaultyProxy, wrong: Any) -> None:
    before = ask(proxy, "GET")
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(proxy, "PUT", wrong)
    with caught.value as answer:
        assert (answer.code, json.load(answer)["error"]) == (400, "invalid_faults")
    assert ask(proxy, "GET") == before


class _Echo(BaseHTTPRequestHandler):
    """Answers with the request as it arrived."""

    protocol_version = "HTTP/1.1"

    def do_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = {"path": self.path, "headers": list(self.headers.items()), "body": body.decode("latin-1")}
        answer = json.dumps(told).encode()
        self.send_response_only(201)
        self.send_header("Set-Cookie", "one=1")
        self.send_header("Set-Cookie", "two=2")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_POST = do_HEAD = do_any  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Says nothing."""


@pytest.fixture
def echo() -> Iterator[FaultyProxy]:
    """A proxy that would strike every call, before a server that says what it got."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    with running(upstream=f"http://127.0.0.1:{server.server_address[1]}", settings=Settings(rate=1)) as proxy:
        yield proxy
    server.shutdown()
    thread.join()
    server.server_close()


def test_what_nobody_signed_goes_on_as_it_is(echo: FaultyProxy) -> None:
    headers = {"Host": "api.localhost:4566", "X-Odd": "a, b", "Content-Type": "application/octet-stream"}
    with closing(http.client.HTTPConnection(echo.url.removeprefix("http://"), timeout=5)) as connection:
        for _ in range(2):
            connection.request("POST", "/stage/path%2Fx?a=%20b&a=c", body=b"\x00\xff", headers=headers)
            answer = connection.getresponse()
            told = json.load(answer)
            assert (answer.status, told["path"], told["body"]) == (201, "/stage/path%2Fx?a=%20b&a=c", "\x00\xff")
            assert answer.headers.get_all("Set-Cookie") == ["one=1", "two=2"]
            arrived = dict(told["headers"])
            assert {name: arrived[name] for name in headers} == headers
            assert set(arrived) == {*headers, "Content-Length", "Accept-Encoding"}


def test_a_body_in_chunks_and_a_head_get_through(echo: FaultyProxy) -> None:
    with closing(http.client.HTTPConnection(echo.url.removeprefix("http://"), timeout=5)) as connection:
        connection.request("POST", "/", body=iter([b"one", b"two"]), encode_chunked=True)
        assert json.load(connection.getresponse())["body"] == "onetwo"
        connection.request("HEAD", "/")
        answer = connection.getresponse()
        assert (answer.status, answer.read(), int(answer.headers["Content-Length"]) > 0) == (201, b"", True)


def test_an_upstream_that_is_gone_is_a_502_and_counted() -> None:
    with running(upstream="http://127.0.0.1:9") as proxy:
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{proxy.url}/anything", timeout=5)  # noqa: S310 - our own server
        with caught.value as answer:
            assert answer.code == 502
        assert ask(proxy, "GET")["counters"]["upstream_failures"] == 1


def test_many_clients_at_once_lose_nothing(toy: Toy, proxy: FaultyProxy) -> None:
    clients = [new_client("dynamodb", endpoint_url=proxy.url) for _ in range(8)]

    def write(client: Any, number: int) -> None:
        for count in range(5):
            client.put_item(TableName="things", Item={"id": {"S": f"many-{number}-{count}"}})

    threads = [threading.Thread(target=write, args=(client, number)) for number, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
        clients.pop().close()
    written = [item["id"]["S"] for item in toy.dynamodb.scan(TableName="things")["Items"]]
    assert sum(name.startswith("many-") for name in written) == 40
    assert ask(proxy, "GET")["counters"]["calls"] == 40


def test_it_runs_as_a_command_and_ends_when_told(emulator: Toy) -> None:
    upstream = emulator.dynamodb.meta.endpoint_url
    command = [sys.executable, "-m", "tests.faults.proxy", "--port", "0", "--upstream", upstream, "--rate", "0.05"]
    with subprocess.Popen([*command, "--kinds", "lost,closed"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        with urllib.request.urlopen(f"{url}/_faults", timeout=5) as answer:  # noqa: S310 - our own server
            told = json.load(answer)
        process.terminate()
        assert process.wait(5) == 0
    assert (told["rate"], told["kinds"]) == (0.05, ["lost", "closed"])
