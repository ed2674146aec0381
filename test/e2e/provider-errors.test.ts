import { describe, expect, it } from '@jest/globals';
import { ask, upstreamKey } from '../support/gateway-under-test.ts';
import { providerSetting } from '../support/provider-setting.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';

const bothWays = [true, false];

async function envelopeOf(reply: Response) {
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
    const setting = await providerSetting(provider);
    try {
      for (const stream of bothWays) {
        setting.upstream.reply(stream ? streamed(events(event)) : whole(200, event));
        expect(await envelopeOf(await setting.gateway.post(ask('Hello', { stream })))).toMatchObject({
          status,
          type,
          ...(status === 400 && type === 'invalid_request_error' && { message: 'too long' }),
        });
      }
    } finally {
      await setting.close();
    }
  });
});

describe("an upstream's message about keys", () => {
  it.each(bothWays)('hides the key but shows the rest, streamed: %s', async stream => {
    const setting = await providerSetting('openrouter');
    try {
      const error = { code: 400, message: `Bad request for ${upstreamKey} at ${setting.upstream.url}` };
      setting.upstream.reply(stream ? streamed(events({ error })) : whole(200, { error }));
      const told = await envelopeOf(await setting.gateway.post(ask('Hello', { stream })));
      expect(told).toMatchObject({ status: 400, message: 'Bad request for [secret] at [address]' });
    } finally {
      await setting.close();
    }
  });
});
