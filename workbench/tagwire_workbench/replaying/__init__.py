"""Playing captures against servers, and comparing the answers with those that were recorded."""
