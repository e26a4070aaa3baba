"""One algorithm per file; pure state machines: state in, state out."""
