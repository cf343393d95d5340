"""Who can make pictures: the builtin one that needs nothing, Replicate and its like, and Bedrock."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from images import hosts
from images.builtin_images import BuiltinImages
from images.provider import Provider
from images.rated import RatedProvider
from isolane.errors import ConfigurationError
from isolane.http import checked_url
from isolane.model_rate import may_ask

if TYPE_CHECKING:
    from isolane.bindings import Bindings
    from isolane.settings import Settings

_NAME = re.compile(r"builtin|replicate:[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*|bedrock:[^,\s]+", re.ASCII)


def check(settings: Settings) -> None:
    """Raises ConfigurationError for settings with which no picture could ever be made."""
    if _NAME.fullmatch(settings.image_provider) is None:
        raise ConfigurationError("ImageProvider is builtin, replicate:OWNER/NAME or bedrock:MODEL.")
    allowed = hosts.parse(settings.image_hosts)
    if settings.image_provider.startswith("replicate:"):
        _check_url(settings.image_base_url)
        if allowed.is_empty:
            raise ConfigurationError("ImageProvider names replicate:…, which needs a host in ImageHosts (IMAGE_HOSTS).")


def _check_url(url: str) -> None:
    try:
        checked_url(url)
    except ConfigurationError:
        raise ConfigurationError(
            "ImageBaseUrl (IMAGE_BASE_URL) is a URL of http or https, up to and with the version of the API."
        ) from None


def build(app: Bindings) -> Provider:
    """The provider that the settings name. Raises ConfigurationError."""
    check(app.settings)
    kind, _, model = app.settings.image_provider.partition(":")
    if kind == "builtin":
        return BuiltinImages()
    provider = _replicate(app, model) if kind == "replicate" else _bedrock(app, model)
    if app.model_rate is None:
        return provider
    return RatedProvider(provider=provider, may_ask=may_ask(app.settings.image_provider, rate=app.model_rate))


def _replicate(app: Bindings, model: str) -> Provider:
    from images.download import Download  # noqa: PLC0415 - only where it is named
    from images.replicate_images import ReplicateImages  # noqa: PLC0415 - the same

    settings = app.settings
    return ReplicateImages(
        base_url=settings.image_base_url,
        model=model,
        key=app.image_key,
        timeout_s=settings.model_timeout_s,
        download=Download(hosts=hosts.parse(settings.image_hosts), timeout_s=settings.model_timeout_s),
    )


def _bedrock(app: Bindings, model: str) -> Provider:
    from images.bedrock_images import BedrockImages  # noqa: PLC0415 - only where it is named

    return BedrockImages(models=app.models, bucket=app.bucket, model=model, timeout_s=app.settings.model_timeout_s)
