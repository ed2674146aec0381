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
const express = {
  mount: '',
  unknown: 'application',
  broken: /<pre>Error: an error of the application/,
  compresses: true,
} as const;

export const hosts: readonly Host[] = [
  { name: 'Express 5', program: ['examples/mounted/server.ts'], ...express },
  {
    name: 'Express 4',
    program: ['--import=./test/support/express-4.ts', 'examples/mounted/server.ts'],
    ...express,
  },
  {
    name: 'node:http',
    program: ['examples/hosts/node-http.ts', config],
    mount: '',
    unknown: 'application',
  },
  {
    name: 'Fastify',
    program: ['examples/hosts/fastify.ts', config],
    mount: '',
    unknown: 'gateway',
    broken: /"message":"an error of the application"/,
  },
  {
    name: 'Koa',
    program: ['examples/hosts/koa.ts', config],
    mount: '',
    unknown: 'application',
    broken: /^Internal Server Error$/,
  },
  {
    name: 'Hono',
    program: ['examples/hosts/hono.ts', config],
    mount: '',
    unknown: 'application',
    broken: /^Internal Server Error$/,
  },
  {
    name: 'Next.js, an API route',
    program: ['test/support/next-pages.ts'],
    mount: '/api',
    unknown: 'gateway',
  },
];

/** Starts all of them at once in front of `upstream`, with one account of the key `key`. */
export async function startHosts(upstream: string, key: string): Promise<ReadonlyMap<Host, ExampleProcess>> {
  const environment = { UPSTREAM_URL: upstream, DEMO_KEY: key, SLUICE_CONFIG: config, PORT: '0' };
  const started = hosts.map(async host => [host, await startExample(host.program, environment)] as const);
  return new Map(await Promise.all(started));
}
