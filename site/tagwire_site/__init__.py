"""The documentation site: pages made from the repository and the specs, which Zensical then renders."""
