"""Side by side with other libraries for differential privacy: `make compare`."""
