"""Makes secrets and personal details as their issuers write them, and the lines in which they get into logs."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


class Planted(NamedTuple):
    """One secret inside a line: what must not be left of the line, and the kind as a sentence names it."""

    kind: str
    secret: str
    line: str


def _of(rng: random.Random, letters: str, length: int) -> str:
    """Draw letters, of which one at least is a digit and one at least is none."""
    drawn = [rng.choice(letters) for _ in range(length)]
    drawn[length // 3] = rng.choice("23456789")
    drawn[2 * length // 3] = rng.choice([letter for letter in letters if letter.isalpha()])
    return "".join(drawn)


def _b64(rng: random.Random, size: int) -> str:
    return base64.b64encode(rng.randbytes(size)).decode()


def _jwt(rng: random.Random) -> str:
    parts = [json.dumps({"alg": "RS256", "kid": _of(rng, HEX, 8)}), json.dumps({"sub": _of(rng, ALNUM, 9)})]
    coded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, base64.urlsafe_b64encode(rng.randbytes(32)).decode().rstrip("=")])


def _neptune(rng: random.Random) -> str:
    told = {"api_address": "https://app.neptune.ai", "api_url": "https://app.neptune.ai", "api_key": _of(rng, HEX, 32)}
    return base64.b64encode(json.dumps(told).encode()).decode()


NAMES = ("marguerite", "t.okonkwo", "jdvries", "wei_zhang", "o-svensson", "priya99")
HOSTS = ("gpu-a100-17.rack4.example.org", "cn0412", "trn2-head", "ip-172-31-9-8.ec2.internal")

BARE: dict[str, Callable[[random.Random], str]] = {
    "Hugging Face": lambda r: "hf_" + _of(r, ALNUM, 34),
    "Hugging Face organisation": lambda r: "api_org_" + _of(r, ALNUM, 34),
    "NVIDIA NGC": lambda r: "nvapi-" + _of(r, ALNUM + "-_", 64),
    "Google API key": lambda r: "AIza" + _of(r, ALNUM + "-_", 35),
    "Google OAuth": lambda r: "ya29." + _of(r, ALNUM + "-_", 60),
    "Google client secret": lambda r: "GOCSPX-" + _of(r, ALNUM, 28),
    "Databricks": lambda r: "dapi" + _of(r, HEX, 32),
    "AWS access key": lambda r: r.choice(["AKIA", "ASIA"]) + _of(r, string.ascii_uppercase + "234567", 16),
    "GitHub": lambda r: r.choice(["ghp_", "gho_", "ghs_", "ghu_"]) + _of(r, ALNUM, 36),
    "GitHub fine-grained": lambda r: "github_pat_" + _of(r, ALNUM, 22) + "_" + _of(r, ALNUM, 59),
    "GitLab": lambda r: "glpat-" + _of(r, ALNUM, 20),
    "Slack": lambda r: r.choice(["xoxb-", "xoxp-"]) + f"{r.randrange(10**11)}-{_of(r, ALNUM, 24)}",
    "JWT": _jwt,
    "Neptune": _neptune,
    "OpenAI": lambda r: "sk-proj-" + _of(r, ALNUM, 48),
    "Anthropic": lambda r: "sk-ant-api03-" + _of(r, ALNUM + "-_", 80),
    "PyPI": lambda r: "pypi-AgEIcHlwaS5vcmc" + _of(r, ALNUM + "-_", 70),
    "npm": lambda r: "npm_" + _of(r, ALNUM, 36),
    "Docker Hub": lambda r: "dckr_pat_" + _of(r, ALNUM + "-_", 27),
    "Stripe": lambda r: "sk_live_" + _of(r, ALNUM, 24),
    "SendGrid": lambda r: f"SG.{_of(r, ALNUM, 22)}.{_of(r, ALNUM, 43)}",
    "Vault": lambda r: "hvs." + _of(r, ALNUM, 24),
    "Grafana": lambda r: f"glsa_{_of(r, ALNUM, 32)}_{_of(r, HEX, 8)}",
    "Sentry": lambda r: "sntrys_" + _of(r, ALNUM, 60),
    "Replicate": lambda r: "r8_" + _of(r, ALNUM, 37),
    "Groq": lambda r: "gsk_" + _of(r, ALNUM, 52),
    "Telegram bot": lambda r: f"{r.randrange(10**8, 10**9)}:AA{_of(r, ALNUM + '-_', 33)}",
    "Azure client secret": lambda r: f"{_of(r, ALNUM, 3)}8Q~{_of(r, ALNUM + '-_', 34)}",
    "DigitalOcean": lambda r: "dop_v1_" + _of(r, HEX, 64),
    "Weights & Biases, new": lambda r: "wandb_v1_" + _of(r, ALNUM, 60),
    "MUNGE": lambda r: "MUNGE:" + _b64(r, 90) + ":",
}
"""Secrets that show what they are by themselves, wherever they stand."""

AROUND = (
    "{}",
    "2024-05-01 10:00:00,123 [INFO] using {} for the hub",
    "+ export HUB={}",
    "[rank3]: ValueError: 401 Client Error for token '{}'",
    "  \"value\": \"{}\",",
    "0: Traceback: login(token={}) failed",
)  # fmt: skip

NAMED: dict[str, tuple[Callable[[random.Random], str], tuple[str, ...]]] = {
    "Weights & Biases": (lambda r: _of(r, HEX, 40), ("WANDB_API_KEY={}", "wandb login --relogin {}", "wandb: api key: {}")),
    "NVIDIA NGC, older": (lambda r: _b64(r, 63), ("NGC_CLI_API_KEY={}", "docker login -u $oauthtoken -p {} nvcr.io")),
    "Comet": (lambda r: _of(r, ALNUM, 25), ("COMET_API_KEY={}", "comet login --api-key {}", "'comet_api_key': '{}'")),
    "AWS secret key": (lambda r: _b64(r, 30), ("AWS_SECRET_ACCESS_KEY={}", "aws_secret_access_key = {}", '"SecretAccessKey": "{}"')),
    "presigned S3 URL": (lambda r: _of(r, HEX, 64), ("GET https://b.s3.amazonaws.com/k?X-Amz-Date=20240501&X-Amz-Signature={}&x=1",)),
    "presigned S3 credential": (lambda r: "Z" + _of(r, ALNUM, 15), ("https://b.s3.amazonaws.com/k?X-Amz-Credential={}%2F20240501%2Fus-east-1",)),
    "Google signed URL": (lambda r: _of(r, HEX, 128), ("https://storage.googleapis.com/b/o?X-Goog-Signature={}",)),
    "Azure SAS": (lambda r: _of(r, ALNUM, 43) + "%3D", ("https://a.blob.core.windows.net/c/b?sv=2022-11-02&sr=b&sig={}&se=2024",)),
    "Azure account key": (lambda r: _b64(r, 64), ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=x",)),
    "bearer token": (lambda r: _of(r, ALNUM + "-_", 40), ("Authorization: Bearer {}", "curl -H 'Authorization: bearer {}' https://h/x", "headers={{'X': 'Bearer {}'}}")),
    "basic credentials": (lambda r: _b64(r, 21), ("authorization: Basic {}", "AUTHORIZATION: basic {}")),
    "password in a URL": (lambda r: _of(r, ALNUM, 14), ("cloning https://bot:{}@git.example.org/x.git", "postgres://u:{}@db/x", "redis://:{}@cache:6379/0")),
    "token in a URL": (lambda r: _of(r, ALNUM, 30), ("git+https://{}@github.example.org/o/r.git", "https://{}@o12.ingest.sentry.io/4")),
    "token in a query": (lambda r: _of(r, ALNUM, 30), ("wget https://h/f?a=1&access_token={}", "https://h/f?token={}&b=2", "https://h/f?api_key={}")),
    "password": (lambda r: _of(r, ALNUM + "!#%", 12), ("DB_PASSWORD={}", "password: {}", "'passwd': '{}'", "mysql --password={} -h db", "rsync_pass={}")),
    "named secret": (lambda r: _of(r, ALNUM, 24), ("CLIENT_SECRET={}", "client_secret: {}", '"secret": "{}"', "--client-secret {}")),
    "named API key": (lambda r: _of(r, ALNUM, 24), ("OPENROUTER_API_KEY={}", "api_key: '{}'", "apiKey={}", "--api-key {}", "x-api-key: {}")),
    "named token": (lambda r: _of(r, ALNUM, 24), ("HUB_TOKEN={}", "auth_token: {}", '"token": "{}"', "--hf-token {}", "access_token={}")),
    "cookie": (lambda r: _of(r, ALNUM, 32), ("Cookie: session={}; a=b", "set-cookie: sid={}; Path=/")),
    "webhook": (lambda r: f"T{_of(r, ALNUM, 8)}/B{_of(r, ALNUM, 8)}/{_of(r, ALNUM, 24)}", ("posting to https://hooks.slack.com/services/{}",)),
    "PEM": (lambda r: _b64(r, 48), ("{}", '"private_key": "-----BEGIN PRIVATE KEY-----\\n{}"', "-----BEGIN RSA PRIVATE KEY----- {}")),
    "e-mail": (lambda r: f"{r.choice(NAMES)}@lab{r.randrange(99)}.example.org", ("mail sent to {}", "Author: X <{}>", "owner={}")),
    "home folder": (lambda r: r.choice(NAMES), ("saving to /home/{}/ckpt/step_10", "cd /mnt/users/{}/run", "/Users/{}/x.py:12", "source=/u/{}/env")),
    "named user": (lambda r: r.choice(NAMES), ("USER={}", "SLURM_JOB_USER={}", "username: {}", "LOGNAME={}")),
    "named host": (lambda r: r.choice(HOSTS), ("HOSTNAME={}", "MASTER_ADDR={}", "hostname: {}", "host={}")),
    "IPv4": (lambda r: ".".join(str(r.randrange(1, 255)) for _ in range(4)).replace("127.", "128.", 1), ("connect {}:29500", "NCCL INFO NET/Socket : Using [0]eth0:{}<0>", "addr={} port")),
    "IPv6": (lambda r: f"fe80::{r.randrange(4096, 65535):x}:{r.randrange(4096, 65535):x}", ("connect [{}]:29500", "Using [0]ib0:{}%ib0<0>", "addr {} port")),
}  # fmt: skip
"""Secrets that only the text around them tells, each with lines it stands in."""

KINDS = (*BARE, *NAMED)


def planted(count: int, seed: int = 7) -> list[Planted]:
    """Return secrets of all kinds in turn, each in a line."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        if kind in BARE:
            secret, line = BARE[kind](rng), rng.choice(AROUND)
        else:
            make, lines = NAMED[kind]
            secret, line = make(rng), rng.choice(lines)
        made.append(Planted(kind, secret, line.format(secret)))
    return made
