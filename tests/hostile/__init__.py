"""Hostile inputs, made by generators: one module per class, each input with the outcome it must have."""
