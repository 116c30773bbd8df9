"""What the DataLoader is made of: batches from samples, worker processes, batches between processes."""
