import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, type GatewayUnderTest, upstreamKey } from '../support/gateway-under-test.ts';
import type { ProviderName } from '../support/provider-fixtures.ts';
import {
  events,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  whole,
} from '../support/scripted-upstream.ts';
import { gatewayOfAllAdapters } from '../support/tool-loop-setting.ts';

const bothWays = [true, false];
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  gateway = await gatewayOfAllAdapters(upstream.url);
});
afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

/** What a client is told when the server answers this, as the first event of a stream or in place of a whole reply. */
async function told(provider: ProviderName, event: object, stream: boolean) {
  upstream.reply(stream ? streamed(events(event)) : whole(200, event));
  const reply = await gateway.post(ask('Hello', { model: `test/${provider}`, stream }));
  const { error } = (await reply.json()) as { error: { message: string; type: string } };
  return { status: reply.status, ...error };
}

describe('an error as the first event of a stream, or in place of a whole reply', () => {
  it.each([
    [
      'anthropic',
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      502,
      'provider_error',
    ],
    [
      'anthropic',
      { type: 'error', error: { type: 'invalid_request_error', message: 'too long' } },
      400,
      'invalid_request_error',
    ],
    [
      'anthropic',
      { type: 'error', error: { type: 'authentication_error', message: 'x' } },
      400,
      'configuration_error',
    ],
    ['openrouter', { error: { code: 429, message: 'Rate limited' } }, 502, 'provider_error'],
    ['openrouter', { error: { code: 400, message: 'too long' } }, 400, 'invalid_request_error'],
    [
      'llama-cpp',
      { error: { code: 400, message: 'too long', type: 'invalid_request_error' } },
      400,
      'invalid_request_error',
    ],
    [
      'openai',
      { error: { message: 'too long', type: 'invalid_request_error', code: 'context_length_exceeded' } },
      400,
      'invalid_request_error',
    ],
    ['openai', { error: { message: 'x', code: 403 } }, 400, 'configuration_error'],
    // These call every fault 400 once a stream has begun, and it may be their own.
    ['vllm', { error: { code: 400, message: 'too long' } }, 502, 'provider_error'],
    ['sglang', { error: { code: 400, message: 'too long' } }, 502, 'provider_error'],
  ] as const)('gets its true status: %s %j', async (provider, event, status, type) => {
    for (const stream of bothWays)
      expect(await told(provider, event, stream)).toMatchObject({
        status,
        type,
        ...(status === 400 && type === 'invalid_request_error' && { message: 'too long' }),
      });
  });
});

describe("an upstream's message about keys", () => {
  it.each(bothWays)('hides the key but shows the rest, streamed: %s', async stream => {
    const error = { code: 400, message: `Bad request for ${upstreamKey} at ${upstream.url}` };
    expect(await told('openrouter', { error }, stream)).toMatchObject({
      status: 400,
      message: 'Bad request for [secret] at [address]',
    });
  });
});
