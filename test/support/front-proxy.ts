import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { PrintingProcess } from './printing-process.ts';
import { pathOf } from './programs.ts';
import { selfSigned } from './self-signed-certificate.ts';
import { trustCertificate } from './trusted-certificates.ts';
import { until } from './until.ts';

/** Two gateways behind a proxy: their public addresses, `HOST:PORT`, and the one admin port of both. */
export interface Gateways {
  readonly addresses: readonly [string, string];
  readonly adminPort: number;
}

/** A real proxy that runs one of the examples, with TLS. This process trusts its certificate until `stop`. */
export interface FrontProxy {
  readonly url: string;
  stop(): Promise<void>;
}

interface Files {
  readonly directory: string;
  readonly port: number;
  readonly cert: string;
  readonly key: string;
}

/** The text of a file of the examples. */
export const example = (path: string) =>
  readFileSync(new URL(`../../examples/${path}`, import.meta.url), 'utf8');

/** `text` with every one of these texts replaced. Throws if one is not there: then the example has changed. */
export function replaced(text: string, pairs: readonly (readonly [string, string])[]): string {
  return pairs.reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`the example has no '${from}'`);
    return result.replaceAll(from, to);
  }, text);
}

/** nginx with examples/nginx/sluice.conf, in which addresses and files are these. */
export async function startNginx({ addresses }: Gateways): Promise<FrontProxy> {
  const program = pathOf('nginx');
  return start(({ directory, port, cert, key }) => {
    const site = replaced(example('nginx/sluice.conf'), [
      ['10.0.0.11:8080', addresses[0]],
      ['10.0.0.12:8080', addresses[1]],
      ['fail_timeout=5s', 'fail_timeout=1s'],
      ['listen 443', `listen 127.0.0.1:${port}`],
      ['/etc/ssl/llm.example.com.crt', cert],
      ['/etc/ssl/llm.example.com.key', key],
    ]);
    const user = process.getuid?.() === 0 ? 'user root;' : '';
    const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${directory}/${name};`,
    );
    const main = `${user} daemon off; pid ${directory}/pid; error_log stderr; events {}
      http { access_log off; ${folders.join(' ')} include ${directory}/site.conf; }`;
    writeFileSync(join(directory, 'site.conf'), site);
    writeFileSync(join(directory, 'nginx.conf'), main);
    return new PrintingProcess(program, ['-p', directory, '-c', join(directory, 'nginx.conf')]);
  });
}

/** Caddy with examples/caddy/Caddyfile, in which addresses, ports and the certificate are these. */
export const startCaddy = (gateways: Gateways): Promise<FrontProxy> =>
  startCaddyWith('caddy/Caddyfile', 'llm.example.com {', '10.0.0.11:8080 10.0.0.12:8080', gateways);

/** The same with the Caddyfile of examples/docker-compose. */
export const startComposedCaddy = (gateways: Gateways): Promise<FrontProxy> =>
  startCaddyWith('docker-compose/Caddyfile', '{$SITE} {', 'gateway-1:8080 gateway-2:8080', gateways);

async function startCaddyWith(
  path: string,
  site: string,
  upstreams: string,
  { addresses, adminPort }: Gateways,
): Promise<FrontProxy> {
  const program = pathOf('caddy');
  return start(({ directory, port, cert, key }) => {
    const text = replaced(example(path), [
      [site, `https://127.0.0.1:${port} {\n\ttls ${cert} ${key}`],
      [upstreams, addresses.join(' ')],
      ['fail_duration 5s', 'fail_duration 1s'],
      ['health_port 8081', `health_port ${adminPort}`],
    ]);
    const file = join(directory, 'Caddyfile');
    writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${text}`);
    const env = { ...process.env, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory };
    return new PrintingProcess(program, ['run', '--adapter', 'caddyfile', '--config', file], { env });
  });
}

async function start(run: (files: Files) => PrintingProcess): Promise<FrontProxy> {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-proxy-'));
  const files = { directory, port: await freePort(), cert: `${directory}/cert`, key: `${directory}/key` };
  const certificate = selfSigned(new Date(Date.now() + 86_400_000));
  writeFileSync(files.cert, certificate.cert);
  writeFileSync(files.key, certificate.key);
  const distrust = trustCertificate(certificate.cert);
  const server = run(files);
  await until(() => {
    if (server.hasEnded()) throw new Error(`the proxy has ended: ${server.output()}`);
    return isListening(files.port);
  });
  return {
    url: `https://127.0.0.1:${files.port}`,
    async stop() {
      server.signal('SIGTERM');
      await server.exited;
      distrust();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    }).once('error', () => resolve(false));
  });
}
