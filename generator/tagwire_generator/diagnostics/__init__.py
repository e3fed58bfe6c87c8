"""Problems with their positions, all rules with their ids, and an example of each rule."""
