"""Where files lie, here or far away, and how all files of a job come to be there, or none."""
