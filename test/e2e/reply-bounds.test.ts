import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let upstream: ScriptedUpstream;
let sidecar: SidecarProcess;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  sidecar = await startSidecar(sidecarConfig(upstream.url), { NODE_OPTIONS: '--max-old-space-size=512' });
});
afterAll(async () => {
  await sidecar?.stop();
  await upstream?.close();
});

/** A whole reply of so many calls with arguments of so many characters. */
function replyOf(calls: number, characters: number): Buffer {
  const text = JSON.stringify({ text: 'x'.repeat(characters) });
  const tool_calls = Array.from({ length: calls }, (_, at) => ({
    id: `call_${at}`,
    type: 'function',
    function: { name: 'roll', arguments: text },
  }));
  return Buffer.from(whole(200, completion(null, { tool_calls })));
}

const post = (path: string, body: object) =>
  fetch(`${sidecar.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const large = { model: 'aion-labs/aion-3.5', input: 'Large.', stream: true };

/** Sends small requests, one after the other, until `done`; resolves with the number of replies. */
async function goodReplies(done: Promise<unknown>): Promise<number> {
  let isDone = false;
  void done.finally(() => (isDone = true));
  let replies = 0;
  do {
    const reply = await post('chat/completions', ask('Small.'));
    expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('In order.')]);
    replies++;
  } while (!isDone);
  return replies;
}

/** Answers requests for a large reply with `reply`, and all others with a small one. */
function answer(reply: Buffer): void {
  const small = whole(200, completion('In order.'));
  upstream.reply((socket, { text }) => socket.write(text.includes('Large.') ? reply : small));
}

it('survives replies of 150,000 tool calls with a heap of 512 MB, and serves others beside them', async () => {
  answer(replyOf(150_000, 1));
  const refused = Promise.all(Array.from({ length: 4 }, () => post('responses', large)));
  expect(await goodReplies(refused)).toBeGreaterThan(0);
  for (const reply of await refused)
    expect([reply.status, await reply.json()]).toMatchObject([
      502,
      { error: { type: 'provider_error', message: 'The upstream provider returned an invalid response.' } },
    ]);
  expect(sidecar.hasEnded()).toBe(false);
});

it('streams a whole reply of 4,096 tool calls to its end', async () => {
  answer(replyOf(4096, 1000));
  const events = eventsOf(await (await post('responses', large)).text());
  const { response } = events.findLast(({ json }) => json.type === 'response.completed')!.json as unknown as {
    response: { output: { type: string }[] };
  };
  expect(response.output.filter(({ type }) => type === 'function_call')).toHaveLength(4096);
});
