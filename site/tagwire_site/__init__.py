"""Create the pages of the documentation site from the repository and the specs. Zensical then renders them."""
