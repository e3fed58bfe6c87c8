"""A small hand-written package in the form of generated packages."""

from tagwire.frames.registry import Registry

registry = Registry(
    __name__,
    {
        "ChairRecord": ("records", "metadata", 4, "cluster"),
        "PollRequest": ("poll", "request", 7, "clients"),
        "PollResponse": ("poll", "response", 7, "clients"),
        "RequestHeader": ("headers", "header", None, "clients"),
        "ResponseHeader": ("headers", "header", None, "clients"),
        "SeatKey": ("records", "coordinator-key", 2, "group"),
        "SeatValue": ("records", "coordinator-value", 2, "group"),
        "WipeRequest": ("poll", "request", 8, "clients"),
    },
    aliases={"AskRequest": "PollRequest"},
)
