import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { runHere } from '../support/command-here.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { endServed, serveHere } from '../support/sidecar-here.ts';
import { sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const usage = { prompt_tokens: 60, completion_tokens: 30, total_tokens: 90 };

let upstream: ScriptedUpstream;
let place: RecordsPlace;
let receiver: Server;
const posted: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
/** Statuses of the next replies of the receiver; 204 behind them. */
const statuses: number[] = [];

beforeAll(async () => {
  [upstream, place] = await Promise.all([
    startScriptedUpstream(whole(200, completion('Hello.', {}, { usage }))),
    recordsPlace(),
  ]);
  receiver = createServer(async (request, response) => {
    posted.push({ headers: request.headers, body: await text(request) });
    response.writeHead(statuses.shift() ?? 204).end();
  }).listen(0, '127.0.0.1');
  await until(() => receiver.listening);
});
afterEach(endServed);
afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await Promise.all([upstream.close(), place.remove()]);
});

const config = () =>
  sidecarConfig(upstream.url, {
    stores: place.stores,
    accounts: { tester: { keys: [{ value: clientKey }], limits: { tokens_per_day: 100 } } },
    notices: {
      poll_ms: 100,
      retry_ms: 400,
      webhooks: {
        ops: { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, secrets: [secret] },
      },
    },
  } as never);

it('posts a threshold once, with the same id until the receiver takes it, also when the instance is killed', async () => {
  statuses.push(500, 500);
  const killed = await startSidecar(config());
  const reply = await fetch(`${killed.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(ask('Hi', { max_tokens: 30 })),
  });
  expect(reply.status).toBe(200);
  // What has begun an attempt and is killed is tried again much later.
  const attempts = async () => {
    const [notice] = await place.look(({ notices }) => notices!.list({ limit: 5 }));
    return notice?.deliveries[0]?.attempts ?? 0;
  };
  await until(async () => (await attempts()) > 0);
  killed.signal('SIGKILL');
  await killed.exited;
  const [one, other] = [await serveHere(config()), await serveHere(config())];
  await until(
    async () => (await place.look(({ notices }) => notices!.waiting())) === 0 && posted.length === 3,
  );
  await Promise.all([one.stop(), other.stop()]);
  expect(posted.map(({ headers }) => headers['webhook-id'])).toEqual(
    Array(3).fill(posted[0]!.headers['webhook-id']),
  );
  const { headers, body } = posted.at(-1)!;
  await new OpenAI({ apiKey: 'unused' }).webhooks.verifySignature(body, headers as never, secret);
  expect(JSON.parse(body)).toMatchObject({
    type: 'limit.threshold_reached',
    data: { account: 'tester', limit: 'tokens_per_day', threshold_percent: 80, used: 90, max: 100 },
  });
  const [notice] = await place.look(({ notices }) => notices!.list({ limit: 5 }));
  expect(notice!.deliveries).toMatchObject([{ target: 'webhook:ops', state: 'sent', attempts: 3 }]);
});

it('sends a test by command to every receiver, and lists who has it', async () => {
  const gateway = await serveHere(config());
  const command = (...args: readonly string[]) => runHere(['notices', ...args, '--config', gateway.file]);
  const count = posted.length;
  expect(await command('test')).toEqual({ code: 0, stdout: 'webhook:ops has it\n', stderr: '' });
  expect(posted.slice(count).map(({ body }) => JSON.parse(body))).toMatchObject([{ type: 'test' }]);
  statuses.push(...Array(50).fill(500));
  expect(await command('test')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^webhook:ops does not have it, attempts: \d status 500\n$/),
  });
  statuses.length = 0;
  expect((await command('list', '--format', 'csv')).stdout).toMatch(/,test,test,webhook:ops sent,/);
  await gateway.stop();
  expect(await runCommand(config(), 'notices', 'test', '--wait', '1')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no gateway has sent it within 1 s'),
  });
});
