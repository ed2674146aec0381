import type { Operator } from './audit-log.ts';
import { RecordRefused } from './record-errors.ts';

/** What operators can set of a provider. */
export const controlStates = ['active', 'paused', 'draining'] as const;

/** What an operator has set of a provider, in place of whatever was set before. */
export interface ProviderControl extends Pick<Operator, 'actor' | 'at_ms'> {
  /** Name of the provider. */
  readonly provider: string;
  /** `paused`: no attempt begins there. `draining`: no new request goes there. `active`: it has another weight. */
  readonly state: (typeof controlStates)[number];
  /** In place of the weights that its upstreams have in the configuration, 0 for the same as `draining`; null unless `active`. */
  readonly weight: number | null;
  /** Unix milliseconds at which it ends by itself, by the clock of each instance; null: it stays until it is changed. */
  readonly until_ms: number | null;
  /** Why, for other operators; empty for no reason. */
  readonly reason: string;
}

/** What an operator sets. */
export type NewControl = Pick<ProviderControl, 'provider' | 'state' | 'weight' | 'until_ms' | 'reason'>;

/** Controls of providers in a records store: one for each provider, which all instances follow. */
export interface ProviderControls {
  /** All of them, by the names of the providers; also those that have ended by themselves and were not replaced. */
  list(): Promise<ProviderControl[]>;
  /** Sets the control of a provider, which the store need not know, in place of the one before. Throws RecordRefused for one that cannot be. */
  set(control: NewControl, operator: Operator): Promise<ProviderControl>;
  /** Lets a provider be as the configuration has it. False if nothing was set. */
  clear(provider: string, operator: Operator): Promise<boolean>;
}

/** How something is set of a provider. */
export interface ControlOptions {
  /** Who sets it, and when. */
  readonly operator: Operator;
  /** Unix milliseconds at which it ends by itself; by default it stays until it is changed. */
  readonly until_ms?: number | null | undefined;
  /** Why, for other operators. */
  readonly reason?: string | undefined;
}

/**
 * Takes providers out of service and back, at every instance. What is set replaces what was set of the provider before, also the weight. Rejects
 * with NotThere for a provider that is not in the configuration, and with RecordRefused for values that cannot be, or by a store without
 * controls.
 */
export interface ProviderSwitch {
  /** What is in force. */
  all(): readonly ProviderControl[];
  /** Lets no attempt begin at a provider; those that run go on. */
  pause(provider: string, options: ControlOptions): Promise<ProviderControl>;
  /**
   * Lets no request begin at a provider. Requests that run go on there, also those that wait for a permit or for another attempt, and with
   * `routing.sticky` conversations.
   */
  drain(provider: string, options: ControlOptions): Promise<ProviderControl>;
  /** Replaces the weights that a provider's upstreams have in the configuration; 0 drains it. */
  weight(provider: string, weight: number, options: ControlOptions): Promise<ProviderControl>;
  /** Lets a provider be as the configuration has it. False if nothing was set. */
  resume(provider: string, operator: Operator): Promise<boolean>;
}

/** Characters of a reason. */
export const max_reason = 200;
/** The greatest weight. */
export const max_weight = 1_000_000;

/** Throws RecordRefused for a control that cannot be at this time. */
export function checkControl({ state, weight, until_ms, reason }: NewControl, now_ms: number): void {
  const fault = faultOf(state, weight) ?? faultOfReason(reason);
  if (fault !== undefined) throw new RecordRefused(fault);
  if (until_ms !== null && !(until_ms > now_ms))
    throw new RecordRefused('the end of a control must be in the future');
}

function faultOf(state: string, weight: number | null): string | undefined {
  if (!controlStates.some(one => one === state)) return `a provider cannot be '${state}'`;
  if ((state === 'active') !== (weight !== null))
    return 'a weight, and nothing else, is set of an active provider';
  const isWeight = weight === null || (weight >= 0 && weight <= max_weight);
  return isWeight ? undefined : `a weight is a number from 0 to ${max_weight}`;
}

function faultOfReason(reason: string): string | undefined {
  const isReason = reason.length <= max_reason && reason.isWellFormed() && !/\p{Cc}/u.test(reason);
  return isReason
    ? undefined
    : `a reason has ${max_reason} characters at most, none of them control characters`;
}
