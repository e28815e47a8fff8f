"""Hashes and encrypts with the functions of LiteLLM: reads {"tokens": [...], "secrets": [...]} and prints each with its result."""

import json
import sys

import litellm.proxy.proxy_server as proxy
from litellm.proxy.common_utils.encrypt_decrypt_utils import encrypt_value_helper
from litellm.proxy.utils import hash_token

texts = json.load(sys.stdin)
legacy = {text: encrypt_value_helper(text) for text in texts["secrets"]}
proxy.general_settings["encryption_algorithm"] = "aes-256-gcm"
print(json.dumps({
    "hashed": {token: hash_token(token) for token in texts["tokens"]},
    "encrypted": legacy,
    "gcm": {text: encrypt_value_helper(text) for text in texts["secrets"]},
}))
