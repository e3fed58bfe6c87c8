"""Make data classes and record formats in memory, from which layouts are expanded."""
