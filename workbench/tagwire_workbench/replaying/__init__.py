"""Replay captures against servers, and compare the responses with the recorded ones."""
