import type { ExtensionContext, ListedProvider, ProviderStatus } from './define-extension.ts';

/** A provider as it is configured, and as all processes of the server together see it. */
export type ProviderState = ListedProvider & ProviderStatus;

/** Every provider, in the order of the configuration. */
export async function providerStates({
  providers,
  server,
}: Pick<ExtensionContext, 'providers' | 'server'>): Promise<ProviderState[]> {
  const seen = new Map((await server.all()).providers.map(provider => [provider.name, provider]));
  return providers.flatMap(provider => {
    const status = seen.get(provider.name);
    return status ? [{ ...status, ...provider }] : [];
  });
}
