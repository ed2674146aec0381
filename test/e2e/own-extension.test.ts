import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineExtension, defineRecordsStore, openSqlite, sqlRecords } from '../../src/published.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { startApp } from '../support/express-app.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { until } from '../support/until.ts';

const report = join(import.meta.dirname, '../../examples/own-extension/usage-report.ts');
let simulator: Simulator;
let gateway: GatewayUnderTest | undefined;

type Config = NonNullable<Parameters<typeof startGateway>[0]['config']>;

async function start(config: Config, options: object = {}): Promise<GatewayUnderTest> {
  simulator = await startSimulator();
  gateway = await startGateway({ upstream: simulator, config, options });
  return gateway;
}

afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
  await closeMounted();
  await simulator.close();
});

describe("an extension of one's own", () => {
  it('serves operators with the records, and clients with the state of the server', async () => {
    const { adminUrl, url, post, metric } = await start({
      extensions: [report],
      usage_report: { title: 'Aion' },
    } as Config);
    await (await post(ask('[[sim:say=Yes]]', { stream: false }))).json();
    const used = async () => (await (await fetch(`${adminUrl}/usage-report`)).json()) as unknown[];
    await until(async () => (await used()).length > 0, 5000);
    expect(await used()).toEqual([expect.objectContaining({ account: 'tester', requests: 1, plan: null })]);
    expect(await (await fetch(`${url}/usage-report`)).text()).toContain('<title>Aion</title><p>All is well.');
    expect(await metric('sluice_usage_report_requests_total')).toBeGreaterThan(0);
  });

  it('follows a reload with its options', async () => {
    const { url, gateway: running } = await start({ extensions: [report] } as Config);
    const text = async () => (await fetch(`${url}/usage-report`)).text();
    expect(await text()).toContain('<title>Service status</title>');
    await running.reload({
      ...(running.settings.source as object),
      usage_report: { title: 'Reloaded' },
    } as never);
    expect(await text()).toContain('<title>Reloaded</title>');
  });

  it('is refused with its place for a wrong option, a taken name, and a module without one', async () => {
    const mistakes = (config: object) =>
      start(config as Config).then(
        () => 'started',
        ({ message }: Error) => message,
      );
    expect(await mistakes({ extensions: [report], usage_report: { titel: 'x' } })).toContain(
      "usage_report.titel: unknown name; did you mean 'title'?",
    );
    await simulator.close();
    expect(await mistakes({ extensions: [report, './nowhere.ts'] })).toMatch(
      /extensions\[1\]: cannot be loaded: there is no file/,
    );
    await simulator.close();
    for (const [name, why] of [
      ['dashboard', 'the name dashboard is taken by another extension'],
      ['metrics', 'the name metrics is taken by the admin listener itself'],
      ['server', 'its section server is taken in the configuration'],
    ] as const) {
      const taken = defineExtension({ name, schema: z.strictObject({}), open: () => ({}) });
      expect(await start({}, { extensions: [taken] }).catch(({ message }) => message)).toContain(why);
      await simulator.close();
    }
  });

  it('is mounted by an application where it wants, calls the gateway as a client, and ends with it', async () => {
    const ends: string[] = [];
    const asking = defineExtension({
      name: 'asking',
      open: ({ handler, isClosing }) => ({
        admin: (request, response, next) =>
          handler(Object.assign(request, { url: '/v1/models', originalUrl: '/v1/models' }), response, next),
        drain: () => void ends.push(`drain ${isClosing()}`),
        close: () => void ends.push('close'),
      }),
    });
    simulator = await startSimulator();
    const mounted = await mountable(simulator, {}, { extensions: [asking] });
    const app = await startApp(express => express.use('/inside', mounted.extension('asking').admin));
    const listed = (await (await fetch(`${app.url}/inside`)).json()) as { data: unknown[] };
    expect(listed.data.length).toBeGreaterThan(0);
    expect((await fetch(`${app.url}/inside`, { method: 'DELETE' })).status).toBe(405);
    await app.close();
    await mounted.close();
    expect(ends).toEqual(['drain true', 'close']);
  });
});

describe('an extension that fails', () => {
  it('takes no other request with it, whatever of it throws or rejects', async () => {
    class Failing {
      admin = async () => {
        throw new Error('admin');
      };
      public(): never {
        throw new Error('public');
      }
      configure(): never {
        throw new Error('configure');
      }
      drain(): never {
        throw new Error('drain');
      }
    }
    const failing = defineExtension({ name: 'failing', open: () => new Failing() });
    const lines: string[] = [];
    const log = {
      debug() {},
      info() {},
      warn() {},
      error: (...given: unknown[]) => void lines.push(String(given.at(-1))),
    };
    const { adminUrl, url, post, gateway: running } = await start({}, { extensions: [failing], log });
    for (const at of [adminUrl, url]) expect((await fetch(`${at}/failing`)).status).toBe(500);
    await running.reload();
    running.markUnready();
    expect((await post(ask('[[sim:say=Yes]]', { stream: false }))).status).toBe(200);
    expect(lines.filter(line => line === 'an extension failed')).toHaveLength(4);
  });

  it('keeps the gateway from starting where it does not open, or is none', async () => {
    const open = (opened: () => object) =>
      start({}, { extensions: [defineExtension({ name: 'broken', open: opened as never })] }).then(
        () => 'started',
        ({ message }: Error) => message,
      );
    expect(await open(() => Promise.reject(new Error('no disk')))).toContain('no disk');
    await simulator.close();
    expect(await open(() => ({ admn: () => {} }))).toMatch(
      /what open of the extension broken returns[\s\S]*admn: unknown name/,
    );
  });
});

describe("a records store of one's own", () => {
  it('is named by stores.records, and keeps what any other keeps', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-shelf-'));
    let places = 0;
    const shelf = defineRecordsStore({
      name: 'shelf',
      form: 'shelf:NAME',
      placeOf(text) {
        const name = /^shelf:(\w+)$/.exec(text)?.[1];
        if (name === undefined) return undefined;
        places++;
        const file = join(folder, `${name}.db`);
        return { name: text, file, open: async () => sqlRecords(await openSqlite(file)) };
      },
    });
    const stores = { stores: [shelf] };
    const { post, gateway: running } = await start({ stores: { records: 'shelf:one' } }, stores);
    await (await post(ask('[[sim:say=Yes]]', { stream: false }))).json();
    expect(places).toBe(1);
    expect(running.settings.records.place.name).toBe('shelf:one');
    await gateway!.close();
    await simulator.close();
    await expect(start({ stores: { records: 'shelf' } }, stores)).rejects.toThrow(
      /stores\.records: must be memory, sqlite:PATH .*, or shelf:NAME/,
    );
    await rm(folder, { recursive: true });
  });
});
