"""Single fields of messages: read and rewritten in the bytes, without objects for the rest."""
