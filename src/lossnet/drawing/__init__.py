"""Pages and figures to draw on; matplotlib is loaded only to draw."""
