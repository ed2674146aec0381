import type { Express } from 'express';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { createGateway, type Gateway, type GatewayOptions } from '../../src/index.ts';
import { closeApps, type RunningApp, startApp } from './express-app.ts';
import { sidecarConfig } from './sidecar-process.ts';

const gateways: Gateway[] = [];

/** A gateway to be mounted, with the example catalog and the account of `clientKey`. */
export async function mountable(
  upstream: { readonly url: string },
  sections: Partial<GatewayConfig> = {},
  options: GatewayOptions = {},
): Promise<Gateway> {
  const gateway = await createGateway(
    sidecarConfig(upstream.url, { log: { level: 'silent' }, ...sections }),
    options,
  );
  gateways.push(gateway);
  return gateway;
}

/** An application that mounts a gateway in front of `upstream`, after what it has had there all along. */
export async function mounted(
  upstream: { readonly url: string },
  before: (app: Express) => unknown = () => {},
  sections: Partial<GatewayConfig> = {},
  options: GatewayOptions = {},
): Promise<RunningApp & { readonly gateway: Gateway; readonly chat: string }> {
  const gateway = await mountable(upstream, sections, options);
  const app = await startApp(async app => {
    await before(app);
    app.use(gateway);
  });
  return { ...app, gateway, chat: `${app.url}/v1/chat/completions` };
}

/** For afterEach. */
export async function closeMounted(): Promise<void> {
  await Promise.all(gateways.splice(0).map(gateway => gateway.close(0)));
  await closeApps();
}
