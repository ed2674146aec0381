import { allStages, chainOf, proxyTo, settlements } from './chain-app.ts';
import { alongside, type RunningApp, startApp } from './express-app.ts';
import { clientKey } from './gateway-under-test.ts';
import { RawConnection } from './raw-client.ts';

/** All stages in front of the proxy, and how the exchanges ended. */
export async function proxied(upstream: { url: string }, options: Parameters<typeof chainOf>[1] = {}) {
  const { outcomes, stage } = settlements();
  const app = await startApp(app => app.use(chainOf([stage, ...allStages()], options), proxyTo(upstream)));
  return { app, outcomes };
}

/** A connection of a client that `closeApps` ends. */
export function connected(app: RunningApp): RawConnection {
  const connection = new RawConnection(app.url);
  alongside({ close: () => connection.destroy() });
  return connection;
}

/** A request with the key, as it goes over the wire. */
export const requestOf = (body: object, path = '/v1/chat/completions', more: object = {}): string => {
  const text = JSON.stringify(body);
  const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json', ...more };
  const lines = Object.entries({ host: 'x', ...headers, 'content-length': Buffer.byteLength(text) });
  return `POST ${path} HTTP/1.1\r\n${lines.map(line => `${line.join(': ')}\r\n`).join('')}\r\n${text}`;
};
