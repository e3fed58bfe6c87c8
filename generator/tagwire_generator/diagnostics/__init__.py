"""Problems and their positions, all rules and their IDs, and examples of each rule."""
