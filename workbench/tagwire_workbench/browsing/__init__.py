"""`tagwire browse`: captures and logs in a terminal. Only the widgets depend on textual."""
