/** Lengths of time, in milliseconds. A day of the calendar has as many in UTC. */
export const minute_ms = 60_000;
/** An hour. */
export const hour_ms = 60 * minute_ms;
/** A day. */
export const day_ms = 24 * hour_ms;
