"""Problems in specs, the rules that specs must follow, and examples of each rule."""
