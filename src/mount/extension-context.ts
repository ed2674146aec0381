import type { ExtensionContext, ListedProvider } from '../records/define-extension.ts';
import type { Log } from '../telemetry/log.ts';
import { pluginMetrics } from '../telemetry/metric-factory.ts';
import type { Parts } from './assemble.ts';
import { providerSwitch } from './controls/provider-switch.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { GatewayService } from './gateway-service.ts';

/** What extensions see of a gateway, each under its name. `handler` is the gateway for their own requests. */
export function extensionContexts(
  service: GatewayService,
  { operatorOf, publicUrl }: GatewayOptions,
  { handler, reload }: Pick<ExtensionContext, 'handler' | 'reload'>,
): (name: string) => ExtensionContext {
  const { clock, log, metrics, state, records, terminal } = service.parts;
  const controls = providerSwitch(records, () => service.parts.providers.map(({ name }) => name));
  return name => ({
    clock,
    log: log.child({ extension: name }),
    metrics: pluginMetrics(metrics.registry, name),
    state,
    records: {
      store: records.store,
      isMemory: service.parts.settings.records.place.isMemory === true,
      refresh: () => records.refresh(),
      watch: watcher => records.ledger.watch(guarded(watcher, log.child({ extension: name }))),
    },
    configured: records.configured,
    controls,
    operatorOf,
    server: service.server,
    running: service.exchanges,
    reload,
    handler,
    isWorker: service.isWorker,
    terminal,
    publicUrl: () => service.parts.settings.server.public_url ?? publicUrl?.(),
    isClosing: () => service.isClosing,
    sourceOf: path => service.parts.settings.sourceOf(path),
    async testProvider(provider, model) {
      const { testProvider } = await import('./provider-check/test-provider.ts');
      return testProvider(service.parts.settings, provider, model);
    },
    upstreamsOf: model => service.parts.router.upstreamsOf(model),
    get settings() {
      return service.parts.settings;
    },
    get catalog() {
      return service.parts.catalog;
    },
    get application() {
      return service.parts.application;
    },
    get providers() {
      return listed(service.parts);
    },
  });
}

/** A function of an extension, whose faults are its own. */
const guarded =
  <T>(act: (given: T) => void, log: Log) =>
  (given: T): void => {
    try {
      act(given);
    } catch (err) {
      log.error({ err, part: 'watch' }, 'an extension failed');
    }
  };

function listed({ providers, settings, records }: Parts): ListedProvider[] {
  const adapters = new Map(settings.providers.map(({ name, definition }) => [name, definition.name]));
  return providers.map(({ name, address, config }) => ({
    name,
    address,
    config,
    control: records.controls.current.get(name)?.record,
    adapter: adapters.get(name)!,
  }));
}
