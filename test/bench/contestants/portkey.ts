import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../support/free-port.ts';
import { gateway_core } from '../children.ts';
import { type Contestant, proxied, Unavailable } from './contestant.ts';

const name = '@portkey-ai/gateway';
const version = '1.15.2';
/** With later versions of the server below it every streamed reply is a 500: response headers have become immutable. */
const overrides = { '@hono/node-server': '1.14.1' };
const install_patience_ms = 180_000;

/** Another gateway on Node. Fetched from npm into the user's cache the first time: never a dependency of this repository. */
export const portkey: Contestant = {
  name: 'portkey',
  title: 'Portkey gateway',
  task: 'chat',
  streamed: [proxied],
  async start({ children, upstream_port }) {
    const server = join(await installed(), 'build', 'start-server.js');
    const port = await freePort();
    const { pid } = children.start(gateway_core, process.execPath, [server, `--port=${port}`, '--headless']);
    const headers = {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstream_port}/v1`,
    };
    return {
      port,
      pid,
      version: `${version} on @hono/node-server ${overrides['@hono/node-server']}`,
      headers,
    };
  },
};

/** Where the package is; installs it without running scripts if it is not there. */
async function installed(): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const directory = join(cache, 'sluice-bench', `portkey-${version}`);
  const place = join(directory, 'node_modules', name);
  if (existsSync(join(place, 'build', 'start-server.js'))) return place;
  try {
    mkdirSync(directory, { recursive: true });
    const dependencies = { [name]: version };
    writeFileSync(
      join(directory, 'package.json'),
      JSON.stringify({ private: true, dependencies, overrides }),
    );
    const options = ['--ignore-scripts', '--no-audit', '--no-fund'];
    await promisify(execFile)('npm', ['install', '--prefix', directory, ...options], {
      cwd: directory,
      timeout: install_patience_ms,
    });
  } catch (cause) {
    throw new Unavailable(`npm could not install ${name}@${version}`, { cause });
  }
  return place;
}
