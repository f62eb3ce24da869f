"""Build the documentation: the pages of docs/, and a reference that is generated from the code.

    python tools/docs/build_site.py [--out build/docs] [--only PAGE ...]

Sphinx is strict here: a broken link, a page that no table of contents names or an image that is
missing ends the build. Nothing is fetched, and no page loads anything from elsewhere.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from contents import DECISIONS, UNLISTED, listed, with_contents
from reference_pages import reference_pages
from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
# Pages at the top of the repository, where people look for them first.
OF_THE_ROOT = ("SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")
# The line that ends an example, so that it can be run; nobody need see it.
EMPTY_LINE = re.compile(r"^(```python\n(?:(?!```).*\n)*?)\n```$", re.MULTILINE)
# A folder of pages that are finished as they are, and a link to one of them.
FINISHED = "compare"
LINK_TO_FINISHED = re.compile(rf"\[([^]]+)\]\(({FINISHED}/[^)]+\.html)\)")
DECISIONS_PAGE = """# Decisions

Why some things are as they are: the context, what was decided, and what follows.
"""


def gather(folder: Path) -> None:
    """The pages as Sphinx reads them: those of docs/ and of the root, the reference, the tables of
    contents.
    """
    shutil.copytree(DOCS, folder)
    for page in folder.rglob("*.md"):
        _rewrite(page, lambda text, page=page: _links_to_the_root(text, page, folder))
        _rewrite(page, partial(EMPTY_LINE.sub, r"\1```"))
        # Sphinx would take them for downloads, and put them elsewhere.
        _rewrite(page, partial(LINK_TO_FINISHED.sub, r'<a href="\2">\1</a>'))
    for name in OF_THE_ROOT:
        page = folder / name.lower()
        shutil.copy(ROOT / name, page)
        _rewrite(page, lambda text: text.replace("](docs/", "]("))
    (folder / "reference").mkdir()
    for name, text in reference_pages(DOCS).items():
        (folder / "reference" / f"{name}.md").write_text(text, encoding="utf-8")
    decisions = DECISIONS_PAGE + "\n" + listed(DECISIONS, folder)
    for name in DECISIONS.found(folder):
        _rewrite(folder / f"{name}.md", UNLISTED.__add__)
    (folder / "decisions" / "index.md").write_text(decisions, encoding="utf-8")
    _rewrite(folder / "index.md", lambda text: with_contents(text, folder))


def _links_to_the_root(text: str, page: Path, folder: Path) -> str:
    """A page whose links to files above docs/ go to their copies."""
    up = "../" * (len(page.relative_to(folder).parts) - 1)
    for name in OF_THE_ROOT:
        text = text.replace(f"](../{up}{name}", f"]({up}{name.lower()}")
    return text


def _rewrite(page: Path, change: Callable[[str], str]) -> None:
    page.write_text(change(page.read_text(encoding="utf-8")), encoding="utf-8")


def build(out: Path, only: Sequence[str] = ()) -> int:
    """The whole site, anew; what Sphinx returns.

    If some pages are named, all are read and their links looked at, but only these are written.
    """
    pages = out.with_name(f"{out.name}-pages")
    for folder in (out, pages):
        shutil.rmtree(folder, ignore_errors=True)
    gather(pages)
    strict = ["--fail-on-warning", "--keep-going", "--quiet"]
    places = ["-c", str(HERE), "-d", str(pages / ".doctrees"), str(pages), str(out)]
    if only:
        code = sphinx([*strict, "--builder", "dummy", *places])
        written = [str(pages / f"{name}.md") for name in only]
        # Sphinx would warn that an index of some pages is not one of all.
        code = code or sphinx(["-Q", "--builder", "html", *places, *written])
    else:
        code = sphinx([*strict, "--builder", "html", *places])
    shutil.copytree(DOCS / FINISHED, out / FINISHED, dirs_exist_ok=True)
    return code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "docs")
    parser.add_argument("--only", nargs="*", default=(), help="write these pages, and read all")
    given = parser.parse_args()
    out = given.out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    code = build(out, given.only)
    if code == 0:
        print(f"open {out / 'index.html'}")
    sys.exit(code)


if __name__ == "__main__":
    main()
