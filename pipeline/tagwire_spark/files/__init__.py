"""Access local and remote files, and publish the files of a job atomically: either all of them or none."""
