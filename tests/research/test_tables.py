"""The paper's tables: from a folder by checksum, or from archives laid out like those of the UCI
repository, served by this machine.
"""

from __future__ import annotations

import csv
import io
import socket
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import numpy as np
import pytest

from postri.errors import InputError, SourceError
from postri.research import tables as module
from postri.research.subjects import Subject
from postri.research.tables import SOURCES, data_folder, load_tables

# The first rows of adult.csv are UCI's training set, the rest its test set.
TRAINING = 32_561
GONE = (
    "airplane: its public page is gone, so it cannot be downloaded; put airplane.csv into a "
    "folder and give --data."
)


@pytest.fixture(scope="module")
def subjects(tables: Path) -> dict[str, Subject]:
    found, missing = load_tables(tables)
    assert missing == []
    return found


def linked(tables: Path, folder: Path, *names: str) -> Path:
    """A folder with some of the tables."""
    for name in names:
        (folder / f"{name}.csv").symlink_to(tables / f"{name}.csv")
    return folder


def assert_same(one: Subject, other: Subject) -> None:
    assert np.array_equal(one.whole.indexes, other.whole.indexes)
    assert np.array_equal(one.whole.counts, other.whole.counts)
    assert (one.name, one.grid, one.rows) == (other.name, other.grid, other.rows)


# From a folder.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rows", "median"),
    [("bank", 45_211, 448), ("adult", 48_842, 178_144.5), ("airplane", 12_377, 162)],
)
def test_a_table_has_the_rows_and_the_median_of_the_paper(
    subjects, name: str, rows: int, median: float
):
    subject = subjects[name]
    assert subject.rows == rows
    assert subject.point(subject.median) == median


@pytest.mark.slow
def test_the_domain_is_the_papers_after_its_shift(subjects):
    """0 to 1e8; the lowest balance is -8,019."""
    for name, first in (("bank", -8_019), ("adult", 0), ("airplane", 0)):
        grid = subjects[name].grid
        assert (subjects[name].point(grid.first), subjects[name].point(grid.last)) == (
            first,
            first + 10**8,
        )
    assert subjects["bank"].point(int(subjects["bank"].whole.indexes[0])) == -8_019


@pytest.mark.slow
def test_a_table_with_a_changed_cell_is_refused_and_the_others_load(tables, tmp_path):
    lines = (tables / "bank.csv").read_text().splitlines(keepends=True)
    assert ",29," in lines[2]
    lines[2] = lines[2].replace(",29,", ",30,")
    (tmp_path / "bank.csv").write_text("".join(lines))
    found, missing = load_tables(linked(tables, tmp_path, "adult", "airplane"))
    assert list(found) == ["adult", "airplane"]
    assert missing == ["bank: its column balance is not the paper's (the checksum differs)."]


@pytest.mark.slow
def test_a_missing_file_is_named_and_the_others_load(tables, tmp_path):
    found, missing = load_tables(linked(tables, tmp_path, "bank", "adult"))
    assert list(found) == ["bank", "adult"]
    assert missing == [f"airplane: there is no airplane.csv in {tmp_path}."]


def test_a_folder_without_any_table_is_refused_and_each_is_named(tmp_path):
    with pytest.raises(SourceError) as caught:
        load_tables(tmp_path)
    assert all(
        f"{name}: there is no {name}.csv in {tmp_path}." in str(caught.value) for name in SOURCES
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    {
        "another column": ("age,credit\n58,2143\n", "bank: bank.csv has no column balance."),
        "nothing": ("", "bank: bank.csv has no column balance."),
        "short rows": (
            "age,balance\n58\n",
            "bank: its column balance is not the paper's (the checksum differs).",
        ),
        "words": (
            "age,balance\n58,much\n",
            "bank: its column balance is not the paper's (the checksum differs).",
        ),
    }.values(),
    ids=["another column", "nothing", "short rows", "words"],
)
def test_a_file_that_is_not_the_table_is_refused(tmp_path, content: str, reason: str):
    (tmp_path / "bank.csv").write_text(content)
    with pytest.raises(SourceError) as caught:
        load_tables(tmp_path)
    assert reason in str(caught.value)


