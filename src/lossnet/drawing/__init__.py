"""What pictures are drawn on; matplotlib is loaded only to draw."""
