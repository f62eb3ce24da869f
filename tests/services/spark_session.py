"""A real Spark session for the tests: on this machine, in a folder of its own, with its log in a
file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from proving import PROVE

LOG = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c %m%n%ex
"""
# Spark compiles a program for each query, which takes longer than to run it on few rows. By default
# its interpreter runs the tests; what is about the compiler, or about many rows, asks for it.
INTERPRETED = {
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    # Of few rows there is nothing to learn while a query runs, and each look at them is a job.
    "spark.sql.adaptive.enabled": "false",
}
COMPILED = {
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.adaptive.enabled": "true",
}
# A JVM that lives for minutes earns nothing back of what its second compiler takes.
QUICKLY_STARTED = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    # Spark has 30,000 classes: without a word the collector runs each time their room grows.
    "-XX:MetaspaceSize=384m",
    "-Xmn640m",
)
SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    # Nobody looks at the history of a thousand queries, which fills the memory.
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


_running: list[Spark] = []


@dataclass(frozen=True)
class Spark:
    """A running session, and the file to which its driver logs."""

    session: Any
    log: Path

    @contextmanager
    def settings(self, settings: Mapping[str, str]) -> Iterator[None]:
        """With these settings of the session for a while."""
        before = {name: self.session.conf.get(name, None) for name in settings}
        for name, value in settings.items():
            self.session.conf.set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    self.session.conf.unset(name)
                else:
                    self.session.conf.set(name, value)

    def frame(self, table: Any) -> Any:
        """A data frame with the cells of an Arrow table."""
        return self.session.createDataFrame(table)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    """One session for a run of the tests."""
    _need(_missing())
    with spark_session(tmp_path_factory.mktemp("spark")) as running:
        yield running


@pytest.fixture(scope="session")
def spark_connect(spark: Spark) -> str:
    """The URL of a server of Spark Connect, which the session's own driver starts: it costs no
    second one.
    """
    if find_spec("grpc") is None:
        _need("Spark Connect is not here: pip install 'postri[spark-connect]'")
    context = spark.session.sparkContext
    services = context._jvm.org.apache.spark.sql.connect.service
    services.SparkConnectService.start(context._jsc.sc())
    server = getattr(getattr(services, "SparkConnectService$"), "MODULE$")
    return f"sc://127.0.0.1:{server.localPort()}"


def _need(missing: str | None) -> None:
    """Skip the test for this reason, if there is one, unless nothing may be missing."""
    if missing is None:
        return
    if os.environ.get("POSTRI_REQUIRE_ALL"):
        pytest.fail(missing)
    pytest.skip(missing)


@contextmanager
def spark_session(folder: Path, *, compiled: bool = PROVE) -> Iterator[Spark]:
    """A session that keeps its files in this folder; a process has one, which all share.

    A benchmark wants Spark as people run it: `compiled`, by both compilers.
    """
    if _running:
        yield _running[0]
        return
    log, properties = folder / "driver.log", folder / "log4j2.properties"
    properties.write_text(LOG.format(path=log))
    running = Spark(_started(folder, properties, compiled=compiled), log)
    _running.append(running)
    try:
        yield running
    finally:
        _running.clear()
        running.session.stop()


def _missing() -> str | None:
    if find_spec("pyspark") is None:
        return "PySpark is not here: pip install 'postri[spark]'"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if (
        java is None
        or subprocess.run([java, "-version"], capture_output=True, check=False).returncode
    ):
        return "Java is not here: install Java 17 or newer, or set JAVA_HOME"
    return None


def _started(folder: Path, properties: Path, *, compiled: bool) -> Any:
    # PySpark warns of what it imports, such as a pandas that is newer than itself.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("postri-tests")
        options = [
            f"-Dlog4j2.configurationFile={properties.as_uri()}",
            f"-Dderby.system.home={folder}",
        ]
        settings = SETTINGS | COMPILED
        if not compiled:
            options = [*QUICKLY_STARTED, *options]
            settings = SETTINGS | INTERPRETED
        settings |= {
            "spark.driver.extraJavaOptions": " ".join(options),
            "spark.local.dir": os.fspath(folder / "local"),
            "spark.sql.warehouse.dir": os.fspath(folder / "warehouse"),
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()
