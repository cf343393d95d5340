"""Pictures from a provider with good manners and bad ones: one outcome each, and every request counted."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from images.pictures import Picture, checked
from images.provider import Job, Made, NoPicture, NotMade, Provider, Waiting, Working
from images.providers import build
from images.replicate_answers import MAX_BYTES
from isolane.bindings import Bindings
from isolane.deadline import Deadline
from isolane.errors import OutgoingError, TimedOut, Unreachable
from isolane.model_errors import ModelBusy, ModelRejected
from tests.doubles import manners, steps
from tests.doubles.prediction_server import PredictionServer
from tests.pictures import bomb, header, of_chunks, png, sample
from tests.waiting import wait_until
from tests.world import settings

KEY = "r8-0123456789"
JOB = Job(key="task-1", prompt="a red fox in the snow 海")
SECRET = "secret-of-the-provider"


@pytest.fixture
def server() -> Iterator[PredictionServer]:
    with PredictionServer() as running:
        running.play(manners.at_once())
        yield running


def provider(server: PredictionServer, *, timeout_s: float = 10, hosts: str | None = None, key: str = KEY) -> Provider:
    changes = {
        "IMAGE_PROVIDER": "replicate:somebody/something",
        "IMAGE_BASE_URL": server.base_url,
        "IMAGE_API_KEY": key,
        "IMAGE_HOSTS": server.url if hosts is None else hosts,
        "MODEL_TIMEOUT_SECONDS": str(timeout_s),
    }
    return build(Bindings(settings(**changes), make_client=lambda _: object()))


def submit(server: PredictionServer, *, within_s: float = 30, **other: Any) -> str:
    return provider(server, **other).submit(JOB, deadline=Deadline.after(within_s))


def ask(server: PredictionServer, prediction_id: str, *, within_s: float = 30, **other: Any) -> Any:
    return provider(server, **other).ask(prediction_id, JOB, deadline=Deadline.after(within_s))


def outcome(server: PredictionServer, **other: Any) -> Picture:
    """The picture of a prediction that ends at once; NoPicture also where the provider says that there is none."""
    found = ask(server, submit(server), **other)
    if isinstance(found, NotMade):
        raise NoPicture(found.problem)
    assert isinstance(found, Made)
    return checked(found.collect(Deadline.after(30)))


def test_a_picture_is_submitted_asked_for_and_collected(server: PredictionServer) -> None:
    server.play(manners.good(starting_s=0.5, processing_s=0.5))
    prediction_id = submit(server)
    seen: list[type] = []

    def made() -> Made | None:
        found = ask(server, prediction_id)
        seen.append(type(found))
        return found if isinstance(found, Made) else None

    found = wait_until(made, description="the picture is there")
    assert list(dict.fromkeys(seen)) == [Waiting, Working, Made]
    picture = checked(found.collect(Deadline.after(10)))
    assert (picture.content_type, picture.width, picture.height) == ("image/png", 64, 48)


def test_a_submit_is_what_replicate_documents_with_our_key_of_idempotency(server: PredictionServer) -> None:
    submit(server)
    [request] = server.requests
    assert (request.method, request.path) == ("POST", "/v1/models/somebody/something/predictions")
    assert request.json == {"input": {"prompt": JOB.prompt}}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["idempotency-key"] == JOB.key
    assert request.headers["content-type"] == "application/json"
    assert "prefer" not in request.headers


def test_two_submits_of_one_job_are_one_prediction_where_keys_are_heeded(server: PredictionServer) -> None:
    assert submit(server) == submit(server)
    assert len(server.predictions.made_for(JOB.key)) == 1
    server.play(manners.at_once(heeds_keys=False))
    other = Job(key="task-2", prompt="x")
    made = [provider(server).submit(other, deadline=Deadline.after(30)) for _ in range(2)]
    assert made == server.predictions.made_for("task-2")
    assert len(set(made)) == 2


def test_the_key_of_the_api_never_reaches_the_pictures_host(server: PredictionServer) -> None:
    outcome(server)
    *api, picture = server.requests
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in api)
    assert picture.path.startswith("/pictures/")
    assert "authorization" not in picture.headers
    assert KEY not in str(picture.headers) + picture.path


def test_an_endpoint_without_a_key_gets_none(server: PredictionServer) -> None:
    submit(server, key="")
    assert "authorization" not in server.requests[0].headers


def test_a_prediction_that_was_made_though_the_answer_was_500_is_found_by_its_key(server: PredictionServer) -> None:
    server.play(manners.at_once(submit=steps.status(500), makes=True))
    with pytest.raises(ModelBusy):
        submit(server)
    assert [submit(server)] == server.predictions.made_for(JOB.key)


BAD_SUBMITS: dict[str, tuple[steps.Step, type[OutgoingError], str]] = {
    **{
        f"status {code}": (steps.status(code, {"detail": SECRET}), ModelBusy, "model_busy")
        for code in (408, 409, 425, 429, 500, 502, 503)
    },
    **{
        f"status {code}": (steps.status(code, {"detail": SECRET}), ModelRejected, "model_rejected")
        for code in (401, 402, 403, 404, 405)
    },
    **{f"status {code}": (steps.status(code, {"detail": SECRET}), NoPicture, "refused") for code in (400, 413, 422)},
    "a used up quota": (steps.quota_exhausted(), ModelRejected, "model_rejected"),
    "a used up quota, said otherwise": (
        steps.failure(400, "billing_hard_limit_reached"),
        ModelRejected,
        "model_rejected",
    ),
    "a filter": (steps.failure(400, "content_policy_violation"), NoPicture, "refused"),
    "a redirect": (steps.redirect("http://169.254.169.254/"), ModelRejected, "model_rejected"),
    "a page": (steps.error_page(200), ModelBusy, "model_busy"),
    "an error page": (steps.error_page(), ModelBusy, "model_busy"),
    "nothing": (steps.status(204), ModelBusy, "model_busy"),
    "no id": (steps.status(201, {"status": "starting"}), ModelBusy, "model_busy"),
    "an id that is a path": (steps.status(201, {"id": "../../x", "status": "starting"}), ModelBusy, "model_busy"),
    "an id that is long": (steps.status(201, {"id": "x" * 65, "status": "starting"}), ModelBusy, "model_busy"),
    "an answer of a megabyte": (steps.status(201, {"id": "x", "logs": "x" * MAX_BYTES}), ModelBusy, "model_busy"),
    "an answer without end": (steps.huge_body(framing="close"), ModelBusy, "model_busy"),
    "a bomb": (steps.gzip_bomb(), ModelBusy, "model_busy"),
    "a broken connection": (steps.reset(), Unreachable, "unreachable"),
    "a cut answer": (steps.cut_body('{"id"'), Unreachable, "unreachable"),
    "silence": (steps.silent(), TimedOut, "timed_out"),
    "a byte at a time": (steps.slow_body(every_s=0.05), TimedOut, "timed_out"),
}


@pytest.mark.parametrize(("step", "kind", "code"), BAD_SUBMITS.values(), ids=BAD_SUBMITS)
def test_a_submit_that_fails_is_one_request_and_one_outcome(
    server: PredictionServer,
    step: steps.Step,
    kind: type[OutgoingError],
    code: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server.play(manners.submits(step))
    with pytest.raises(OutgoingError) as failed:
        submit(server, timeout_s=0.5 if step["kind"] in steps.ENDLESS else 20)
    assert (type(failed.value), failed.value.code) == (kind, code)
    assert len(server.requests) == 1
    shown = "".join(traceback.format_exception(failed.value)) + caplog.text
    assert KEY not in shown
    assert SECRET not in shown
    assert "red fox" not in shown


@pytest.mark.parametrize("code", [429, 503])
def test_the_providers_own_wait_is_passed_on(server: PredictionServer, code: int) -> None:
    server.play(manners.submits(steps.status(code, headers={"Retry-After": "7"})))
    with pytest.raises(ModelBusy) as failed:
        submit(server)
    assert failed.value.retry_after_s == 7


def test_an_id_of_odd_letters_is_never_asked_for(server: PredictionServer) -> None:
    assert ask(server, "../models/x") is None
    provider(server).cancel("../models/x", deadline=Deadline.after(30))
    assert server.requests == []


def test_a_prediction_that_is_lost_is_none(server: PredictionServer) -> None:
    server.play(manners.lost())
    prediction_id = submit(server)
    assert ask(server, prediction_id) is None
    assert ask(server, "nobodys") is None


BAD_ASKS: dict[str, tuple[steps.Step, type[OutgoingError]]] = {
    **{f"status {code}": (steps.status(code), ModelBusy) for code in (408, 409, 425, 429, 500, 503)},
    **{f"status {code}": (steps.status(code), ModelRejected) for code in (401, 402, 403)},
    "a page": (steps.error_page(200), ModelBusy),
    "another prediction": (steps.status(200, {"id": "x", "status": "succeeded", "output": "https://a/"}), ModelBusy),
    "an answer without end": (steps.huge_body(framing="chunked"), ModelBusy),
    "a redirect": (steps.redirect("http://169.254.169.254/"), ModelRejected),
    "a broken connection": (steps.reset(), Unreachable),
    "silence": (steps.silent(), TimedOut),
}


@pytest.mark.parametrize(("step", "kind"), BAD_ASKS.values(), ids=BAD_ASKS)
def test_a_question_that_is_not_answered_says_nothing_of_the_prediction(
    server: PredictionServer, step: steps.Step, kind: type[OutgoingError]
) -> None:
    server.play(manners.asks(step))
    prediction_id = submit(server)
    with pytest.raises(OutgoingError) as failed:
        ask(server, prediction_id, timeout_s=0.5 if step["kind"] in steps.ENDLESS else 20)
    assert type(failed.value) is kind
    assert len(server.requests) == 2


def serving(data: bytes, **headers: str) -> manners.Manners:
    return manners.shows(
        {**steps.status(200, headers={"Content-Type": "image/png", **headers}), "body_hex": data.hex()}
    )


METADATA = "http://169.254.169.254/latest/meta-data/"
HOSTILE: dict[str, tuple[manners.Manners, str]] = {
    "it fails": (manners.fails(starting_s=0, processing_s=0), "generation_failed"),
    "it fails by a filter": (
        manners.fails(f"NSFW content detected. {SECRET}", starting_s=0, processing_s=0),
        "refused",
    ),
    "it is called off": (manners.at_once(ends="canceled"), "generation_canceled"),
    "it is given up before it begins": (manners.at_once(ends="aborted"), "generation_canceled"),
    "no output": (manners.puts_out(None), "no_output"),
    "an empty list": (manners.puts_out([]), "no_output"),
    "an object": (manners.puts_out({"image": manners.PICTURE}), "no_output"),
    "a redirect to the metadata service": (manners.shows(steps.redirect(METADATA)), "picture_forbidden"),
    "the metadata service": (manners.puts_out(METADATA), "picture_forbidden"),
    "a private address": (manners.puts_out("https://10.0.0.1/a.png"), "picture_forbidden"),
    "loopback, as a number": (manners.puts_out("http://2130706433/a.png"), "picture_forbidden"),
    "loopback, in six": (manners.puts_out("http://[::ffff:127.0.0.1]/a.png"), "picture_forbidden"),
    "a file": (manners.puts_out("file:///etc/passwd"), "picture_forbidden"),
    "another host": (manners.puts_out("https://example.com/a.png"), "picture_forbidden"),
    "a URL without end": (manners.puts_out(f"https://a.example/{'x' * 9_000}"), "picture_forbidden"),
    "a text": (manners.puts_out("here is your picture"), "picture_forbidden"),
    "a page": (serving(b"<!doctype html><h1>sorry</h1>"), "picture_invalid"),
    "JSON": (serving(b'{"detail": "sorry"}'), "picture_invalid"),
    "an SVG": (serving(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), "picture_invalid"),
    "a GIF": (serving(sample("still.gif")), "picture_invalid"),
    "nothing": (serving(b""), "picture_invalid"),
    "a picture that was cut": (serving(png()[:-20]), "picture_invalid"),
    "a bomb": (serving(bomb()), "picture_invalid"),
    "a promise of a billion pixels": (serving(of_chunks(header(32_000, 32_000))), "picture_invalid"),
    "a compressed bomb": (manners.shows(steps.gzip_bomb()), "picture_too_large"),
    "a stream without end": (manners.shows(steps.huge_body(framing="close")), "picture_too_large"),
    "not found": (manners.shows(steps.status(404)), "picture_gone"),
    "gone": (manners.shows(steps.status(410)), "picture_gone"),
    "a link that has expired": (manners.shows(steps.status(403)), "picture_gone"),
    "a picture in the answer that is none": (manners.puts_out("data:image/png;base64,PGh0bWw+"), "picture_invalid"),
}


@pytest.mark.parametrize(("told", "code"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_provider_gets_one_named_failure(
    server: PredictionServer, told: manners.Manners, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.play(told)
    started_s = time.monotonic()
    with pytest.raises(NoPicture) as failed:
        outcome(server)
    assert (failed.value.code, failed.value.problem.code, failed.value.retryable) == (code, code, False)
    assert time.monotonic() - started_s < 20
    shown = "".join(traceback.format_exception(failed.value)) + caplog.text
    assert SECRET not in shown
    assert KEY not in shown


@pytest.mark.parametrize("hosts", ["replicate.delivery", "localhost.example"])
def test_a_server_that_is_not_on_the_list_is_not_asked_for_its_pictures(server: PredictionServer, hosts: str) -> None:
    with pytest.raises(NoPicture) as failed:
        outcome(server, hosts=hosts)
    assert failed.value.code == "picture_forbidden"
    assert not any(request.path.startswith("/pictures/") for request in server.requests)


def test_a_picture_may_be_a_jpeg_or_a_webp_whatever_its_server_says(server: PredictionServer) -> None:
    for name, content_type in (("progressive.jpg", "image/jpeg"), ("alpha.webp", "image/webp")):
        server.play(serving(sample(name)))
        prediction = provider(server).submit(Job(key=name.replace(".", "-"), prompt="x"), deadline=Deadline.after(30))
        found = ask(server, prediction)
        assert checked(found.collect(Deadline.after(10))).content_type == content_type


def test_canceling_stops_a_prediction_and_is_no_error_where_there_is_none(server: PredictionServer) -> None:
    server.play(manners.good(processing_s=60))
    prediction_id = submit(server)
    for each in (prediction_id, prediction_id, "nobodys"):
        provider(server).cancel(each, deadline=Deadline.after(30))
    assert isinstance(ask(server, prediction_id), NotMade)
    assert [request.method for request in server.requests[1:4]] == ["POST"] * 3


@pytest.mark.parametrize(("code", "kind"), [(429, ModelBusy), (503, ModelBusy), (401, ModelRejected)])
def test_a_cancel_that_fails_says_so(server: PredictionServer, code: int, kind: type[OutgoingError]) -> None:
    server.play(manners.good(cancel=steps.status(code)))
    prediction_id = submit(server)
    with pytest.raises(kind):
        provider(server).cancel(prediction_id, deadline=Deadline.after(30))


def test_a_late_success_is_a_success_for_whoever_still_asks(server: PredictionServer) -> None:
    server.play(manners.late(processing_s=1.0, starting_s=0))
    prediction_id = submit(server)
    provider(server).cancel(prediction_id, deadline=Deadline.after(30))
    assert isinstance(ask(server, prediction_id), Working)
    wait_until(lambda: isinstance(ask(server, prediction_id), Made), description="it succeeds all the same")


def test_without_time_nothing_is_sent(server: PredictionServer) -> None:
    with pytest.raises(TimedOut):
        submit(server, within_s=0)
    with pytest.raises(TimedOut):
        ask(server, "x", within_s=0)
    assert server.requests == []
