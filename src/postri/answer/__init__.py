"""Answers: a released value, its interval, and what both cost; and forecasts of them."""

from postri.answer.answer import Answer, Answers
from postri.answer.drawn import Interval
from postri.answer.forecast import Plan
from postri.answer.result import Result

__all__ = ["Answer", "Answers", "Interval", "Plan", "Result"]
