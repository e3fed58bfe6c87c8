"""Spec syntax: parse text with positions, check its shape by JSON Schema, and write canonical text."""
