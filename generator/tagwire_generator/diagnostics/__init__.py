"""Problems with their places, all rules with their ids, and an example of each rule."""
