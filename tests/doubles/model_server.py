"""A model endpoint with bad manners: OpenAI's and Bedrock's, for completions and embeddings, answered by a script.

In a test:            with ModelServer() as server: server.play(score(80), status(500)); … server.base_url
As a process:         python -m tests.doubles.model_server --port 8099
Over HTTP, either:    PUT /script {"steps": [{"kind": "score", "score": 80}, …]}     each request takes the next step,
                                                                                     and the last one stays
                      GET /requests -> {"requests": […], "maxConcurrency": n}        DELETE /requests forgets them
"""

from __future__ import annotations

import json
import re
import ssl
from itertools import pairwise
from typing import Any

from tests.doubles.server import ANSWERS, Answer, Handler, Record, Recorded, Server, main
from tests.doubles.steps import Step, score

__all__ = ["ModelServer", "Recorded"]

_NONCE = re.compile(r"<<<TEXT ([0-9a-f]{16,})>>>")


class Book(Record):
    """The script and the record."""

    def __init__(self) -> None:
        super().__init__()
        self.play(score(80))

    def play(self, *steps: Step) -> None:
        """Each request takes the next step; the last one stays."""
        with self.lock:
            self._steps = list(steps)

    def next_step(self) -> Step:
        with self.lock:
            return self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]


class ModelServer(Server):
    """A model endpoint on 127.0.0.1; `with` starts and stops it."""

    def __init__(self, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.book = Book()
        super().__init__(_Handler, self.book, port=port, tls=tls)

    def play(self, *steps: Step) -> None:
        self.book.play(*steps)


class _Handler(Handler):
    asked: str = ""
    """The body of the request."""

    def answer(self, body: str) -> None:
        self.asked = body
        step = self.record.next_step()
        self.record.stopping.wait(step.get("delay_s", 0))
        _ANSWERS[step["kind"]](self, step)

    def script(self, told: Any) -> None:
        self.record.play(*told["steps"])


def _content(handler: _Handler, step: Step) -> None:
    """A model's answer: the words of the step, with the nonce it was given, in the shape of the API asked."""
    found = _NONCE.search(handler.asked)
    text = step["content"].replace("{nonce}", found[1] if found else "")
    if handler.path.endswith("/converse"):
        message = {"role": "assistant", "content": [{"text": text}]}
        stop = step.get("stop", "end_turn")
        usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        return handler.reply_json(
            {"output": {"message": message}, "stopReason": stop, "usage": usage, "metrics": {"latencyMs": 1}}
        )
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **step.get("message", {})},
        "finish_reason": step.get("stop", "stop"),
    }
    return handler.reply_json({"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]})


def _embeddings(handler: _Handler, step: Step) -> None:
    """A vector for each text, in the shape of the API asked: Titan's for one, OpenAI's for many."""
    asked = json.loads(handler.asked)
    texts = asked["input"] if "input" in asked else [asked["inputText"]]
    if step["refuses"] and any(step["refuses"] in text for text in texts):
        message = f"The text is no good: {texts[0]}"
        return handler.reply_json(
            {"error": {"code": "invalid_input", "message": message}, "message": message}, status=400
        )
    vectors = [_vector(text, step=step, dimensions=asked.get("dimensions", 1_024)) for text in texts]
    if "inputText" in asked:
        return handler.reply_json({"embedding": vectors[0], "inputTextTokenCount": 3})
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return handler.reply_json({"object": "list", "data": data[::-1], "model": asked["model"]})


def _vector(text: str, *, step: Step, dimensions: int) -> Any:
    """How often each pair of letters is in the text, in one of so many places; or what the step has in its place."""
    for marked, value in step["bad"].items():
        if marked in text:
            return value
    vector = [0.0] * dimensions
    for first, second in pairwise(f" {text.lower()} "):
        vector[(ord(first) * 31 + ord(second)) % dimensions] += 1.0
    return vector


_ANSWERS: dict[str, Answer] = {**ANSWERS, "content": _content, "embeddings": _embeddings}


if __name__ == "__main__":
    main(ModelServer, description="A model endpoint with bad manners, on 127.0.0.1.", port=8099)
