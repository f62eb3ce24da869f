"""The pages of the reference, from the code: what is public cannot be missing from them, and what
they say is what the program says itself.

The meaning of a policy's keys is told once, in the tables of docs/policy.md and docs/service.md:
the page takes it from there, and a key that no table explains ends the build.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import typer
from click.testing import CliRunner
from fastapi import FastAPI

import postri
from postri.cli import app as commands
from postri.errors import BudgetExceeded, InputError, PolicyError, PostriError, QuestionsExceeded
from postri.policy import oidc, reading
from postri.session.wire import KINDS
from postri.statistics.registry import described
from postri.web.app import public_routes
from postri.web.asking import asking_routes
from postri.web.description import description
from postri.web.refusals import STATUSES, TITLES
from postri.web.service import Service
from postri.web.stewarding import steward_routes

# How wide a signature may be before each parameter gets a line.
WIDE = 80
# A default that is longer is not told.
LONG = 40
EXAMPLES = re.compile(r"(?:^|\n)((?:>>>|\.\.\.) .*(?:\n(?!\n).*)*)")


def reference_pages(docs: Path) -> dict[str, str]:
    """Every page by its name; the hand-written pages are in `docs`."""
    return {
        "python": python_page(),
        "statistics": statistics_page(),
        "commands": commands_page(),
        "http": http_page(),
        "policy-keys": policy_page(docs),
        "errors": errors_page(),
    }


# ---- Python


def python_page() -> str:
    """Every name of `postri`: functions, modules of helpers, classes with what they offer."""
    public = {name: getattr(postri, name) for name in postri.__all__ if name != "__version__"}
    functions = {name: each for name, each in public.items() if inspect.isfunction(each)}
    modules = {name: each for name, each in public.items() if inspect.ismodule(each)}
    classes = {name: each for name, each in public.items() if _is_plain_class(each)}
    blocks = [
        "# Python",
        f"Every name that `postri` offers, from the code of version `{postri.__version__}` "
        "(`postri.__version__`). Errors have [a page of their own](errors.md), and so have "
        "[the statistics](statistics.md) that `agg` knows.",
        "## Functions",
        *_joined(_function(f"postri.{name}", each) for name, each in functions.items()),
        "## Modules",
        *_joined(_module(name, each) for name, each in modules.items()),
        "## Classes",
        *_joined(_class(name, each) for name, each in classes.items()),
    ]
    return _page(blocks)


def _is_plain_class(each: object) -> bool:
    return isinstance(each, type) and not issubclass(each, PostriError)


def _function(name: str, each: Callable[..., Any], level: int = 3) -> list[str]:
    return [f"{'#' * level} `{name}`", _code(_signature(name, each)), _words(each)]


def _module(name: str, module: ModuleType) -> Iterator[str]:
    yield f"### `postri.{name}`"
    yield _words(module)
    for each in module.__all__:
        member = getattr(module, each)
        if inspect.isfunction(member):
            yield from _function(f"{name}.{each}", member, level=4)
        else:
            yield from (f"#### `{name}.{each}`", _words(member))


def _class(name: str, each: type) -> Iterator[str]:
    yield f"### `postri.{name}`"
    yield _code(_signature(name, each))
    yield _words(each)
    rows = [
        (f"`{_brief_signature(member, value)}`", _first_sentence(value))
        for member, value in _members(each)
    ]
    if rows:
        yield _table(("it has", "which is"), rows)


def _members(each: type) -> Iterator[tuple[str, Any]]:
    """What has a docstring and a public name, but for what all errors and tuples have."""
    for name in dir(each):
        value = inspect.getattr_static(each, name)
        if name.startswith("_") or not _is_told(value):
            continue
        yield name, value


def _is_told(value: object) -> bool:
    kinds = (property, staticmethod, classmethod)
    is_member = inspect.isfunction(value) or isinstance(value, kinds)
    return is_member and bool(inspect.getdoc(value))


def _brief_signature(name: str, value: object) -> str:
    """A property by its name, a method with the names of its parameters."""
    if isinstance(value, property):
        return name
    called = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    parameters = list(inspect.signature(called).parameters.values())
    own = parameters if isinstance(value, staticmethod) else parameters[1:]
    return f"{name}({', '.join(_parameter_name(each) for each in own)})"


def _parameter_name(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
    return stars.get(parameter.kind, "") + parameter.name


def _signature(name: str, each: Callable[..., Any]) -> str:
    """As one would write it: on a line, or with a line for each parameter."""
    signature = inspect.signature(each)
    parts = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(parameter))
    arrow = ""
    if signature.return_annotation not in (signature.empty, None, "None"):
        arrow = f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(parts)}){arrow}"
    if len(line) <= WIDE:
        return line
    lines = "".join(f"    {part},\n" for part in parts)
    return f"{name}(\n{lines}){arrow}"


def _parameter(parameter: inspect.Parameter) -> str:
    """Its name, its type as it stands in the code, and its default unless that is long."""
    text = _parameter_name(parameter)
    if parameter.annotation is not parameter.empty:
        text += f": {parameter.annotation}"
    if parameter.default is parameter.empty:
        return text
    default = repr(parameter.default)
    if len(default) > LONG:
        default = "..."
    return f"{text} = {default}"


# ---- statistics


def statistics_page() -> str:
    """What can be asked, in the three ways in which it is written."""
    rows = [
        (f"`{each['name']}`", each["meaning"], _forms(each["text"]), _forms(each.get("sql") or ""))
        for each in described()
    ]
    return _page(
        [
            "# Statistics",
            "What `agg` offers and a question may ask for, as its text and in SQL. How they are "
            "drawn, and what their intervals mean, is told in [asking](../asking.md).",
            _table(("name", "meaning", "as text", "in SQL"), rows),
        ]
    )


def _forms(text: str) -> str:
    return f"`{text}`" if text else ""


# ---- the command line


def commands_page() -> str:
    """The help of every command, as the program prints it."""
    blocks = [
        "# Commands",
        "What `postri COMMAND --help` prints. Results go to standard output, words to standard "
        "error. Exit codes: 0 done, 2 the request is wrong, 3 refused for budget, 1 anything else.",
    ]
    for words in command_names():
        blocks += [f"## `postri {' '.join(words)}`", _code(_help(words), "text")]
    return _page(blocks)


def command_names() -> list[tuple[str, ...]]:
    """Every command, those of a group with the group's name before them."""
    return list(_names_under(_program(), ()))


