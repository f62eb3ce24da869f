"""The OpenAPI description is true: requests of every kind, made from it, meet no server error and
no undocumented reply.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from served import new_token, served

from bank import dataset_text
from proving import sized

POLICY = """
[service]
time_grid = 0
rate = 10000000
""" + dataset_text(
    "t",
    source="t.parquet",
    budget="100000",
    rows=100,
    columns={
        "x": """
            type = "integer"
            lower = 0
            upper = 100
        """,
        "g": """
            type = "text"
            keys = ["a", "b"]
        """,
    },
)
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
EXAMPLES = sized("2", "40")


@pytest.mark.slow
# A steward may ask what an analyst may, and more.
@pytest.mark.parametrize("role", sized(["steward"], ["analyst", "steward"]))
def test_schemathesis_finds_no_server_error(tmp_path, role):
    if not shutil.which(SCHEMATHESIS):
        reason = "schemathesis is not installed: make services gets it"
        if os.environ.get("POSTRI_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    pq.write_table(pa.table({"x": list(range(100)), "g": ["a", "b"] * 50}), tmp_path / "t.parquet")
    (tmp_path / "postri.toml").write_text(POLICY)
    token = new_token(tmp_path / "postri.toml", "fuzz", role)
    with served(tmp_path / "postri.toml") as service:
        done = subprocess.run(
            [
                str(SCHEMATHESIS),
                "run",
                f"{service.url}/openapi.json",
                "--header",
                f"Authorization: Bearer {token}",
                "--checks",
                "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth",
                "--max-examples",
                EXAMPLES,
                "--no-color",
                "--generation-deterministic",
                "--seed",
                "7",
            ],
            check=False,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=900,
            env={**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path / "hypothesis")},
        )
        log = service.log.read_text()
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert '"internal"' not in log
