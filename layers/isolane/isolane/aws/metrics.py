"""CloudWatch: the newest value of a metric that AWS keeps by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from isolane.aws.failures import in_our_words

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef

_LOOK_BACK = timedelta(minutes=5)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric of AWS's own, by namespace, name and dimensions; its largest value in a minute."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]


@dataclass(frozen=True)
class Metrics:
    """CloudWatch. Every method is one call."""

    client: CloudWatchClient

    def newest(self, metrics: list[Metric]) -> list[float | None]:
        """The newest value of each in the last five minutes; None where there is none, as on most emulators."""
        now = datetime.now(tz=UTC)
        with in_our_words():
            answer = self.client.get_metric_data(
                MetricDataQueries=[_query(number, metric) for number, metric in enumerate(metrics)],
                StartTime=now - _LOOK_BACK,
                EndTime=now,
                ScanBy="TimestampDescending",
            )
        found = {result["Id"]: result["Values"] for result in answer["MetricDataResults"]}
        return [next(iter(found.get(f"m{number}", [])), None) for number in range(len(metrics))]


def _query(number: int, metric: Metric) -> MetricDataQueryTypeDef:
    return {
        "Id": f"m{number}",
        "MetricStat": {
            "Metric": {
                "Namespace": metric.namespace,
                "MetricName": metric.name,
                "Dimensions": [{"Name": name, "Value": value} for name, value in metric.dimensions.items()],
            },
            "Period": 60,
            "Stat": "Maximum",
        },
    }
