"""What was found, and how it is told: problems with their places, every rule with its id, an example of each rule."""
