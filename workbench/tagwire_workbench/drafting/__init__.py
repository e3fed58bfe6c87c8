"""Spec versions as the optional-fields proposal (KIP-482) would have made them."""
