# SPDX-License-Identifier: Apache-2.0
"""lodestore-esx.py keeps to Python 3.5 and its standard library: ESXi 6.5 has no more."""

import ast
import io
import re
import tokenize

import pytest

from esx import SCRIPT

IMPORTS = {"argparse", "csv", "json", "os", "re", "shlex", "signal", "socket", "struct",
           "subprocess", "sys", "time"}
# Newer than 3.5, among what such a script could use.
NAMES = {"reconfigure", "removeprefix", "removesuffix", "monotonic_ns", "time_ns", "run_until",
         "fspath", "PathLike", "fromisoformat", "breakpoint", "ModuleNotFoundError",
         "copy_file_range", "prod", "isqrt", "aiter", "anext", "isascii", "create_server",
         "has_dualstack_ipv6"}
KEYWORDS = {"capture_output", "text", "required", "dirs_exist_ok", "missing_ok", "usedforsecurity",
            "allow_abbrev", "exit_on_error"}
NODES = ("JoinedStr", "AnnAssign", "NamedExpr", "Match", "TryStar", "TypeAlias", "AsyncFunctionDef")


def too_new(text):
    """What of it Python 3.5 would not know."""
    tree = ast.parse(text, feature_version=(3, 5))
    found = []
    for node in ast.walk(tree):
        if type(node).__name__ in NODES:
            found.append(type(node).__name__)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name not in IMPORTS]
        elif isinstance(node, ast.ImportFrom):
            found.append("from " + str(node.module))
        elif isinstance(node, (ast.Attribute, ast.Name)):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            found += [name] if name in NAMES else []
        elif isinstance(node, ast.keyword) and node.arg in KEYWORDS:
            found.append(node.arg + "=")
        elif isinstance(node, ast.arguments) and getattr(node, "posonlyargs", []):
            found.append("/ in arguments")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NUMBER and "_" in token.string:
            found.append(token.string)
    return found


def test_the_guide_tells_every_option(esx, capsys):
    with pytest.raises(SystemExit):
        esx.parse_arguments(["clone", "--help"])
    in_help = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out)) - {"--help"}
    guide = (SCRIPT.parents[2] / "docs" / "esxi.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in guide.splitlines() if line.startswith("| `--")]
    assert set(re.findall(r"--[a-z][a-z-]+", "".join(rows))) == in_help


def test_the_script_is_python_3_5():
    assert too_new(SCRIPT.read_text(encoding="ascii")) == []


@pytest.mark.parametrize("line", [
    'f"{1}"', "x: int = 1", "(x := 1)", "import dataclasses", "from os import path", "1_000",
    "subprocess.check_output([], text=True)", "sys.stdout.reconfigure()", "def f(a, /): pass",
    "async def f(): pass",
])
def test_the_check_finds_what_is_newer(line):
    try:
        assert too_new(line + "\n")
    except SyntaxError:
        pass
