import { NoAnswer } from '../ask-server.ts';

/** One thing that was looked at, what was found, and what to do about it. */
export interface Finding {
  readonly status: 'ok' | 'warning' | 'fault';
  /** Such as `provider local` or `records store`. */
  readonly thing: string;
  readonly found: string;
  readonly remedy?: string;
}

export const ok = (thing: string, found: string): Finding => ({ status: 'ok', thing, found });

export const warning = (thing: string, found: string, remedy: string): Finding => ({
  status: 'warning',
  thing,
  found,
  remedy,
});

export const fault = (thing: string, found: string, remedy: string): Finding => ({
  status: 'fault',
  thing,
  found,
  remedy,
});

/** Finding for what a check has thrown; `remedy` for errors that bring none of their own. */
export function faultOf(thing: string, thrown: unknown, remedy: string): Finding {
  const message = (thrown as Error).message.split('\n')[0]!;
  return fault(thing, message, thrown instanceof NoAnswer ? thrown.remedy : remedy);
}
