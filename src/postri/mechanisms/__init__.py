"""Randomness: coins, the exact noisy max, discrete Laplace noise, AboveThreshold.

Nothing outside this folder draws.
"""
