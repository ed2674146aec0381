import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { post } from '../support/chain-app.ts';
import { runHere } from '../support/command-here.ts';
import { ask, eventsOf } from '../support/gateway-under-test.ts';
import { send } from '../support/raw-client.ts';
import { endServed, type SidecarHere, serveFileHere } from '../support/sidecar-here.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A stage that leaves a mark at each of its hooks. */
const marking = (name: string, factory: string) => `
import { defineStage, fromGenerator } from 'sluice/plugin';
import { z } from 'zod';
${factory} defineStage({
  name: '${name}',
  schema: z.strictObject({ mark: z.string().length(1), loud: z.boolean().default(false) }),
  create: ({ mark }) => {
    const at = (exchange, hook) => {
      exchange.replyHeaders['x-way'] = (exchange.replyHeaders['x-way'] ?? '') + mark + hook;
    };
    return {
      onHeaders: exchange => at(exchange, 'h'),
      onRequest: async exchange => at(exchange, 'r'),
      onReply(_, reply) {
        for (const { message } of reply.choices) message.content += mark;
        return reply;
      },
      onStream: () =>
 fromGenerator(async function* (chunks) {
        for await (const chunk of chunks) {
          for (const { delta } of chunk.choices) if (delta.content) delta.content += mark;
          yield chunk;
        }
      }),
      onSettled: ({ log }, { status }) => log.info({ status }, 'settled by ' + mark),
    };
  },
});
`;

/** A stage that refuses where a header says. */
const failing = `
import { defineStage, GatewayError } from 'sluice/plugin';
import { z } from 'zod';
export const failing = defineStage({
  name: 'failing',
  schema: z.strictObject({}),
  create: () => ({
    onHeaders() {},
    onRequest({ headers }) {
      if (headers['x-refusal']) throw new GatewayError('quota_error', 429, 'Enough for today.');
    },
    onReply: (_, reply) => reply,
    onStream: () => ({ transform: (chunk, controller) => controller.enqueue(chunk) }),
  }),
});
`;

/** What a user has in the directory of the configuration. */
const files: Readonly<Record<string, string>> = {
  'stages/first.ts': marking('first-mark', 'export default'),
  'second.mjs': marking('second-mark', 'export const secondMark ='),
  'node_modules/sluice-failing/package.json': JSON.stringify({
    name: 'sluice-failing',
    type: 'module',
    exports: { '.': { import: './main.js' } },
  }),
  'node_modules/sluice-failing/main.js': failing,
  'broken.mjs': 'export default {',
};

const builtIn = [
  'error-envelope',
  'auth',
  'validation',
  'rate-limit',
  'request-rewrite',
  'stream-rechunk',
  'reasoning-split',
];
const own = [{ './stages/first.ts': { mark: 'a' } }, { './second.mjs': { mark: 'b' } }, 'sluice-failing'];

let directory: string;
let simulator: Simulator;
let sidecar: SidecarHere;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-own-stage-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
  // As an installation of the packages would have it.
  await symlink(root, join(directory, 'node_modules/sluice'));
  await symlink(join(root, 'node_modules/zod'), join(directory, 'node_modules/zod'));
  simulator = await startSimulator();
  sidecar = await serveFileHere(await configured([...builtIn, ...own]));
});

afterAll(async () => {
  await endServed();
  await simulator.close();
  await rm(directory, { recursive: true });
});

async function configured(stages: readonly (string | object)[]): Promise<string> {
  const file = join(directory, 'sluice.yaml');
  const config = sidecarConfig(simulator.url, { log: { level: 'info' }, stages: stages as never });
  await writeFile(file, stringify(config));
  return file;
}

const chat = (headers: Record<string, string> = {}, more: object = {}) =>
  post(
    `${sidecar.url}/v1/chat/completions`,
    ask('[[sim:reasoning_tokens=2]] [[sim:say=Yes]]', more),
    headers,
  );

const loggedOf = (id: string | null) => sidecar.lines.filter(({ request_id }) => request_id === id);

describe('custom stages, loaded by path and by package', () => {
  it('run in order for requests and reversed for replies', async () => {
    const reply = await chat();
    expect(reply.headers.get('x-way')).toBe('ahbharbr');
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content: 'Yesba' } }] });
    const stream = await chat({}, { stream: true });
    expect(stream.headers.get('x-way')).toBe('ahbharbr');
    const events = eventsOf(await stream.text());
    expect(events.map(({ json }) => json.choices?.[0]?.delta.content ?? '').join('')).toBe('Yesba');
    const id = stream.headers.get('x-request-id');
    const settled = () => loggedOf(id).flatMap(({ msg }) => (String(msg).startsWith('settled') ? [msg] : []));
    await until(() => settled().length === 2);
    expect(settled()).toEqual(['settled by b', 'settled by a']);
  });

  it('run for the catalog as well, without reading a body', async () => {
    const reply = await send(`${sidecar.url}/v1/models`);
    expect([reply.status, reply.headers['x-way']]).toEqual([200, 'ahbh']);
  });

  it('are measured under their names', async () => {
    await (await chat()).text();
    await (await chat({}, { stream: true })).text();
    await (await chat({ 'x-refusal': 'onRequest' })).text();
    const metrics = (await send(`${sidecar.adminUrl}/metrics`)).text;
    for (const stage of ['first-mark', 'second-mark', 'failing']) {
      for (const hook of ['onHeaders', 'onRequest', 'onReply', 'onStream']) {
        const count = `sluice_stage_duration_seconds_count{stage="${stage}",hook="${hook}"} `;
        expect(metrics).toMatch(new RegExp(`^${count.replace(/[{}"]/g, '\\$&')}[1-9]`, 'm'));
      }
    }
    expect(metrics).toContain(
      'sluice_stage_refusals_total{stage="failing",hook="onRequest",error_type="quota_error"}',
    );
  });
});

describe('a custom stage that cannot be used', () => {
  const mistake = async (entry: string | object): Promise<string> => {
    const { code, stderr } = await runHere(['check', '--config', await configured(['auth', entry])]);
    expect(code).toBe(1);
    return stderr;
  };

  it('is rejected for wrong options, each mistake at its line', async () => {
    const said = await mistake({ './stages/first.ts': { mark: 'too long', lout: true } });
    expect(said).toMatch(/stages\/first\.ts\.mark \(line \d+\): .*1 character/);
    expect(said).toMatch(
      /stages\/first\.ts\.lout \(line \d+\): unknown name; did you mean .loud.\? Accepted here: mark, loud/,
    );
  });

  it('is rejected for missing options', async () => {
    expect(await mistake('./second.mjs')).toMatch(/stages\[1\].mark \(line \d+\): is required/);
  });

  it('is rejected when it does not exist or cannot be read', async () => {
    expect(await mistake('./absent.ts')).toMatch(/stages\[1\] \(line \d+\): cannot be loaded: .*absent\.ts/);
    expect(await mistake('sluice-absent')).toMatch(
      /stages\[1\] \(line \d+\): there is no stage 'sluice-absent'/,
    );
    expect(await mistake('./broken.mjs')).toMatch(/stages\[1\] \(line \d+\): cannot be loaded: /);
  });
});
