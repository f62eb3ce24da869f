"""The table of contents: every page of the site, in the order in which it is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """Pages under a title. A pattern with `*` stands for all that match, in the order of names."""

    title: str
    pages: tuple[str, ...]

    def found(self, folder: Path) -> list[str]:
        """Its pages as paths without their ending; a page that is named must be there."""
        names = []
        for pattern in self.pages:
            matches = sorted(folder.glob(f"{pattern}.md"))
            if not matches and "*" not in pattern:
                raise FileNotFoundError(f"the table of contents names {pattern}.md: there is none")
            names += [match.relative_to(folder).with_suffix("").as_posix() for match in matches]
        return names


PARTS = (
    Part("Start", ("how-it-works", "glossary")),
    Part(
        "Tutorials",
        (
            "tutorials/analyst",
            "tutorials/steward",
            "tutorials/researcher",
            "tutorials/contributor",
        ),
    ),
    Part(
        "How to",
        (
            "how-to/messy-csv",
            "how-to/postgresql",
            "how-to/spark",
            "how-to/dates",
            "how-to/groups",
            "how-to/reading-aloud",
            "how-to/from-*",
        ),
    ),
    Part(
        "Concepts",
        (
            "concepts/promise",
            "security",
            "concepts/units",
            "concepts/nulls-and-clamping",
            "concepts/accounting",
        ),
    ),
    Part(
        "Asking",
        ("asking", "predicates", "unknown-keys", "distribution", "reading-data", "session", "sql"),
    ),
    Part("Stewarding", ("policy", "ledger", "service", "running", "page")),
    Part("Reference", ("reference/*", "wrong-inputs")),
    # "Side by side with other libraries" stands here as compare.md.
    Part("Shown, not claimed", ("published-methods", "compare*", "speed", "audit", "notebooks/*")),
    Part("Theory", ("theory",)),
    Part(
        "Inside",
        (
            "architecture",
            "new-engine",
            "decisions/index",
            "contributing",
            "releasing",
            "changelog",
        ),
    ),
)
# Pages that another page lists: in the margin they would be half of all lines.
DECISIONS = Part("Decisions", ("decisions/0*",))
UNLISTED = "---\norphan: true\n---\n"


def with_contents(text: str, folder: Path) -> str:
    """The first page with the table of contents, which is shown in the margin."""
    blocks = [text.rstrip()]
    for part in PARTS:
        options = [f":caption: {part.title}", ":maxdepth: 1", ":titlesonly:", ":hidden:"]
        if pages := part.found(folder):
            blocks.append("\n".join(["```{toctree}", *options, "", *pages, "```"]))
    return "\n\n".join(blocks) + "\n"


def listed(part: Part, folder: Path) -> str:
    """Links to pages of the same folder, by their titles."""
    lines = []
    for name in part.found(folder):
        page = folder / f"{name}.md"
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({page.name})")
    return "\n".join(lines) + "\n"
