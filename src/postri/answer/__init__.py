"""Answers: a released value, its interval, and what both cost."""

from postri.answer.answer import Answer, Answers, Interval

__all__ = ["Answer", "Answers", "Interval"]
