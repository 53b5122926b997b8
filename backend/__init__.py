"""Everything that isn't a page: records, run folders, environments, rewards, the queue and the trainer."""
