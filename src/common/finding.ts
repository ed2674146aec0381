/** One thing that was looked at, what was found, and what to do about it: a line of `sluice doctor`. */
export interface Finding {
  /** `ok`: it works. `warning`: it may become a fault. `fault`: it does not work. */
  readonly status: 'ok' | 'warning' | 'fault';
  /** Such as `provider local` or `records store`. */
  readonly thing: string;
  /** What was found. */
  readonly found: string;
  /** What to do about it. */
  readonly remedy?: string;
}

const ok = (thing: string, found: string): Finding => ({ status: 'ok', thing, found });

const warning = (thing: string, found: string, remedy: string): Finding => ({
  status: 'warning',
  thing,
  found,
  remedy,
});

const fault = (thing: string, found: string, remedy: string): Finding => ({
  status: 'fault',
  thing,
  found,
  remedy,
});

/** Makes findings: that something is well, may become a fault, or is one, with what to do about it. */
export const finding = { ok, warning, fault };
