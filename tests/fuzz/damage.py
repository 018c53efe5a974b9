"""Damage valid files: replace, remove or repeat bytes, and replace values with unusual ones."""

from __future__ import annotations

from hypothesis import strategies as st

SIGNS = (b"", b"\x00", b"\n", b"\r", b"\r\n", b" ", b"\t", b'"', b"'", b"\\", b",", b":", b";", b"+", b"#", b"=")
BRACKETS = (b"{", b"}", b"[", b"]", b"{}", b"[]", b"[[", b'""', b"[a]\n", b"[" * 5000, b'{"a":' * 3000, b"%s", b"{0}")
NUMBERS = (
    b"-1",
    b"0",
    b"1.5",
    b"1e999",
    b"-0",
    b"9" * 30,
    b"9" * 400,
    b"9" * 5000,
    b"1_0",
    b"0x10",
    b"inf",
    b"Infinity",
    b"NaN",
)
WORDS = (b"null", b"true", b"D5", b"Z99", b"2026-13-45", b"../", b"/etc/passwd", b"A" * 300, b"A" * 150000)
ESCAPES = (b'"\\u0000"', b'"\\ud800"', b'"a":1,"a":2', b"\x1b[31m")
BYTES = (b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\xd9\xa3", b"\xc4\xb0")
STRANGE = SIGNS + BRACKETS + NUMBERS + WORDS + ESCAPES + BYTES
"""Unusual byte strings that are written into files."""


@st.composite
def damaged(draw: st.DrawFn, valid: bytes) -> bytes:
    """Change a valid file in one to four places."""
    data = valid
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        length = draw(st.one_of(st.integers(0, 12), st.integers(0, max(len(data) - start, 0))))
        kind = draw(st.sampled_from(("replace", "value", "repeat", "cut", "flip")))
        if kind == "replace":
            data = data[:start] + draw(st.sampled_from(STRANGE)) + data[start + length :]
        elif kind == "value":
            data = _other_value(draw, data, start)
        elif kind == "repeat":
            data = data[: start + length] + data[start:]
        elif kind == "cut":
            data = data[:start] + data[start + length :]
        else:
            data = data[:start] + draw(st.binary(max_size=4)) + data[start + length :]
    return data


def _other_value(draw: st.DrawFn, data: bytes, start: int) -> bytes:
    """Replace the text between two separators with an unusual byte string."""
    separators = b',:=\n{}[]" '
    left = start
    while left > 0 and data[left - 1] not in separators:
        left -= 1
    right = start
    while right < len(data) and data[right] not in separators:
        right += 1
    return data[:left] + draw(st.sampled_from(STRANGE)) + data[right:]
