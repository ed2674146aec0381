import type { ExtensionContext } from '../../records/define-extension.ts';
import type { ProviderControl } from '../../records/provider-controls.ts';
import { type ProviderState, providerStates } from '../../records/provider-states.ts';
import { type ChangedBy, operatorNow } from './administrator.ts';

/** How something is set of a provider. */
export interface ControlledBy extends ChangedBy {
  /** Unix milliseconds at which it ends by itself; by default it stays until it is changed. */
  readonly until_ms?: number;
  /** Why, for other operators; at most 200 characters. */
  readonly reason?: string;
}

/**
 * The providers, and what attempts find there now. What is set of one replaces what was set before, at every instance. Changes reject with
 * NotThere for a provider that is not in the configuration, and with RecordRefused for values that cannot be.
 */
export interface GatewayProviders {
  /** All of them, in the order of the configuration. */
  list(): Promise<ProviderState[]>;
  /** One by its name; undefined if there is none. */
  get(name: string): Promise<ProviderState | undefined>;
  /** Lets no attempt begin at a provider; those that run go on. */
  pause(name: string, by?: ControlledBy): Promise<ProviderControl>;
  /** Lets no request begin at a provider; requests that run go on there, with further attempts. */
  drain(name: string, by?: ControlledBy): Promise<ProviderControl>;
  /** Replaces the weights that a provider's upstreams have in the configuration; 0 drains it. */
  weight(name: string, weight: number, by?: ControlledBy): Promise<ProviderControl>;
  /** Lets a provider be as the configuration has it. False if nothing was set. */
  resume(name: string, by?: ChangedBy): Promise<boolean>;
}

/** The providers of the gateway that `context` is of. */
export function gatewayProviders(context: ExtensionContext): GatewayProviders {
  const { clock, controls } = context;
  const optionsOf = ({ actor, ...options }: ControlledBy = {}) => ({
    ...options,
    operator: operatorNow(clock, { actor }),
  });
  return {
    list: () => providerStates(context),
    get: async name => (await providerStates(context)).find(provider => provider.name === name),
    pause: (name, by) => controls.pause(name, optionsOf(by)),
    drain: (name, by) => controls.drain(name, optionsOf(by)),
    weight: (name, weight, by) => controls.weight(name, weight, optionsOf(by)),
    resume: (name, by) => controls.resume(name, operatorNow(clock, by)),
  };
}
