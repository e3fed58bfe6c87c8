"""Draft new spec versions with the optional fields that KIP-482's first draft proposed."""
