"""Local and remote files, and commits that publish all files of a job or none."""
