"""Draft spec versions as the optional-fields proposal (the first draft of KIP-482) would have created them."""
