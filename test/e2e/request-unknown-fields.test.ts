import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  simulator = await startSimulator({ recorded_requests: 1 });
  gateway = await startGateway({ upstream: simulator });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

const received = (): Record<string, unknown> =>
  (simulator.requests.at(-1)?.body ?? {}) as Record<string, unknown>;

/** The answer's list of what was ignored. */
async function ignoredOf(body: object | string, under = gateway): Promise<string | null> {
  const reply = await under.post(body);
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`${reply.status} ${text}`);
  return reply.headers.get('x-ignored-parameters');
}

/** What engines take beside the interface: none of it may be in a client's reach. */
const engineFields: Record<string, unknown> = {
  chat_template: '{{ messages }}',
  chat_template_kwargs: { enable_thinking: false },
  add_generation_prompt: false,
  continue_final_message: true,
  include_reasoning: false,
  separate_reasoning: false,
  priority: -1,
  mm_processor_kwargs: { a: 1 },
  kv_transfer_params: { remote_host: '203.0.113.7' },
  guided_regex: '(a+)+',
  structured_outputs: { regex: '(a+)+' },
  logits_processors: ['x'],
  truncate_prompt_tokens: 1,
  prompt_logprobs: 5,
  min_tokens: 10,
  ignore_eos: true,
  best_of: 100,
  use_beam_search: true,
  request_id: 'x',
  return_token_ids: true,
  cache_salt: 'x',
  vllm_xargs: { a: 1 },
  bad_words: ['x'],
  top_k: 1,
};

describe('unknown fields of a request', () => {
  it('never go upstream', async () => {
    await ignoredOf(ask('Hello', engineFields));
    expect(Object.keys(received()).toSorted()).toEqual([
      'chat_template_kwargs',
      'messages',
      'model',
      'reasoning_effort',
    ]);
    expect(received().chat_template_kwargs).toEqual({ enable_thinking: true });
  });

  it.each(Object.keys(engineFields))('are listed in the answer: %s', async name => {
    expect(await ignoredOf(ask('Hello', { [name]: engineFields[name] }))).toBe(name);
  });

  it('are listed in their order, on streams as well', async () => {
    const more = { store: true, service_tier: 'auto', top_k: 1 };
    expect(await ignoredOf(ask('Hello', more))).toBe('store, service_tier, top_k');
    expect(await ignoredOf(ask('Hello', { ...more, stream: true }))).toBe('store, service_tier, top_k');
  });

  it('are not listed when there are none or only nulls', async () => {
    expect(await ignoredOf(ask('Hello'))).toBeNull();
    expect(await ignoredOf(ask('Hello', { store: null, top_k: null }))).toBeNull();
  });

  it('do not include the known ones', async () => {
    const known = { metadata: { a: 'b' }, reasoning_split: true, user: 'ann', seed: 1 };
    expect(await ignoredOf(ask('Hello', known))).toBeNull();
  });

  it('are listed in characters that a header allows', async () => {
    const name = 'a\r\nset-cookie: x=1, "ü" 🌊';
    const listed = await ignoredOf(ask('Hello', { [name]: 1, ['x'.repeat(500)]: 1 }));
    expect(listed).toMatch(/^a\?\?set-cookie:\?x=1\?\?"\?"\?\??\?, x{64}$/);
  });

  it('are listed up to twenty', async () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`field_${at}`, at]));
    const listed = await ignoredOf(ask('Hello', many));
    expect(listed).toMatch(/^field_0, .*field_19, \.\.\.$/);
    expect(listed).not.toContain('field_20');
  });

  it('may be named like prototype properties', async () => {
    const text = JSON.stringify(ask('Hello'));
    const listed = await ignoredOf(
      text.replace('{', '{"__proto__":{"stream":true,"tools":[1]},"constructor":1,"toString":2,'),
    );
    expect(listed).toBe('__proto__, constructor, toString');
    expect(Object.keys(received())).not.toContain('stream');
    expect(({} as Record<string, unknown>).stream).toBeUndefined();
  });
});

describe('fields that are configured for a provider', () => {
  it('go upstream and are not listed, unlike other unknown fields', async () => {
    const open = await startGateway({
      upstream: simulator,
      provider: { extra_parameters: ['top_k', 'min_p'] },
    });
    const listed = await ignoredOf(ask('Hello', { top_k: 20, priority: 1 }), open).finally(open.close);
    expect(listed).toBe('priority');
    expect(received()).toMatchObject({ top_k: 20 });
    expect(received()).not.toHaveProperty('priority');
    expect(received()).not.toHaveProperty('min_p');
  });
});

describe('unknown_parameters: reject', () => {
  it('refuses a request by the name of its unknown field', async () => {
    const strict = await startGateway({
      upstream: simulator,
      stages: ['auth', { validation: { unknown_parameters: 'reject' } }, 'request-rewrite'],
    });
    try {
      const { requests } = simulator.stats;
      const reply = await strict.post(ask('Hello', { top_k: 20 }));
      const { error } = (await reply.json()) as { error: { message: string; type: string } };
      expect(reply.status).toBe(400);
      expect(error.type).toBe('invalid_request_error');
      expect(error.message).toMatch(/^top_k: /);
      expect(simulator.stats.requests).toBe(requests);
      expect(await ignoredOf(ask('Hello', { top_k: null }), strict)).toBeNull();
    } finally {
      await strict.close();
    }
  });
});
