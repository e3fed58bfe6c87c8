"""The views: strings resolved for each version, which templates print; and the rendering."""
