import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { faultsOfCommandLine } from '../support/documents/command-lines.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (name: string) => readFileSync(`${root}/${name}`, 'utf8');

/** The instructions of the Dockerfile in order: `COPY`, and what follows it. */
const instructions = read('Dockerfile')
  .replace(/^\s*#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .flatMap(line => {
    const [, name, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [{ name, rest }];
  });
const restsOf = (wanted: string) =>
  instructions.filter(({ name }) => name === wanted).map(({ rest }) => rest);
const last = (wanted: string) => restsOf(wanted).at(-1) ?? '';
/** The words of the exec form. Throws at the shell form, which puts a shell between signals and the gateway. */
const wordsOf = (text: string) => JSON.parse(text.slice(text.indexOf('['))) as string[];

const manifest = JSON.parse(read('package.json')) as {
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};

describe('the Dockerfile', () => {
  it('copies from the repository what is there, and .dockerignore lets nothing else in', () => {
    const sources = restsOf('COPY')
      .filter(rest => !rest.startsWith('--from='))
      .flatMap(rest => rest.split(' ').slice(0, -1));
    const allowed = read('.dockerignore')
      .split('\n')
      .filter(line => line.startsWith('!'))
      .map(line => line.slice(1));
    expect(allowed.filter(path => !existsSync(`${root}/${path}`))).toEqual([]);
    const missing = sources.filter(path => path !== '.' && !allowed.some(each => matchesGlob(path, each)));
    expect(missing).toEqual([]);
    expect(read('.dockerignore')).toMatch(/^\*$/m);
    // What the build reads.
    expect(allowed).toEqual(
      expect.arrayContaining(['src', 'plugins', 'tsconfig.json', 'tsconfig.build.json']),
    );
  });

  it('keeps clients in the image at versions that package.json has', () => {
    const clients = /^CLIENTS="(.*)"$/.exec(last('ARG'))?.[1]?.split(' ') ?? [];
    expect(clients).toContain('pg');
    const { dependencies, devDependencies } = manifest;
    expect(clients.filter(name => !(name in { ...dependencies, ...devDependencies }))).toEqual([]);
  });

  it('starts the command as the first process, as a user that is not root', () => {
    expect(wordsOf(last('ENTRYPOINT'))).toEqual(['sluice']);
    expect(restsOf('RUN').join('\n')).toContain(
      `/app/node_modules/sluice/${manifest.bin.sluice!.slice(2)} /usr/local/bin/sluice`,
    );
    const text = ['sluice', ...wordsOf(last('CMD'))].join(' ');
    expect(faultsOfCommandLine({ place: 'Dockerfile', text })).toEqual([]);
    expect(last('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(last('STOPSIGNAL')).toBe('SIGTERM');
  });

  it('listens outside of the container, at the public port and not at the admin port', () => {
    expect(last('ENV').split(' ')).toContain('HOST=0.0.0.0');
    expect(restsOf('EXPOSE')).toEqual(['8080']);
  });
});

describe("the image's health check", () => {
  let gateway: GatewayUnderTest;
  beforeAll(async () => {
    gateway = await startGateway({ upstream: 'http://127.0.0.1:1/v1' });
  });
  afterAll(() => gateway.close());

  const [, ...args] = wordsOf(last('HEALTHCHECK'));
  const exitCode = (adminUrl: string): Promise<number> =>
    new Promise(resolve => {
      const script = args.map(arg => arg.replace('http://127.0.0.1:8081', adminUrl));
      execFile(process.execPath, script, error => resolve(error ? Number(error.code) : 0));
    });

  it('passes while the gateway is alive, also when it is not ready, and fails without one', async () => {
    expect(args.join(' ')).toContain('http://127.0.0.1:8081/healthz');
    gateway.gateway.markUnready();
    expect((await fetch(`${gateway.adminUrl}/readyz`)).status).toBe(503);
    expect(await exitCode(gateway.adminUrl)).toBe(0);
    expect(await exitCode(`${gateway.url}/v1`)).toBe(1);
    expect(await exitCode('http://127.0.0.1:1')).toBe(1);
  });
});
