import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  gateway = await startGateway({ upstream });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

describe('a completion on the wire', () => {
  it('has the fields of the interface and nothing of the upstream', async () => {
    upstream.reply(
      whole(200, {
        id: 'chatcmpl-upstream',
        object: 'chat.completion',
        created: 1,
        model: 'aion-3.5',
        system_fingerprint: 'vllm-0.11',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: 'Hello there.',
              reasoning: 'The user greets me.',
              refusal: null,
              annotations: null,
            },
            logprobs: null,
            finish_reason: 'stop',
            stop_reason: null,
          },
        ],
        usage: {
          prompt_tokens: 12,
          total_tokens: 21,
          completion_tokens: 9,
          prompt_tokens_details: { cached_tokens: 4 },
        },
        kv_transfer_params: null,
      }),
    );
    const reply = await gateway.post(ask('Hello'));
    const text = await reply.text();
    const [, id, created] =
      /^\{"id":"(chatcmpl-[^"]{10,})","object":"[^"]+","created":(\d+),/.exec(text) ?? [];
    expect(Math.abs(Number(created) - Date.now() / 1000)).toBeLessThan(120);
    expect(text).toBe(
      `{"id":"${id}","object":"chat.completion","created":${created},"model":"aion-labs/aion-3.5","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there.","reasoning":"The user greets me."},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":9,"total_tokens":21,"prompt_tokens_details":{"cached_tokens":4}}}`,
    );
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
  });

  it('has usage with zeros when the upstream reports nothing about the cache', async () => {
    upstream.reply(
      whole(200, {
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 12, completion_tokens: 9, total_tokens: 21, prompt_tokens_details: null },
      }),
    );
    expect(await (await gateway.post(ask('Hello'))).json()).toMatchObject({
      usage: {
        prompt_tokens: 12,
        completion_tokens: 9,
        total_tokens: 21,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    });
  });
});
