"""The site builds strictly, offline, and no page of it loads anything from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from proving import sized

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "tools" / "docs" / "build_site.py"
# What a browser fetches of its own accord; a link that a person follows is none of these.
LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "embed": "src",
    "link": "href",
}
# Says where a page lies, or what comes next: nothing is fetched.
NAMED_ONLY = {"canonical", "next", "prev", "author", "search", "index"}

# All pages are read, and their links looked at. These are also written, under `make prove` all.
WRITTEN = sized(
    ("index", "changelog", "tutorials/analyst", "tutorials/steward", "reference/errors"), ()
)

pytestmark = pytest.mark.slow


class Loads(HTMLParser):
    """What a page fetches, and where its links go."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if name := given.get("id"):
            self.names.add(name)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        address = given.get(LOADED.get(tag, ""))
        if address and not (tag == "link" and given.get("rel") in NAMED_ONLY):
            self.fetched.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "docs"
    done = subprocess.run(
        [sys.executable, str(BUILD), "--out", str(out), "--only", *WRITTEN],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return out


@pytest.fixture(scope="module")
def pages(site):
    found = {}
    for file in site.rglob("*.html"):
        found[file] = Loads()
        found[file].feed(file.read_text(encoding="utf-8"))
    return found


def is_there(site, name: str) -> bool:
    """Whether a page was written, or read if it is not one of those that are written."""
    if WRITTEN and name not in WRITTEN:
        return (site.with_name(f"{site.name}-pages") / ".doctrees" / f"{name}.doctree").exists()
    return (site / f"{name}.html").exists()


def test_every_page_of_the_documentation_is_there(site):
    docs = ROOT / "docs"
    for page in docs.rglob("*.md"):
        assert is_there(site, str(page.relative_to(docs).with_suffix("")))
    for name in ("python", "statistics", "commands", "http", "policy-keys", "errors"):
        assert is_there(site, f"reference/{name}")


def test_no_page_loads_anything_from_elsewhere(pages):
    assert len(pages) >= sized(len(WRITTEN), 71)
    for file, page in pages.items():
        for address in page.fetched:
            parts = urlsplit(address)
            assert not parts.scheme and not parts.netloc, f"{file.name} loads {address}"
            assert (file.parent / unquote(parts.path)).exists(), f"{file.name} lacks {address}"


def test_no_style_loads_anything_from_elsewhere(site):
    styles = list(site.rglob("*.css"))
    assert styles
    for file in styles:
        text = file.read_text(encoding="utf-8")
        addresses = re.findall(r"url\(\s*['\"]?([^'\")]+)", text)
        addresses += re.findall(r"@import\s+['\"]([^'\"]+)", text)
        assert [each for each in addresses if re.match(r"(?:https?:)?//", each)] == []


def test_no_link_between_pages_is_broken(pages, site):
    """Sphinx checks links of the texts; this one also those that the theme makes."""
    for file, page in pages.items():
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            name = str(target.relative_to(site).with_suffix(""))
            found = target.exists() or is_there(site, name)
            assert found, f"{file.relative_to(site)} links to {address}"
            if parts.fragment and target in pages:
                known = pages[target].names
                assert unquote(parts.fragment) in known, f"{file.name} links to {address}"


def test_a_broken_link_ends_the_build(tmp_path):
    """The same Sphinx, on two pages of its own."""
    (tmp_path / "index.md").write_text("# Home\n\n[gone](gone.md)\n")
    strict = ["--fail-on-warning", "--quiet", "--builder", "dummy"]
    places = ["-c", str(BUILD.parent), str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *strict, *places],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "gone.md" in done.stderr
