"""Which provider the settings name, and which settings cannot work."""

from __future__ import annotations

from typing import Any

import pytest

from images.bedrock_images import BedrockImages
from images.builtin_images import BuiltinImages
from images.providers import build, check
from images.replicate_images import ReplicateImages
from isolane.bindings import Bindings
from isolane.errors import ConfigurationError
from tests.world import settings

REPLICATE = "replicate:black-forest-labs/flux-1.1-pro"


class Parameters:
    """SSM with one secret."""

    def get_parameter(self, **asked: Any) -> Any:
        assert asked["WithDecryption"]
        return {"Parameter": {"Value": f"the secret of {asked['Name']}\n"}}


def bindings(**changes: str) -> Bindings:
    return Bindings(settings(**changes), make_client=lambda service: Parameters() if service == "ssm" else object())


def test_the_builtin_provider_is_what_there_is() -> None:
    assert isinstance(build(bindings()), BuiltinImages)


def test_replicate_is_given_its_model_its_key_and_where_pictures_may_lie() -> None:
    provider = build(bindings(IMAGE_PROVIDER=REPLICATE, IMAGE_API_KEY=" r8-key ", MODEL_TIMEOUT_SECONDS="7"))
    assert isinstance(provider, ReplicateImages)
    assert (provider.base_url, provider.model, provider.key, provider.timeout_s) == (
        "https://api.replicate.com/v1",
        "black-forest-labs/flux-1.1-pro",
        "r8-key",
        7,
    )
    assert provider.download.hosts.dial_to("https://pbxt.replicate.delivery/x.png") is not None
    assert "r8-key" not in repr(provider)


def test_the_key_may_be_a_parameter_of_ssm() -> None:
    app = bindings(IMAGE_API_KEY_PARAMETER="/images/key", OPENAI_API_KEY_PARAMETER="/texts/key")
    assert (app.image_key, app.openai_key) == ("the secret of /images/key", "the secret of /texts/key")
    assert bindings(IMAGE_API_KEY="here", IMAGE_API_KEY_PARAMETER="/images/key").image_key == "here"
    assert bindings().image_key == ""


def test_bedrock_is_given_its_model_and_the_bucket() -> None:
    provider = build(bindings(IMAGE_PROVIDER="bedrock:amazon.nova-canvas-v1:0"))
    assert isinstance(provider, BedrockImages)
    assert (provider.model, provider.bucket.name) == ("amazon.nova-canvas-v1:0", "bucket")


@pytest.mark.parametrize(
    "changes",
    [
        {"IMAGE_PROVIDER": "replicate"},
        {"IMAGE_PROVIDER": "replicate:"},
        {"IMAGE_PROVIDER": "replicate:flux"},
        {"IMAGE_PROVIDER": "replicate:../.."},
        {"IMAGE_PROVIDER": "replicate:a/b/c"},
        {"IMAGE_PROVIDER": "replicate:a/b?c"},
        {"IMAGE_PROVIDER": "replicate:a/b:version"},
        {"IMAGE_PROVIDER": "bedrock:"},
        {"IMAGE_PROVIDER": "openai:dall-e"},
        {"IMAGE_PROVIDER": "Builtin"},
        {"IMAGE_PROVIDER": "builtin,builtin"},
        {"IMAGE_PROVIDER": REPLICATE, "IMAGE_BASE_URL": "api.replicate.com"},
        {"IMAGE_PROVIDER": REPLICATE, "IMAGE_BASE_URL": "file:///etc"},
        {"IMAGE_PROVIDER": REPLICATE, "IMAGE_BASE_URL": "https://user:secret@api.replicate.com"},
        {"IMAGE_PROVIDER": REPLICATE, "IMAGE_HOSTS": ","},
        {"IMAGE_PROVIDER": REPLICATE, "IMAGE_HOSTS": "*"},
        {"IMAGE_HOSTS": "https://replicate.delivery"},
    ],
    ids=lambda changes: ",".join(changes.values()),
)
def test_settings_with_which_no_picture_could_be_made_are_refused(changes: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        check(settings(**changes))
    assert "secret" not in refused.value.message
    with pytest.raises(ConfigurationError):
        build(bindings(**changes))


@pytest.mark.parametrize("name", ["builtin", REPLICATE, "bedrock:amazon.nova-canvas-v1:0", "bedrock:arn:aws:bedrock:x"])
def test_settings_that_can_work_are_let_be(name: str) -> None:
    check(settings(IMAGE_PROVIDER=name))
