"""What every test stands on: no way to a real account, and parts with random names."""

import os

# First of all, before anything that could make a client: made-up keys, a region, nobody's profile, and an address at
# which nothing answers, so that a client made by mistake fails instead of reaching an account.
os.environ.update(
    {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "POWERTOOLS_SERVICE_NAME": "isolane",
        "POWERTOOLS_METRICS_NAMESPACE": "isolane",
        "POWERTOOLS_METRICS_DISABLED": "true",
    }
)
