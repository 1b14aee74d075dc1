"""Public traces of GPU fleets: scheduling, attempts, states and GPU time, so that people can start without own data."""
