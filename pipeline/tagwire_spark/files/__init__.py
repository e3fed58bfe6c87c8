"""Local and remote files, and commits that publish either all files of a job or none."""
