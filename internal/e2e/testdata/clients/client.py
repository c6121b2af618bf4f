"""Sends one request and prints the status of the last answer.

Arguments: method, URL, content type. The body comes from standard input.
"""

import sys

import requests

method, url, content_type = sys.argv[1:]
body = sys.stdin.buffer.read()
headers = {"Content-Type": content_type} if body else {}
print(requests.request(method, url, data=body or None, headers=headers, timeout=20).status_code)
