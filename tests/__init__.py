"""The tests of ettlog."""
