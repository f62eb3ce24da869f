"""When others may learn what became of a question: at once, unless somebody stands between.

A session in a process of the analyst's own hides no times, for whoever runs it holds a clock to
every step of it. The service waits in these places: see `postri.web.time_grid`.
"""

from __future__ import annotations


class Release:
    """The steps of one question, told to whoever decides when the next one may be seen."""

    def begin(self) -> None:
        """Its turn has come. Nothing of its own was read or written yet."""

    def paid(self) -> None:
        """It is paid for, and reads data from here on: how long that takes is nobody's business."""

    def answered(self) -> None:
        """It has its answer, which nobody knows yet. Returns when it may be recorded."""

    def failed(self) -> None:
        """It has failed, which nobody knows yet. Returns when that may be recorded."""


AT_ONCE = Release()
