"""The bank that the tests of sessions ask."""
