import type { IncomingMessage } from 'node:http';
import type { ConfigSource } from '../config/load.ts';
import type { Gateway } from './gateway.ts';
import type { GatewayOptions } from './gateway-options.ts';

/**
 * Creates the gateway as a handler for `app.use`. Throws a ConfigError that lists every mistake of the configuration, or an error that says
 * why the records store cannot be used. Its first call loads what only a whole gateway needs: half of all modules, which `createChain` and
 * single stages do without.
 */
export async function createGateway<R extends IncomingMessage = IncomingMessage>(
  source: ConfigSource,
  given: GatewayOptions<R> = {},
): Promise<Gateway> {
  const gateway = await import('./gateway.ts');
  const created = await gateway.createGateway(source, given);
  if (created.settings.server.workers !== 1)
    created.log.warn('server.workers: has no effect in an application, which has its own processes');
  return created;
}
