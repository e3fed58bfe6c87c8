"""Packages of proposals, one for each spec set; they claim the same names and API keys, so each stands alone."""
