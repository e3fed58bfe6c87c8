"""What unknown bytes may be, and which of two readings is the likelier."""
