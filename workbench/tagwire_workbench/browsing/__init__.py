"""`tagwire browse`: captures and logs in a terminal; what is not a widget knows nothing of textual."""
