"""Arrays in, arrays out: the mathematics, without memory."""
