import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { closeApps } from '../support/express-app.ts';
import { ask, type ClientJson, type ClientStream } from '../support/gateway-under-test.ts';
import { closeHealthy, hostileSetting } from '../support/hostile-setting.ts';
import { chunk, events, lastChunk, streamHead, whole } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);
afterEach(closeApps);

const secret = 'jane@example.org';
const stages = ['error-envelope', 'auth', 'validation', 'redact', 'reasoning-split'];

const token = (text: string) => ({
  token: text,
  logprob: -0.5,
  bytes: null,
  top_logprobs: [{ token: text, logprob: -0.5 }],
});
const logprobs = (...tokens: string[]) => ({ logprobs: { content: tokens.map(token), refusal: null } });
const delta = (index: number, delta: object, more: object = {}) => ({ choices: [{ index, delta, ...more }] });
const call = (text: string) => ({
  tool_calls: [{ index: 0, id: 'call_1', function: { name: 'mail', arguments: text } }],
});
const more = (text: string) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] });

/** Two choices by turns: one that reasons, answers with log probabilities and calls a tool, and one that only answers. */
const parts = [
  delta(0, { content: '<think>ask jane@ex' }),
  delta(1, { content: 'Is it ja' }),
  delta(0, { content: 'ample.org' }),
  delta(0, { content: '</think>I ask jane' }, logprobs('I', ' ask', ' jane')),
  delta(0, { content: '@example.org!' }, logprobs('@example', '.org', '!')),
  delta(1, { content: 'ne@example.org?' }, { finish_reason: 'stop' }),
  delta(0, call('{"to":"jane\\u0040')),
  delta(0, more('example.org","text":"\\"Hi\\""}')),
  delta(0, {}, { finish_reason: 'tool_calls' }),
  { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } },
  '[DONE]',
];

interface Said {
  reasoning: string;
  content: string;
  arguments: string;
  tokens: string[];
}

/** What a client has of each choice. */
function saidIn(events: readonly { readonly json: ClientJson }[]): Said[] {
  const said: Said[] = [];
  for (const { json } of events)
    for (const { index, delta, logprobs } of json.choices ?? []) {
      const choice = (said[index] ??= { reasoning: '', content: '', arguments: '', tokens: [] });
      choice.reasoning += delta.reasoning ?? '';
      choice.content += delta.content ?? '';
      choice.arguments += delta.tool_calls?.[0]?.function?.arguments ?? '';
      for (const { token } of (logprobs as { content?: { token: string }[] } | undefined)?.content ?? [])
        choice.tokens.push(token);
    }
  return said;
}

const masked: Said[] = [
  {
    reasoning: 'ask [email]',
    content: 'I ask [email]!',
    arguments: '{"to":"[email]","text":"\\"Hi\\""}',
    tokens: ['I', ' ask', '!'],
  },
  { reasoning: '', content: 'Is it [email]?', arguments: '', tokens: [] },
];

describe('redact', () => {
  it('masks a stream that is cut anywhere, in reasoning, text, tool arguments, log probabilities and every choice', async () => {
    const { gateway, upstream } = await hostileSetting({ stages }, 8);
    const bytes = Buffer.from(events(...parts));
    upstream.reply(async (socket, { body }) => {
      const at = Number((body.messages as [{ content: string }])[0].content);
      socket.write(streamHead());
      socket.write(chunk(bytes.subarray(0, at)));
      // Long enough that the two pieces are two reads.
      await sleep(15);
      socket.write(Buffer.concat([chunk(bytes.subarray(at)), Buffer.from(lastChunk)]));
    });
    const replies = new Map<string, ClientStream>();
    const places = Array.from({ length: Math.floor(bytes.length / 7) }, (_, at) => 7 * at + 1);
    const worker = async () => {
      for (let at = places.pop(); at; at = places.pop()) {
        const reply = await gateway.stream(ask(String(at), { n: 2, logprobs: true }));
        replies.set(JSON.stringify(saidIn(reply.events)), reply);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    const count = Math.floor(bytes.length / 7);
    expect(upstream.requests).toHaveLength(count);
    expect([...replies.keys()].map(text => JSON.parse(text))).toEqual([masked]);
    for (const { text } of replies.values()) {
      expect(text).not.toContain('jane');
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    }
    expect(await gateway.metric('sluice_redact_matches_total', { pattern: 'email' })).toBe(4 * count);
  });

  it('masks a request before it leaves, and a whole reply', async () => {
    const { gateway, upstream } = await hostileSetting({ stages });
    const message = { role: 'assistant', content: `It is ${secret}.`, refusal: `not ${secret}` };
    const usage = { prompt_tokens: 7, completion_tokens: 3 };
    upstream.reply(
      whole(200, { choices: [{ index: 0, message, finish_reason: 'stop', ...logprobs(secret) }], usage }),
    );
    const reply = await gateway.post({
      ...ask('', {}),
      messages: [
        { role: 'system', content: [{ type: 'text', text: `You are ${secret}.` }] },
        { role: 'user', content: `My card is 4111 1111 1111 1111, and I am ${secret}` },
      ],
    });
    expect(await reply.json()).toMatchObject({
      choices: [
        { message: { content: 'It is [email].', refusal: 'not [email]' }, logprobs: { content: [] } },
      ],
    });
    expect(upstream.last.body.messages).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'You are [email].' }] },
      { role: 'user', content: 'My card is [credit_card], and I am [email]' },
    ]);
  });
});
