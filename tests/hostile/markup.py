"""Names that a page could take for its own: scripts, attributes, links, entities, templates, pictures."""

from __future__ import annotations

PAYLOADS = (
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>", "<svg><script>alert(1)</script></svg>", "\"><script>alert(1)</script>", "'><img src=x>",
    "javascript:alert(1)", "<a href=javascript:alert(1)>x</a>", "<iframe src=//example.invalid>", "<object data=x>",
    "<embed src=x>", "<link rel=stylesheet href=//example.invalid/x.css>", "<style>@import'//example.invalid'</style>",
    "<meta http-equiv=refresh content=0>", "<base href=//example.invalid>", "<form action=x><input></form>",
    "<body onload=alert(1)>", "<details open ontoggle=alert(1)>", "<video src=x onerror=alert(1)>", "&lt;b&gt;", "&amp;",
    "&#x3c;script&#x3e;", "&nbsp", "{{7*7}}", "{% raw %}", "${7*7}", "<!--", "-->", "<![CDATA[x]]>", "</title>",
    "</textarea>", "<template><b>", "<math><mi>", "\" onmouseover=alert(1) x=\"", "' onfocus=alert(1) '", "`x`", "]]>",
    "$\\frac{1}{2}$", "<!DOCTYPE x>",
)  # fmt: skip
"""Printable all of them, so that the page must show them letter by letter."""
