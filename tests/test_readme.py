"""The documents keep their word: every code block of README.md and docs/*.md is run, in order, in a copy of what they talk about.

- ``bash``: a script; it must succeed.
- ``console``: lines after ``$`` are commands, the rest is what they print. An ellipsis (…) stands for anything within a line, alone on a
  line for any number of lines.
- ``python``: a script; it sees what the earlier blocks of its document defined.
- ``spn``: a model, parsed and checked; ``spn fragment``: a piece of one, parsed only.
- Other blocks (``text``, ``json``, none …) are shown, not run; one without a language that looks like commands is an error.

A block right after ``<!-- not run: reason -->`` is left out; only commands that install or test the project may be. One after
``<!-- ci: name -->`` is run whole by .ci/run, in a fresh environment; here the part that makes the environment is left out, and
all of it where it runs these tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if path.exists()]
COPIED = ("models", "examples", "docs", "README.md")
RUN = ("bash", "console", "python", "spn", "spn fragment")
TIMEOUT = 600

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})\s*(?P<info>[^`]*?)\s*$")
NOT_RUN = re.compile(r"<!--\s*not run:\s*(?P<reason>.*?)\s*-->\s*$")
CI = re.compile(r"<!--\s*ci:\s*[\w ]+-->\s*$")
MAY_REST = re.compile(r"\b(pip install|pytest|git clone)\b")
LIKE_COMMANDS = re.compile(r"^\s*(\$|spn|pip|python3?|git) ", re.MULTILINE)
SET_UP = re.compile(r"^python3 -m venv .*?pip install [^&\n]*&&\s*(\\\n)?", re.DOTALL)


@dataclass(frozen=True)
class Block:
    line: int  # of the opening fence, from 1
    language: str
    text: str
    not_run: str | None = None
    in_ci: bool = False


def blocks(markdown: str) -> Iterator[Block]:
    """The fenced code blocks of a document, in order."""
    lines = markdown.splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        at += 1
        if not opening:
            continue
        closing = re.compile(rf" *{opening['fence'][0]}{{{len(opening['fence'])},}}\s*$")
        body = list(takewhile(lambda line: not closing.match(line), lines[at:]))  # noqa: B023
        indent = len(opening["indent"])
        above = _line_above(lines, at - 1)
        marked = NOT_RUN.search(above)
        text = "\n".join(line[min(indent, len(line) - len(line.lstrip())) :] for line in body) + "\n"
        yield Block(at, opening["info"], text, marked["reason"] if marked else None, CI.search(above) is not None)
        at += len(body) + 1


def _line_above(lines: Sequence[str], fence: int) -> str:
    filled = [line for line in lines[:fence] if line.strip()]
    return filled[-1] if filled else ""


def check_marks(found: Sequence[Block]) -> None:
    """Commands have a language, and only those may rest that install or test."""
    for block in found:
        assert block.language or not LIKE_COMMANDS.search(block.text), f"line {block.line}: the block has no language"
        if block.not_run is not None:
            assert block.not_run, f"line {block.line}: say why the block is not run"
            assert MAY_REST.search(block.text), f"line {block.line}: only commands that install or test the project may rest"


class Runner:
    """Runs the blocks of one document in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = ""
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name)
            elif source.exists():
                shutil.copy(source, folder / name)
        self.environment = self._environment()

    def _environment(self) -> dict[str, str]:
        """``spn`` and ``python`` are those of the interpreter that runs the tests, installed or not."""
        tools = self.folder / ".tools"
        tools.mkdir()
        for name, call in (("spn", "-m spn.cli"), ("python", "")):
            (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {call} "$@"\n')
            (tools / name).chmod(0o755)
        path = os.pathsep.join((str(tools), str(Path(sys.executable).parent), os.environ["PATH"]))
        python_path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
        return {**os.environ, "PATH": path, "PYTHONPATH": python_path, "PYTHONSAFEPATH": "1", "NO_COLOR": "1"}

    def run(self, block: Block) -> None:
        match block.language:
            case "bash":
                self._bash(block)
            case "console":
                self._console(block.text)
            case "python":
                self.script += block.text
                self._call([sys.executable, "-c", self.script])
            case "spn":
                from spn.loading import parse

                parse(block.text, base=self.folder)
            case "spn fragment":
                from spn.lang.parse import parse as parse_only
                from spn.source import Source

                parse_only(Source("fragment", block.text))

    def _bash(self, block: Block) -> None:
        text = SET_UP.sub("", block.text) if block.in_ci else block.text
        if not (block.in_ci and "pytest" in text):
            self._call(["bash", "-euo", "pipefail", "-c", text])

    def _console(self, text: str) -> None:
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            done = self._call(["bash", "-c", command], check=False)
            assert_like(done, printed)

    def _call(self, command: Sequence[str], *, check: bool = True) -> str:
        """What a command prints, errors too; it must succeed if ``check``."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout}"
        return done.stdout


def assert_like(printed: str, shown: str) -> None:
    """The output is what the document shows, up to ellipses."""
    pattern = "".join(_line_pattern(line) for line in shown.rstrip("\n").split("\n")) if shown.strip() else ""
    assert re.fullmatch(pattern, printed.rstrip("\n") + "\n" if printed.strip() else ""), f"shown:\n{shown}\nprinted:\n{printed}"


def _line_pattern(line: str) -> str:
    if line.strip() == "…":
        return r"(?:.*\n)*?"
    return ".*?".join(re.escape(piece.rstrip() if last else piece) for piece, last in _pieces(line)) + r"[ ]*\n"


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    pieces = line.split("…")
    yield from ((piece, i == len(pieces) - 1) for i, piece in enumerate(pieces))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_every_block_of_a_document_runs(document: Path, tmp_path: Path) -> None:
    found = list(blocks(document.read_text(encoding="utf-8")))
    check_marks(found)
    runner = Runner(tmp_path)
    for block in found:
        if block.language in RUN and block.not_run is None:
            try:
                runner.run(block)
            except Exception as error:
                raise AssertionError(f"{document.name}, line {block.line}: {error}") from error


# --- the runner itself ------------------------------------------------------------------------------------------------------------

SAMPLE = """\
# Sample

<!-- not run: changes the machine -->

```bash
pip install thing
```

```bash
echo made > made.txt
```

1. nested:

   ~~~python
   import pathlib
   read = pathlib.Path("made.txt").read_text()
   ~~~

```python
assert read == "made\\n"
```

```console
$ cat made.txt; seq 3
made
…
3
$ echo "took 12 ms"
took … ms
$ true
```

```text
shown, not run: exit 1
```
"""


def test_blocks_are_found_with_line_language_text_and_mark() -> None:
    found = list(blocks(SAMPLE))
    assert [(b.line, b.language) for b in found] == [
        (5, "bash"), (9, "bash"), (15, "python"), (20, "python"), (24, "console"), (34, "text"),
    ]  # fmt: skip
    assert [b.not_run for b in found] == ["changes the machine", None, None, None, None, None]
    assert found[2].text == 'import pathlib\nread = pathlib.Path("made.txt").read_text()\n'


def test_blocks_run_in_order_in_one_folder(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    for block in blocks(SAMPLE):
        if block.not_run is None:
            runner.run(block)
    assert (tmp_path / "made.txt").read_text() == "made\n"


@pytest.mark.parametrize(
    "block",
    [
        Block(1, "bash", "false\ntrue\n"),
        Block(1, "bash", "false | cat\n"),
        Block(1, "python", "raise SystemExit(1)\n"),
        Block(1, "console", "$ echo a\nb\n"),
        Block(1, "console", "$ echo a\n"),
        Block(1, "console", "$ true\na\n"),
    ],
    ids=lambda b: b.text,
)
def test_a_block_that_does_not_hold_fails(block: Block, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        Runner(tmp_path).run(block)


@pytest.mark.parametrize("text", ["place p = 1 timed t : p -> q ~ exp(rate = 1/s)\n", "place place\n"])
def test_a_wrong_model_fails(text: str, tmp_path: Path) -> None:
    from spn.errors import ModelError

    with pytest.raises(ModelError):
        Runner(tmp_path).run(Block(1, "spn", text))


@pytest.mark.parametrize(
    "markdown",
    ["```\nspn solve x\n```\n", "<!-- not run: lazy -->\n```bash\nspn solve x\n```\n", "<!-- not run: -->\n```bash\npytest\n```\n"],
)
def test_marks_that_are_not_allowed_fail(markdown: str) -> None:
    with pytest.raises(AssertionError):
        check_marks(list(blocks(markdown)))


def test_of_a_block_of_ci_all_runs_but_the_set_up(tmp_path: Path) -> None:
    set_up = "python3 -m venv .venv && . .venv/bin/activate && pip install --quiet . && \\\n"
    main_job = f"<!-- ci: main job -->\n```bash\n{set_up}touch made \\\n  also\n```\n"
    tests = f"<!-- ci: tests -->\n```bash\n{set_up}python -m pytest -n 2\n```\n"
    runner = Runner(tmp_path)
    for block in blocks(main_job + tests):
        runner.run(block)
    assert (tmp_path / "made").exists() and (tmp_path / "also").exists()
    assert not (tmp_path / ".venv").exists()


def test_the_shim_runs_the_command_of_this_checkout(tmp_path: Path) -> None:
    Runner(tmp_path).run(Block(1, "console", "$ spn --version\nspn …\n"))
