"""What redaction looks for: one row for each kind of secret or personal detail, with how it is known."""

from __future__ import annotations

import re
from typing import NamedTuple

MASK = b"***"


class Kind(NamedTuple):
    """One kind: its name, literals of which a lower-case line must hold one, its regex, what stands in its place."""

    name: str
    marks: tuple[bytes, ...]
    regex: re.Pattern[bytes]
    mask: bytes
    need: re.Pattern[bytes] | None = None
    """What a lower-case line must hold where no literal tells it."""


def _kind(name: str, marks: str, regex: str, mask: bytes = MASK, need: str = "") -> Kind:
    words = tuple(mark.encode() for mark in marks.split())
    return Kind(name, words, re.compile(regex.encode()), mask, re.compile(need.encode()) if need else None)


def _token(name: str, begins: str, regex: str) -> Kind:
    """Return a kind that is told by how it begins; it begins where no word goes on."""
    return _kind(name, begins.lower(), rf"(?<![A-Za-z0-9])(?:{regex})")


_NOTHING = r"(?!(?i:none|null|nil|true|false|unset|redacted|required|missing|invalid|undefined|empty)(?!\w)|\*|<)"
"""What stands behind a name and is no secret."""
_KEYS = (
    r"[Pp](?i:assw(?:or)?d|assphrase|asscode|ass(?<![a-z]pass))|[Ss](?i:ecret(?:[_-]?(?:access)?[_-]?key)?)"
    r"|[Aa](?i:pi[_-]?(?:key|secret)|uth[_-]token|uth(?<=[_\"']auth))|(?<=[a-z]_)pwd|[Cc](?i:redentials?)"
    r"|[Aa](?i:ccess|ccount|uth)[_-]?(?i:key(?:[_-]?id)?)|[Ee](?i:ncryption[_-]?key)|[Ll](?i:icense[_-]?key)"
    r"|[MmPpSs](?i:aster|rivate|igning|torage|hared[_-]?access)[_-]?(?i:key(?:[_-]?id)?)"
)
"""Names of secrets. Each begins with a letter of both cases, which a search finds faster than a case that is ignored."""
_NAMED = r"[\"']?\s*(?:=(?!=)|:(?!/))\s*[bur]{0,2}[\"']?"
"""Between a name and its value: an equals sign or a colon, with or without quotes."""
_VALUE = r"(?:(?:(?i:bearer|basic|token)\s+))?[^\s\"',;&<>(){}\[\]*]"
_B64 = r"[A-Za-z0-9+/_-]"

