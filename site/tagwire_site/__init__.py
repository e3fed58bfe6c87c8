"""The documentation site: pages made from the repository and the specs, which a documentation tool then renders."""
