import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { gateway_core } from '../machine.ts';
import { bare, root, start, startServer } from '../processes.ts';

/** A gateway that runs. */
export interface Gateway {
  readonly port: number;
  /** Of a sidecar. */
  readonly adminUrl?: string;
  /** Without it there is nothing whose CPU could be read. */
  readonly pid?: number;
  /** Request headers that it needs. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Place {
  /** For configurations; removed at the end. */
  readonly directory: string;
  readonly upstream: { readonly port: number; readonly url: string; readonly pid: number };
}

/** A gateway or proxy between the load generator and the upstream. */
export interface Contestant {
  /** Name for `--only`. */
  readonly name: string;
  readonly title: string;
  /** How a stream is asked for; none are measured without it. */
  readonly streamed?: { readonly stream_options?: object; readonly frame_events: number };
  /** Throws an Error that says why it cannot take part. */
  start(place: Place): Promise<Gateway>;
}

export const servers = join(root, 'test/tools/bench/servers.ts');
/** A proxy passes on what the client asks for, so the client asks for what sluice does unasked: usage on every chunk. */
const proxied = { stream_options: { include_usage: true, continuous_usage_stats: true }, frame_events: 3 };

export const direct: Contestant = {
  name: 'direct',
  title: 'no gateway (reference)',
  start: async ({ upstream: { port } }) => ({ port }),
};

const served = (server: string, name: string, title: string): Contestant => ({
  name,
  title,
  streamed: proxied,
  start: ({ upstream }) => startServer(servers, [server, upstream.url], { core: gateway_core, env: bare() }),
});

export const proxy = served('proxy', 'http-proxy-middleware', 'http-proxy-middleware in Express');
export const keepAliveProxy = served(
  'proxy-keep-alive',
  'http-proxy-middleware-keep-alive',
  'http-proxy-middleware with a keep-alive agent',
);
export const handWritten = served('hand-written', 'hand-written', 'a gateway of 80 lines');

/** `proxy_pass`: what a proxy costs that is written in C and looks at nothing. */
export const nginx: Contestant = {
  name: 'nginx',
  title: 'nginx `proxy_pass`',
  streamed: proxied,
  async start({ directory, upstream }) {
    const binary = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx'].find(existsSync);
    if (!binary) throw new Error('nginx is not installed');
    const port = await freePort();
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${directory}/${name};`,
    );
    const endless = 'keepalive_requests 1000000000; keepalive_timeout 1h;';
    writeFileSync(
      join(directory, 'nginx.conf'),
      `daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log stderr error; events { worker_connections 8192; }
http { access_log off; ${endless} ${paths.join(' ')}
  upstream inference { server 127.0.0.1:${upstream.port}; keepalive 1024; ${endless} }
  server { listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://inference; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }`,
    );
    const args = ['-p', directory, '-c', join(directory, 'nginx.conf')];
    const { pid, signal } = start(binary, args, { core: gateway_core });
    // SIGKILL would leave its workers behind.
    process.once('exit', () => signal('SIGTERM'));
    return { port, pid };
  },
};

/** Another gateway on Node, fetched from npm into the user's cache the first time: never a dependency of this repository. */
export const portkey: Contestant = {
  name: 'portkey',
  title: 'Portkey gateway 1.15.2',
  streamed: proxied,
  async start({ upstream }) {
    const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
    const home = join(cache, 'sluice-bench', 'portkey-1.15.2');
    const server = join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js');
    if (!existsSync(server)) {
      mkdirSync(home, { recursive: true });
      const dependencies = { '@portkey-ai/gateway': '1.15.2' };
      // With later versions of the server below it every streamed reply is a 500: response headers have become immutable.
      const overrides = { '@hono/node-server': '1.14.1' };
      writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }));
      install(home, '--ignore-scripts');
    }
    const port = await freePort();
    const args = [server, `--port=${port}`, '--headless'];
    const { pid } = start(process.execPath, args, { core: gateway_core, env: bare() });
    const custom_host = `http://127.0.0.1:${upstream.port}/v1`;
    return { port, pid, headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': custom_host } };
  },
};

const install = (cwd: string, ...options: string[]) =>
  execFileSync('npm', ['install', '--no-audit', '--no-fund', ...options], { cwd, stdio: 'ignore' });
