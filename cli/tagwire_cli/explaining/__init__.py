"""What `tagwire explain` and `tagwire assemble` are made of: input of any form, frames, and how they are shown."""
