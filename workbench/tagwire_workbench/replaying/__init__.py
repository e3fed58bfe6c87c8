"""Replay captures against servers, and compare the answers with the recorded ones."""
