import type { ExtensionContext, ProviderStatus } from '../../records/define-extension.ts';

/** A provider, and what attempts find there now. */
export interface GatewayProvider extends ProviderStatus {
  /** Name of its adapter. */
  readonly adapter: string;
  /** Where it is. */
  readonly address: { readonly host: string; readonly port: number };
}

/** The providers, as this instance sees them. */
export interface GatewayProviders {
  /** All of them, in the order of the configuration. */
  list(): Promise<GatewayProvider[]>;
  /** One by its name; undefined if there is none. */
  get(name: string): Promise<GatewayProvider | undefined>;
}

/** The providers of the gateway that `context` is of. */
export function gatewayProviders(context: ExtensionContext): GatewayProviders {
  const list = async () => {
    const { providers } = await context.server.all();
    return context.providers.flatMap(({ name, adapter, address }) => {
      const status = providers.find(one => one.name === name);
      return status ? [{ ...status, adapter, address }] : [];
    });
  };
  return { list, get: async name => (await list()).find(provider => provider.name === name) };
}
