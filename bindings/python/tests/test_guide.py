# SPDX-License-Identifier: BSD-3-Clause
"""The snippets of the guide, of README.md and of the docstrings do what they say."""
from __future__ import annotations

import contextlib
import doctest
import io
import os
import pathlib
import re

import pytest

import dtconv

TREE = pathlib.Path(os.environ.get("DTCONV_SOURCE") or pathlib.Path(__file__).parents[3])
PAGES = [TREE / "doc" / "python.md", TREE / "bindings" / "python" / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_print_what_their_comments_say(page):
    """The snippets of a page run one after the other. What print() prints is behind it: # as here."""
    snippets = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert snippets
    names = {}
    for snippet in snippets:
        expected = re.findall(r"^ *print\(.*\) +# (.*)$", snippet, re.MULTILINE)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(snippet, str(page), "exec"), names)
        assert printed.getvalue().split("\n")[:-1] == expected, snippet


def test_the_packages_own_example():
    result = doctest.testmod(dtconv)
    assert result.failed == 0 and result.attempted > 0


def public_objects():
    """Every public name of the package, and the public members of its classes."""
    for name in dtconv.__all__:
        thing = getattr(dtconv, name)
        yield name, thing
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, (property, staticmethod))):
                    yield f"{name}.{member}", value


def test_everything_public_has_a_docstring():
    without = [name for name, thing in public_objects() if not (getattr(thing, "__doc__", None) or "").strip()]
    assert without == []


def test_the_guide_names_everything_public():
    text = PAGES[0].read_text()
    errors = {kind.__name__ for kind in dtconv.errors.CLASSES.values()} - {"AgainError", "TruncateError"}
    missing = [name for name in dtconv.__all__ if name not in errors and not re.search(rf"\b{name}\b", text)]
    assert missing == []
