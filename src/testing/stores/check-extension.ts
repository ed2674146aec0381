import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { within } from '../../common/within.ts';
import { defaultModels } from '../../config/example-models.ts';
import type { GatewayConfig } from '../../config/schema.ts';
import { createGateway, type Gateway } from '../../mount/gateway.ts';
import type { AnyExtensionDefinition } from '../../records/define-extension.ts';
import { Expectation } from './expectation.ts';

/** Time for a reply, and for the end. */
const patience_ms = 10_000;

/**
 * Checks that an extension answers every request or passes it on, whatever its method and path, follows a reload, and ends: within a gateway
 * in memory, on real sockets. `options` stand in its section. Throws a ContractError that names the extension, what was expected and what came.
 */
export async function checkExtension(
  extension: AnyExtensionDefinition,
  options: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const expect = new Expectation(extension.name);
  const { section } = extension;
  const config = {
    log: { level: 'silent' },
    providers: { none: { adapter: 'openai', base_url: 'http://127.0.0.1:9/v1' } },
    models: defaultModels('none'),
    accounts: { check: { keys: [{ value: 'sk-of-the-check-0123456789' }] } },
    ...(section !== undefined && { [section]: options }),
  } as GatewayConfig;
  const gateway = await createGateway(config, { extensions: [extension], terminal: true });
  try {
    await checkHandlers(gateway, extension.name, expect);
    await gateway.reload(config);
    await checkHandlers(gateway, extension.name, expect);
  } finally {
    const late = () => new Error(`${extension.name} has not ended within ${patience_ms} ms`);
    await within(gateway.close(0), patience_ms, late);
  }
}

async function checkHandlers(gateway: Gateway, name: string, expect: Expectation): Promise<void> {
  const handlers = gateway.extension(name);
  for (const listener of ['admin', 'public'] as const) {
    const passed = (request: IncomingMessage, response: ServerResponse) =>
      handlers[listener](request, response, () => response.writeHead(404).end('passed on'));
    const server = createServer(passed);
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      for (const [method, path] of [
        ['GET', '/'],
        ['GET', '/no-such-page?x=%00'],
        ['POST', '/'],
        ['DELETE', '/%2e%2e/x'],
      ] as const) {
        const answer = fetch(`http://127.0.0.1:${port}${path}`, {
          method,
          redirect: 'manual',
          signal: AbortSignal.timeout(patience_ms),
          ...(method === 'POST' && { body: 'x=1' }),
        });
        const status = await answer.then(
          reply => reply.status,
          (error: unknown) => error,
        );
        const isFine = typeof status === 'number' && status < 500;
        expect.same('answers', `${method} ${path} of ${listener} is not answered`, true, isFine || status);
      }
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }
}
