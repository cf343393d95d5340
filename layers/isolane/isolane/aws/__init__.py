"""One file for each AWS service; the only files that call a boto3 client."""
