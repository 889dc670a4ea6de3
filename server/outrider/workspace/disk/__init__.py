"""Files on disk, below folder descriptors."""
