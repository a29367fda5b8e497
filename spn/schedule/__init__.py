"""Nets without chance in their delays: schedules enumerated in exact rational arithmetic, and cycle ratios of event graphs."""