@cache
def _program() -> Any:
    return typer.main.get_command(commands)


def _names_under(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words
        return
    for name, each in inner.items():
        yield from _names_under(each, (*words, name))


def _help(words: Iterable[str]) -> str:
    width = {"terminal_width": 90, "max_content_width": 90}
    shown = CliRunner().invoke(_program(), [*words, "--help"], prog_name="postri", **width)
    if shown.exit_code != 0:
        raise RuntimeError(f"postri {' '.join(words)} --help failed")
    return shown.output.strip()


# ---- HTTP


def http_page() -> str:
    """Every endpoint: what goes in, what comes out, which refusals."""
    found = http_description()
    blocks = [
        "# HTTP",
        "The endpoints of [the service](../service.md), from the description that it gives of "
        "itself at `/openapi.json`, where the shape of each body is told in full. Under `/v1/` "
        "every request needs `Authorization: Bearer TOKEN`.",
    ]
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            blocks += _endpoint(method.upper(), path, operation)
    codes = [(f"`{code}`", str(STATUSES[code]), words) for code, words in TITLES.items()]
    blocks += ["## Codes of refusals", _table(("code", "status", "meaning"), codes)]
    return _page(blocks)


def http_description() -> dict[str, Any]:
    """The OpenAPI description. Its endpoints are described here and never called."""
    service = Mock(spec=Service)
    app = FastAPI(openapi_url=None)
    for routes in (asking_routes, steward_routes, public_routes):
        app.include_router(routes(service))
    return description(app)


def _endpoint(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"## `{method} {path}`"
    yield operation["summary"] + "."
    if parameters := operation.get("parameters"):
        rows = [(f"`{each['name']}`", each["in"], each["description"]) for each in parameters]
        yield _table(("parameter", "in", "meaning"), rows)
    if body := operation.get("requestBody"):
        yield from _examples("A body", body["content"])
    replies = operation["responses"].items()
    rows = [(status, reply["description"]) for status, reply in replies]
    yield _table(("status", "reply"), rows)
    for status, reply in replies:
        if status.startswith("2") and "content" in reply:
            yield from _examples("A reply", reply["content"])


def _examples(title: str, content: Mapping[str, Any]) -> Iterator[str]:
    for described_content in content.values():
        for name, example in described_content["examples"].items():
            yield f"{title} ({name}):"
            yield _code(json.dumps(example["value"], indent=2, ensure_ascii=False), "json")


# ---- the policy


# Each table of a policy: its name, its keys, and the page and heading that explain them.
POLICY_TABLES: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("the top", ("ledger", "ledger_head"), "policy.md", "What stands at the top"),
    (
        "[datasets.NAME]",
        tuple(key for key in reading.DATASET_KEYS if key not in ("columns", "line_breaks")),
        "policy.md",
        "What a dataset says",
    ),
    ("[datasets.NAME.columns.COLUMN]", reading.COLUMN_KEYS, "policy.md", "What a column says"),
    ("[service]", ("tokens", *reading.SERVICE_READERS, "oidc"), "service.md", "Limits"),
)
# Tables whose keys the code explains itself, to whoever leaves one out.
TOLD_BY_CODE: tuple[tuple[str, Mapping[str, str], str], ...] = (
    ("protect", reading.PROTECT_NEEDS, "../policy.md#protect"),
    ("[public.NAME]", reading.PUBLIC_NEEDS, "../policy.md#public-tables"),
    ("[service.oidc]", oidc.OIDC_NEEDS, "../service.md#openid-connect"),
)


def policy_page(docs: Path) -> str:
    """Every key of a policy with its meaning."""
    blocks = [
        "# Keys of a policy",
        "Every key that `postri.toml` may have. A key that stands elsewhere is an error, with "
        "its line. [The policy](../policy.md) explains them in their order.",
    ]
    for title, keys, page, heading in POLICY_TABLES:
        told = explained_keys((docs / page).read_text(encoding="utf-8"), heading)
        missing = [key for key in keys if key not in told]
        if missing:
            raise LookupError(f"{page}, {heading}: no row explains {', '.join(missing)}")
        rows = [(f"`{key}`", *(_from_reference(cell, page) for cell in told[key])) for key in keys]
        blocks += [f"## {_titled(title)}", _table(("key", "", "meaning"), rows)]
    for title, needs, place in TOLD_BY_CODE:
        rows = [(f"`{key}`", words) for key, words in needs.items()]
        more = f"Its other keys are in [its section]({place})."
        blocks += [f"## {_titled(title)}", _table(("key", "meaning"), rows), more]
    return _page(blocks)


def _titled(title: str) -> str:
    return title.capitalize() if title == "the top" else f"`{title}`"


def explained_keys(text: str, heading: str) -> dict[str, tuple[str, str]]:
    """The rows of the first table under a heading, by each key of their first cell."""
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found: dict[str, tuple[str, str]] = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 3:
            for key in re.findall(r"`(\w+)`", cells[0]):
                found.setdefault(key, (cells[1], cells[2]))
    return found


def _from_reference(cell: str, page: str) -> str:
    """A cell whose links are those of a page one folder above."""
    cell = re.sub(r"\]\(#", f"](../{page}#", cell)
    return re.sub(r"\]\((?!\.\./|https?:)", "](../", cell)


# ---- errors


def errors_page() -> str:
    """Every error: what it is, and how it is told over HTTP and by an exit code."""
    public = [getattr(postri, name) for name in postri.__all__]
    blocks = [
        "# Errors",
        "All of them are `PostriError`. None carries a cell, a rank or a probability. "
        "[Wrong inputs](../wrong-inputs.md) shows what is often written wrong, and what is "
        "answered.",
        _code((inspect.getdoc(inspect.getmodule(PostriError)) or "").split("\n\n")[1], "text"),
    ]
    for each in public:
        if isinstance(each, type) and issubclass(each, PostriError):
            parents = " and ".join(f"`{base.__name__}`" for base in each.__bases__)
            rows = [
                ("a kind of", parents),
                ("exit code", str(exit_code(each))),
                ("over HTTP", _on_the_wire(each)),
            ]
            blocks += [f"## `{each.__name__}`", _words(each), _table(("", ""), rows)]
    return _page(blocks)


def exit_code(error: type[PostriError]) -> int:
    """The code with which the program ends."""
    if issubclass(error, InputError | PolicyError):
        return 2
    if issubclass(error, BudgetExceeded | QuestionsExceeded):
        return 3
    return 1


def _on_the_wire(error: type[PostriError]) -> str:
    for kind, known in KINDS.items():
        if issubclass(error, kind):
            return f"{known.status}, `{known.code}`"
    if issubclass(error, PolicyError):
        return f"{STATUSES['policy_error']}, `policy_error`"
    return "raised by the client itself"


# ---- Markdown


def _page(blocks: Iterable[str]) -> str:
    return "\n\n".join(block for block in blocks if block) + "\n"


def _joined(groups: Iterable[Iterable[str]]) -> Iterator[str]:
    for group in groups:
        yield from group


def _code(text: str, language: str = "python") -> str:
    return f"```{language}\n{text}\n```"


def _words(each: Any) -> str:
    """A docstring as Markdown: its examples are code."""
    text = inspect.getdoc(each) or ""
    return EXAMPLES.sub(lambda found: "\n" + _code(found[1].rstrip()), text)


def _first_sentence(each: Any) -> str:
    paragraph = (inspect.getdoc(each) or "").partition("\n\n")[0]
    return " ".join(paragraph.split())


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(header)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
