"""A server of S3 for tests: moto, which checks signatures with botocore. Prints its address and a key for its bucket, and runs until its
input ends."""

import json
import os
import sys

# Requests that need no signature: those below.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"
os.environ.update(AWS_ACCESS_KEY_ID="setup", AWS_SECRET_ACCESS_KEY="setup", AWS_DEFAULT_REGION="eu-north-1")

import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
url = f"http://{host}:{port}"
iam = boto3.client("iam", endpoint_url=url)
iam.create_user(UserName="headgate")
key = iam.create_access_key(UserName="headgate")["AccessKey"]
policy = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": ["s3:PutObject", "s3:GetObject", "s3:ListBucket", "s3:AbortMultipartUpload"], "Resource": "*"}],
}
iam.put_user_policy(UserName="headgate", PolicyName="export", PolicyDocument=json.dumps(policy))
boto3.client("s3", endpoint_url=url).create_bucket(
    Bucket="records", CreateBucketConfiguration={"LocationConstraint": "eu-north-1"}
)
print(json.dumps({"url": url, "accessKey": key["AccessKeyId"], "secretKey": key["SecretAccessKey"]}), flush=True)
sys.stdin.read()
server.stop()
