import { fileURLToPath } from 'node:url';
import { type ExampleProcess, startExample } from './example-process.ts';

/** A Node framework with the gateway in it, as a program that prints its address. */
export interface Host {
  readonly name: string;
  /** Arguments of `node`. */
  readonly program: readonly string[];
  /** Where the gateway's paths begin; '' unless they are below a path. */
  readonly mount: string;
  /** Who answers paths below /v1 that the gateway does not have. */
  readonly unknown: 'gateway' | 'application';
  /** What the application's own error looks like; undefined if a program without a framework has no way to say. */
  readonly broken?: RegExp;
  /** Set if the host compresses replies that are not streams. */
  readonly compresses?: true;
}

const config = fileURLToPath(new URL('../../examples/sidecar/sluice.yaml', import.meta.url));
const host = (name: string, program: readonly string[], more: Partial<Host> = {}): Host => ({
  name,
  program,
  mount: '',
  unknown: 'application',
  ...more,
});
const ofExpress = { broken: /<pre>Error: an error of the application/, compresses: true } as const;
const plainly = { broken: /^Internal Server Error$/ };
const inJson = { broken: /"message":"an error of the application"/, unknown: 'gateway' } as const;

export const hosts: readonly Host[] = [
  host('Express 5', ['examples/mounted/server.ts'], ofExpress),
  host('Express 4', ['--import=./test/support/express-4.ts', 'examples/mounted/server.ts'], ofExpress),
  host('node:http', ['examples/hosts/node-http.ts', config]),
  host('Fastify', ['examples/hosts/fastify.ts', config], inJson),
  host('Koa', ['examples/hosts/koa.ts', config], plainly),
  host('Hono', ['examples/hosts/hono.ts', config], plainly),
  host('Next.js, an API route', ['test/support/next-pages.ts'], { mount: '/api', unknown: 'gateway' }),
];

/** Starts all of them at once in front of `upstream`, with one account of the key `key`. */
export async function startHosts(upstream: string, key: string): Promise<ReadonlyMap<Host, ExampleProcess>> {
  const environment = { UPSTREAM_URL: upstream, DEMO_KEY: key, SLUICE_CONFIG: config, PORT: '0' };
  const started = hosts.map(async host => [host, await startExample(host.program, environment)] as const);
  return new Map(await Promise.all(started));
}
