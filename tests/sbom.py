"""Writes the bill of materials of ettlog, as CycloneDX 1.6, from the locked requirements: `python -m tests.sbom`."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any, NamedTuple

import ettlog
from tests.conftest import ROOT

LOCK = ROOT / "requirements" / "ettlog.txt"
BILL = ROOT / "requirements" / "ettlog.cdx.json"
NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


class Pin(NamedTuple):
    """One locked distribution: name, version, the condition it is needed under, and the SHA-256 of its files."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def pins(text: str) -> list[Pin]:
    """Return the pins of a lock file as `pip` reads it, in their order."""
    whole = text.replace("\\\n", " ")
    found = []
    for line in (line for line in whole.splitlines() if line.strip() and not line.startswith("#")):
        match = re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)(?:\s*;\s*([^-]*?))?\s+(?=--hash)", line)
        assert match, line[:80]
        hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
        found.append(Pin(match[1], match[2], (match[3] or "").strip(), hashes))
    return found


def bill() -> dict[str, Any]:
    """Return the bill: ettlog, and every distribution it needs at run time with version, address and hashes."""
    text = LOCK.read_text()
    parts = [_part(pin) for pin in pins(text)]
    own = f"pkg:pypi/ettlog@{ettlog.__version__}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, ettlog.__version__ + text)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": own, "name": "ettlog", "purl": own,
                                   "version": ettlog.__version__, "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": parts,
        "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in parts]}],
    }  # fmt: skip


def _part(pin: Pin) -> dict[str, Any]:
    address = f"pkg:pypi/{pin.name.lower()}@{pin.version}"
    said = [{"name": "marker", "value": pin.marker}] if pin.marker else []
    files = [
        {"type": "distribution", "url": f"https://pypi.org/project/{pin.name}/{pin.version}/#files",
         "hashes": [{"alg": "SHA-256", "content": digest} for digest in pin.hashes]}
    ]  # fmt: skip
    return {"type": "library", "bom-ref": address, "name": pin.name, "version": pin.version, "purl": address,
            "externalReferences": files, **({"properties": said} if said else {})}  # fmt: skip


def written() -> str:
    """Return the bill as the text of a file."""
    return json.dumps(bill(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    BILL.write_text(written())