SECRETS: tuple[Kind, ...] = (
    _kind("PEM block", "-----begin", r"-----BEGIN [A-Z0-9 ]{3,40}-----[^\n]*", b"-----BEGIN ***"),
    _kind("key material", "", r"(?<![\w+/=.-])(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{48,}={0,2}(?![\w+/=.-])", need=r"[a-z0-9+/]{48}"),
    _kind("signature of an S3 URL", "x-amz- awsaccesskeyid", r"(?i)((?:X-Amz-(?:Signature|Credential|Security-Token)|AWSAccessKeyId)(?:=|%3D))[^\s&\"'<>]+", rb"\1***"),
    _kind("signature of a Google URL", "x-goog- googleaccessid", r"(?i)((?:X-Goog-(?:Signature|Credential)|GoogleAccessId)(?:=|%3D))[^\s&\"'<>]+", rb"\1***"),
    _kind("Azure SAS", "sig= sig%3d", r"(?i)([?&;]sig(?:=|%3D))[^\s&\"'<>]+", rb"\1***"),
    _kind("secret in a query", "token= key= secret= signature= password= code=", r"(?i)([?&](?:access_|auth_|id_|refresh_|private_|api_?)?(?:token|key|secret|signature|password|code)=)[^\s&\"'<>]+", rb"\1***"),
    _kind("name and password in a URL", "://", r"([A-Za-z0-9+.-]://)[^\s/@:\"'<>]*:[^\s/@\"'<>]*@", rb"\1***@"),
    _kind("name or token in a URL", "://", r"([A-Za-z0-9+.-]://)[^\s/@:\"'<>]{2,}@", rb"\1***@"),
    _kind("authorization header", "authorization", r"(?i)(\b(?:proxy-)?authorization[\"']?\s*[=:]\s*[\"']?)(?:[A-Za-z-]{2,20}\s+)?[^\s\"',;]+", rb"\1***"),
    _kind("bearer token", "bearer", r"(?i)(\bbearer[\s:=]+)[A-Za-z0-9._~+/-]{8,}=*", rb"\1***"),
    _kind("basic credentials", "basic", r"(?i)(\bbasic\s+)(?=[A-Za-z0-9+/]*[A-Z0-9=])[A-Za-z0-9+/]{12,}={0,2}", rb"\1***"),
    _kind("cookie", "cookie", r"(?i)(\b(?:set-)?cookie[\"']?\s*[=:]\s*)[^\s].*", rb"\1***"),
    _kind("netrc password", "password login", r"(\b(?:login\s+\S+\s+)?password\s+)(?=\S*\d)[^\s:=]{8,}", rb"\1***"),
    _kind("sshpass", "sshpass", r"(\bsshpass\s+-p\s*)\S+", rb"\1***"),
    _kind("secret on a command line", "-pass -token -secret -key -credential _pass _token _secret _key", r"(--?(?:[A-Za-z][A-Za-z_-]{0,30}?[_-])??(?i:pass(?:word|wd|phrase)?|token|secret|api[_-]?key|(?:access|account|auth|private|secret)[_-]?key|credentials?)[ =]+[\"']?)" + _NOTHING + r"[^\s\"'-][^\s\"']{5,}", rb"\1***"),
    _kind("named secret", "pass _pwd secret key credential auth", rf"((?:{_KEYS})(?:[_-](?:id|value|str(?:ing)?))?{_NAMED})(?!\d{{1,9}}\b|\d*\.\d+\b|[A-Z]+(?:_[A-Z]+)+\b){_NOTHING}{_VALUE}{{4,}}", rb"\1***"),
    _kind("named token", "token", rf"([Tt](?i:oken)(?<!(?i:pad|eos|bos|unk|cls|sep|eot|eod|eom|new)[_-]\w{{5}})(?<!(?i:mask|last|next|stop)[_-]\w{{5}})(?<!(?i:image|first)[_-]\w{{5}})(?<!(?i:special)[_-]\w{{5}}){_NAMED}){_NOTHING}(?=[^\s\"',;]{{20}}|[^\s\"',;]*\d)(?=[^\s\"',;]*[A-Za-z])(?!\d[\d.,]*[a-zA-Z]{{0,3}}\b){_VALUE}{{4,}}", rb"\1***"),
    _token("JWT", "eyJ", r"eyJ[\w-]{8,2048}+\.[\w-]{4,}(?:\.[\w-]*)?"),
    _token("Neptune, Grafana and like JSON in base64", "eyJhcGlf eyJrIjoi eyJhdXRo", rf"eyJ(?:hcGlf|rIjoi|hdXRo){_B64}{{16,}}=*"),
    _token("Hugging Face", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{16,}"),
    _kind("Weights & Biases", "wandb", r"(?i)(wandb[^\n]{0,20}\blogin\b[^\n]{0,40}?|wandb[^\n]{0,40}\bkey\b[^\n]{0,12}?)\b[0-9a-f]{40}\b|wandb_v\d_[A-Za-z0-9_]{20,}", rb"\1***"),
    _token("NVIDIA NGC", "nvapi-", r"nvapi-[\w-]{20,}"),
    _kind("NVIDIA NGC, older", "ngc nvcr docker", r"(?i)((?:ngc|nvcr|\$oauthtoken)[^\n]{0,60}?[\s=:'\"])(?=[A-Za-z0-9+/]*\d)[A-Za-z0-9+/]{76,}={0,2}", rb"\1***"),
    _token("Google API key", "AIza", r"AIza[\w-]{30,}"),
    _token("Google OAuth", "ya29. gocspx- 1//0", r"ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,}|1//0[\w-]{24,}"),
    _kind("Azure account key", "accountkey sharedaccesskey", r"(?i)((?:Account|SharedAccess)Key=)[A-Za-z0-9+/]{16,}={0,2}", rb"\1***"),
    _token("Azure client secret", "8q~ 7q~", r"[\w~.-]{3}[78]Q~[\w~.-]{20,}"),
    _token("AWS access key", "akia asia aroa aida abia acca", r"(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,}\b"),
    _token("Databricks", "dapi", r"dapi[0-9a-f]{32}(?:-\d+)?\b"),
    _kind("Comet", "comet", r"(?i)(comet[^\n]{0,30}\b(?:api[ _-]?key|login)\b[^\n]{0,12}?)\b(?=[A-Za-z]*\d)[A-Za-z0-9]{25,}\b", rb"\1***"),
    _token("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"),
    _token("GitLab", "glpat- gldt- glptt- glrt- glsoat- glcbt- glimt- glft- glagent- gloas-", r"gl(?:pat|dt|ptt|rt|soat|cbt|imt|ft|agent|oas)-[\w.-]{16,}"),
    _token("Slack", "xox xapp-", r"(?:xox[abceoprs]|xapp)-[\w-]{8,}"),
    _kind("webhook", "hooks. webhook", r"(https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|(?:\w+\.)?discord(?:app)?\.com/api/webhooks|\S{1,60}\.webhook\.office\.com/\w+)/)\S+", rb"\1***"),
    _token("OpenAI, Anthropic and like keys", "sk-", r"sk-(?:proj-|svcacct-|ant-|or-|lf-)?[\w-]{20,}"),
    _token("Stripe", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,}"),
    _token("PyPI", "pypi-", r"pypi-[\w-]{32,}"),
    _token("npm", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    _token("Docker Hub", "dckr_", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    _token("SendGrid", "SG.", r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    _token("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{32,}"),
    _token("Vault and Terraform", "hvs. hvb. hvr. .atlasv1.", r"hv[sbr]\.[\w-]{20,}|[A-Za-z0-9]{10,}\.atlasv1\.[\w-]{20,}"),
    _token("Grafana", "glsa_ glc_", r"gls?[ac]_[\w+/=-]{20,}"),
    _token("New Relic", "NRAK- NRII-", r"NR(?:AK|II)-[\w-]{20,}"),
    _token("Sentry", "sntrys_ sntryu_", r"sntry[su]_[\w+/=-]{20,}"),
    _token("model hosts", "r8_ gsk_ pcsk_ pplx- xai- lsv2_ rpa_ fw_ tgp_v1_ csk-", r"(?:r8_|gsk_|pcsk_|pplx-|xai-|lsv2_(?:pt|sk)_|rpa_|fw_|tgp_v1_|csk-)(?=[\w-]{0,64}\d)[\w-]{24,}"),
    _token("Tailscale", "tskey-", r"tskey-[a-z]+-[\w-]{12,}"),
    _token("Atlassian, Linear, Notion, Shopify", "ATATT3 lin_api_ ntn_ shpat_", r"(?:ATATT3|lin_api_|ntn_|shpat_)[\w=-]{24,}"),
    _kind("Telegram bot", ":aa", r"(?<![\w:])\d{8,10}:AA[\w-]{32,}"),
    _kind("MUNGE credential", "munge:", r"MUNGE:[A-Za-z0-9+/=]{16,}:?"),
    _token("Artifactory", "AKCp cmVmdGtu", r"(?:AKCp|cmVmdGtu)[A-Za-z0-9]{40,}"),
    _token("age and WireGuard keys", "age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
)  # fmt: skip
"""Secrets: who has one can do something with it."""

PERSONAL: tuple[Kind, ...] = (
    _kind("e-mail address", "@", r"[\w.+%-]{0,64}[A-Za-z0-9][.+%-]{0,4}@(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,}\b", b"<email>"),
    _kind("user at a host", "@", r"(?:(?<=\bssh )|(?<=\bscp )|(?<=\brsync )|(?<=\bsftp ))[\w.-]+@[\w.-]+", b"<user>@<host>"),
    _kind("user of a home folder", "/home/ /users/ /u/ :\\users\\", r"((?:/(?:home|Users|users|u)/|(?i::\\users\\))(?:(?:home|users)/)?)(?!<)[^/\\\s\"',:;()\[\]{}<>|=&]+", rb"\1<user>"),
    _kind("named user", "user login logname", r"([UuLl](?<![A-Za-z]\w)(?i:ser_?name|ser|ogname|ogin)" + _NAMED + r")(?!<|\d+\b)" + _NOTHING + r"[A-Za-z_.][\w.@\\-]+", rb"\1<user>"),
    _kind("named host", "host node addr", r"([HhNnMm](?<![A-Za-z]\w)(?i:ost_?name|ost|ode_?name|ode_?list|aster_addr)" + _NAMED + r")(?!<|\d+\b|(?i:localhost)\b)" + _NOTHING + r"[A-Za-z0-9][\w.,\[\]-]+", rb"\1<host>"),
    _kind("IPv4 address", "", r"(?<![\w.+-])(?<!ersion )(?<!ersion: )(?!127\.|0\.0\.0\.0|255\.)(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]\d|\d|-\w|\+)", b"<ip>", need=r"\.\d{1,3}\.\d{1,3}\.\d"),
    _kind("IPv6 address", "", r"(?i)(?<![\w.])(?=[0-9a-f:]{0,45}\d)(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}:){1,6}:(?:[0-9a-f]{1,4}:){0,5}[0-9a-f]{1,4}|::(?:ffff:)(?:\d{1,3}\.){3}\d{1,3})(?![\w:])", b"<ip>", need=r":[0-9a-f]{0,4}:[0-9a-f]{0,4}"),
)  # fmt: skip
"""What tells who somebody is, or where."""

KINDS = (*SECRETS, *PERSONAL)