def test_a_file_that_is_no_text_is_refused_by_name(tmp_path):
    (tmp_path / "bank.csv").write_bytes(b"age,balance\n58,\xff\xfe\n")
    with pytest.raises(SourceError, match=r"bank: .*bank\.csv"):
        load_tables(tmp_path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(
        InputError,
        match=r"there is no folder .*nowhere; give one with "
        r"bank\.csv, adult\.csv, airplane\.csv, or leave it out",
    ):
        data_folder(tmp_path / "nowhere")


def test_the_environment_names_the_folder_where_none_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("POSTRI_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path
    monkeypatch.setenv("POSTRI_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"there is no folder .*nowhere"):
        data_folder(None)


def test_a_given_folder_wins_over_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("POSTRI_DATA", str(tmp_path / "nowhere"))
    assert data_folder(tmp_path) == tmp_path


@pytest.mark.parametrize("empty", [None, ""])
def test_no_folder_at_all_means_a_download(monkeypatch, empty: str | None):
    monkeypatch.delenv("POSTRI_DATA", raising=False)
    if empty is not None:
        monkeypatch.setenv("POSTRI_DATA", empty)
    assert data_folder(None) is None


# Downloaded.


@dataclass
class Site:
    """What a server of this machine answers with, by path; 404 for the rest."""

    url: str
    pages: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    cut: bool = False


@pytest.fixture
def site(monkeypatch) -> Iterator[Site]:
    """A server that stands for UCI's. Nothing but this machine can be reached."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            page = found.pages.get(self.path)
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Length", str(len(page or b"") + 1_000 * found.cut))
            self.end_headers()
            self.wfile.write(page or b"")

        def log_message(self, *words: object) -> None:
            pass

    connect = socket.socket.connect

    def only_here(self: socket.socket, address: tuple[str, int]) -> None:
        assert address[0] == "127.0.0.1", f"{address} lies outside this machine"
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_here)
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Site(f"http://127.0.0.1:{server.server_port}")
        changed = {
            name: replace(source, url=source.url and found.url + urlsplit(source.url).path)
            for name, source in SOURCES.items()
        }
        monkeypatch.setattr(module, "SOURCES", changed)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        server.shutdown()
        thread.join()


BANK, ADULT = (urlsplit(str(SOURCES[name].url)).path for name in ("bank", "adult"))


def archive(files: dict[str, str | bytes]) -> bytes:
    """A zip file."""
    with io.BytesIO() as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
            for name, content in files.items():
                made.writestr(name, content)
        return stream.getvalue()


def bank_archive(tables: Path) -> bytes:
    """Semicolons, quoted text, an archive in an archive beside another one."""
    with (tables / "bank.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow([*header[:-1], "y"])
    writer.writerows(
        [int(cell) if cell.lstrip("-").isdigit() else cell for cell in row] for row in rows
    )
    full = text.getvalue()
    assert full.startswith('"age";"job";') and '\n58;"management";' in full
    inner = archive({"bank-full.csv": full, "bank.csv": full[:5_000], "bank-names.txt": "about"})
    return archive(
        {"bank.zip": inner, "bank-additional.zip": archive({"bank-additional.csv": full[:5_000]})}
    )


def adult_archive(tables: Path) -> bytes:
    """No header; a blank last line; a remark before the test set, whose rows end with a dot."""
    with (tables / "adult.csv").open(newline="") as stream:
        lines = [", ".join(cell or "?" for cell in row) for row in csv.reader(stream)][1:]
    training, test = lines[:TRAINING], [f"{line}." for line in lines[TRAINING:]]
    assert lines[0].count(", ") == 14
    return archive(
        {
            "adult.data": "\n".join([*training, "", ""]),
            "adult.test": "\n".join(["|1x3 Cross validator", *test, ""]),
        }
    )


@pytest.mark.slow
def test_the_download_gives_the_subjects_of_the_folder_and_says_what_is_gone(
    site, tables, subjects
):
    site.pages |= {BANK: bank_archive(tables), ADULT: adult_archive(tables)}
    found, missing = load_tables(None)
    assert list(found) == ["bank", "adult"]
    for name, subject in found.items():
        assert_same(subject, subjects[name])
    assert missing == [GONE]
    assert site.asked == ["/static/public/222/bank+marketing.zip", "/static/public/2/adult.zip"]


ROW = "39, State-gov, 77516, Bachelors"


@pytest.fixture
def adult_only(site, monkeypatch) -> Site:
    """The server has one row of the adult table, which passes for all of it; the bank table is up
    to the test.
    """
    changed = module.SOURCES | {
        "adult": replace(module.SOURCES["adult"], digest=sha256(b"77516").hexdigest())
    }
    monkeypatch.setattr(module, "SOURCES", changed)
    site.pages[ADULT] = archive({"adult.data": ROW, "adult.test": ""})
    return site


def missing_bank(site: Site) -> str:
    """Why the bank table is left out; the adult table must load all the same."""
    found, missing = load_tables(None)
    assert [subject.rows for subject in found.values()] == [1] and list(found) == ["adult"]
    reason, gone = missing
    assert gone == GONE
    assert reason.startswith("bank: ") and reason.endswith(".") and "\n" not in reason
    return reason


def test_a_page_that_is_not_there_is_told(adult_only):
    reason = missing_bank(adult_only)
    assert reason == (
        f"bank: {adult_only.url}{BANK} did not give it (HTTPError); put bank.csv into a "
        "folder and give --data."
    )


def bank_csv(header: str, *rows: str, encoding: str = "utf-8") -> bytes:
    return archive(
        {"bank.zip": archive({"bank-full.csv": "\n".join([header, *rows]).encode(encoding)})}
    )


@pytest.mark.parametrize(
    "page",
    [b"", b"<html>moved</html>", archive({"x": "y"})[:-30]],
    ids=["nothing", "a web page", "half of a zip"],
)
def test_what_is_no_archive_is_told(adult_only, page: bytes):
    adult_only.pages[BANK] = page
    assert "did not give it (BadZipFile); put bank.csv into a folder" in missing_bank(adult_only)


OTHERS = {
    "other members": archive({"data.csv": "x"}),
    "other members inside": archive({"bank.zip": archive({"data.csv": "x"})}),
    "no archive inside": archive({"bank.zip": "bank"}),
    "another column": bank_csv("age;credit", "58;2143"),
    "another encoding": bank_csv("age;balance", "58;\u20ac", encoding="utf-16"),
}


@pytest.mark.parametrize("page", OTHERS.values(), ids=OTHERS)
def test_an_archive_that_is_laid_out_otherwise_is_told(adult_only, page: bytes):
    adult_only.pages[BANK] = page
    assert missing_bank(adult_only) == (
        f"bank: what {adult_only.url}{BANK} gives is not laid out as it was; put bank.csv "
        "into a folder."
    )


@pytest.mark.parametrize(
    "rows", [("58;2143",), ("58",), ()], ids=["one row", "a short row", "no row"]
)
def test_another_column_of_that_name_is_refused_by_its_checksum(adult_only, rows: tuple[str, ...]):
    adult_only.pages[BANK] = bank_csv("age;balance", *rows)
    assert (
        missing_bank(adult_only)
        == "bank: its column balance is not the paper's (the checksum differs)."
    )


def test_a_damaged_member_is_told(adult_only):
    """The compressed bytes begin after the header of 30 bytes and the name."""
    page = bytearray(archive({"bank.zip": archive({"bank-full.csv": "balance\n" * 500})}))
    start = 30 + len("bank.zip")
    page[start : start + 20] = b"\xff" * 20
    adult_only.pages[BANK] = bytes(page)
    assert "bank.csv into a folder" in missing_bank(adult_only)


def test_a_download_that_breaks_off_is_told(site):
    site.pages |= {
        BANK: bank_csv("age;balance", "58;2143"),
        ADULT: archive({"adult.data": ROW, "adult.test": ""}),
    }
    site.cut = True
    with pytest.raises(SourceError) as caught:
        load_tables(None)
    assert all(f"{name}: " in str(caught.value) for name in SOURCES)


def test_a_server_that_does_not_answer_is_told_for_every_table(site, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr(
        module,
        "SOURCES",
        {
            name: replace(source, url=source.url and f"{nobody}/x.zip")
            for name, source in SOURCES.items()
        },
    )
    with pytest.raises(SourceError) as caught:
        load_tables(None)
    told = str(caught.value)
    assert all(
        f"{name}: {nobody}/x.zip did not give it (URLError)" in told for name in ("bank", "adult")
    )
    assert told.endswith(GONE) and site.asked == []
