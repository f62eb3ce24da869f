"""Attacks on the installation, as an adversary would: a user of the package, and its report."""
