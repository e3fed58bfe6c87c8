"""`tagwire browse`: show captures and logs in a terminal. Only the widget modules import textual."""
