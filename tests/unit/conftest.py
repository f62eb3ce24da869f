"""Hypothesis searches the same examples in every run, in whatever time that takes: a red run means
a change, never bad luck.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "same",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("same")
