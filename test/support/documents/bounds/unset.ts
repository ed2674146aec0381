import type { Bound } from '../numbers.ts';

/** Numbers that no code sets: what was measured once, what systems have, and advice. */
export const unsetBounds: readonly Bound[] = [
  // Measured.
  { says: 'o200k, about {} MB of memory', is: 70 },
  { says: 'may wait there; about {} kB each', is: 1.5 },
  // Linux.
  { says: 'A port below {} needs', is: 1024 },
  // Advice.
  { says: 'A container of {} GiB is enough', is: 1 },
  { says: 'functions of at most about {} lines', is: 40 },
];
