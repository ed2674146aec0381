import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { providerBaseSchema } from '../../../../../src/config/provider-schema.ts';
import { guarded } from '../../../../../src/gateway/upstream/guarded-adapter.ts';
import { Provider } from '../../../../../src/gateway/upstream/http/provider.ts';
import {
  type Adapter,
  type Completion,
  defineProvider,
  invalidField,
  UpstreamError,
} from '../../../../../src/plugin.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

const reply: Completion = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
};
const good = {
  providerName: 'gemini',
  parameters: new Set(['top_p', 'seed']),
  encode: () => ({ path: '/generate', body: {} }),
  decodeReply: () => reply,
  openStream: () => ({ complete: true, decode: () => [] }),
} as unknown as Adapter;
const adapterWith = (methods: object) => guarded('gemini', { ...good, ...methods });
const target = { model: 'm', effortMap: {}, extraParameters: [] };

function providerOf(adapter: Adapter, log = createLog('silent')): Provider {
  const definition = defineProvider({ name: 'gemini', schema: z.strictObject({}), create: () => adapter });
  const config = providerBaseSchema.parse({ base_url: 'http://127.0.0.1:9', api_key: 'the-secret-key' });
  const content = { capture_content: false, max_content_characters: 1 };
  return new Provider('google', definition, config, {}, { clock: new FakeClock(), log, content });
}

const encode = (adapter: Adapter) => adapter.encode(sampleRequest({}), target);
const methods: Readonly<Record<string, (adapter: Adapter) => unknown>> = {
  encode,
  decodeReply: adapter => adapter.decodeReply({}),
  openStream: adapter => adapter.openStream(),
  decode: adapter => adapter.openStream().decode({ data: '{}' }),
  errorStatus: adapter => adapter.errorStatus?.(500, {}),
  errorMessage: adapter => adapter.errorMessage?.({}),
};

/** The adapter in which one method, also that of its decoder, is `own`. */
const withMethod = (method: string, own: unknown): Adapter =>
  adapterWith(
    method === 'decode' ? { openStream: () => ({ complete: true, decode: own }) } : { [method]: own },
  );

const throwing = (fault: unknown) => (): never => {
  throw fault;
};
const thrownBy = (run: () => unknown): unknown => {
  try {
    run();
  } catch (thrown) {
    return thrown;
  }
  throw new Error('nothing was thrown');
};

const expectBug = (method: string, own: unknown, message: string | RegExp) => {
  const thrown = thrownBy(() => methods[method]!(withMethod(method, own))) as Error;
  expect(thrown).toMatchObject({
    code: method === 'encode' ? 'server_error' : 'provider_invalid',
    status: 502,
  });
  expect((thrown.cause as Error).message).toMatch(message);
  return thrown.cause as Error;
};

describe('an adapter of a provider', () => {
  it.each(Object.keys(methods))('that throws a bug in %s is named in the log with its stack', method => {
    const bug = new TypeError('x is not a function');
    const cause = expectBug(method, throwing(bug), `the adapter gemini threw in ${method}`);
    expect(cause.cause).toBe(bug);
  });

  it.each(Object.keys(methods))('that returns a promise from %s is told that it may not', async method => {
    const own = () => Promise.reject(new Error('nobody sees this'));
    expectBug(method, own, `the adapter gemini returned a promise from ${method}; adapters are synchronous`);
    // Unhandled, it would end the process.
    await new Promise(setImmediate);
  });

  it.each<[string, unknown]>([
    ['encode', undefined],
    ['encode', { path: 'generate', body: {} }],
    ['encode', { path: '/generate' }],
    ['encode', { path: '/generate', body: 'text' }],
    ['encode', { path: '/generate', body: {}, ignored: 'stop' }],
    ['decodeReply', null],
    ['decodeReply', { choices: {} }],
    ['openStream', {}],
    ['decode', undefined],
    ['errorStatus', '429'],
    ['errorMessage', {}],
  ])('that returns nonsense from %s is told what is expected', (method, returned) => {
    expectBug(method, () => returned, new RegExp(`^the adapter gemini must return .* from ${method}$`));
  });

  it('keeps the errors that the gateway knows', () => {
    for (const error of [invalidField('n', 'must be 1.'), new UpstreamError('Busy.', 503)])
      for (const [method, run] of Object.entries(methods))
        expect(thrownBy(() => run(withMethod(method, throwing(error))))).toBe(error);
  });

  it('is called as it is, as an object of a class too', () => {
    class Own {
      readonly providerName = 'own';
      #path = '/own';
      encode() {
        return { path: this.#path, body: {} };
      }
      decodeReply() {
        return reply;
      }
      openStream() {
        return { complete: false, done: true, decode: () => [{ choices: [] }] };
      }
      errorMessage() {
        return null;
      }
    }
    const adapter = guarded('own', new Own() as unknown as Adapter);
    expect(encode(adapter)).toEqual({ path: '/own', body: {} });
    expect(adapter.decodeReply({})).toBe(reply);
    const stream = adapter.openStream();
    expect([stream.complete, stream.done, stream.decode({ data: '' })]).toEqual([
      false,
      true,
      [{ choices: [] }],
    ]);
    expect(adapter.errorMessage?.({})).toBeUndefined();
    expect(adapter.errorStatus).toBeUndefined();
  });

  it.each<[string, object, string]>([
    ['a promise from credential', { credential: async () => ({}) }, 'must not be a promise'],
    ['no credential', { credential: () => undefined }, 'must be an object of headers'],
    ['an invalid name', { credential: () => ({ 'x a': 'b' }) }, "the header 'x a' has characters"],
    [
      'an invalid value',
      { credential: (key: string) => ({ a: `${key}\r\nc` }) },
      "the header 'a' has characters",
    ],
    ['invalid headers', { headers: { a: 'b\r\nc' } }, "the header 'a' has characters"],
  ])('with %s is refused at the start', (_, methods, message) => {
    const thrown = thrownBy(() => providerOf({ ...good, ...methods })) as Error;
    expect(thrown.message).toMatch(/^(credential|headers) of the adapter gemini: 1 mistake/);
    expect(thrown.message).toContain(message);
    expect(thrown.message).not.toContain('the-secret-key');
  });
});

describe('a finish reason that an adapter does not know', () => {
  it('is taken from replies and chunks, and logged once per word of a provider', async () => {
    const { log, lines } = capturedLog();
    const ended = () => ({ index: 0, finish_reason: 'stop', native_finish_reason: 'Bored' }) as const;
    const { adapter } = providerOf(
      {
        ...good,
        decodeReply: () => ({ choices: [{ ...ended(), message: { role: 'assistant', content: 'Hi' } }] }),
        openStream: () => ({ complete: true, decode: () => [{ choices: [{ ...ended(), delta: {} }] }] }),
      },
      log,
    );
    expect(adapter.decodeReply({}).choices).toEqual(reply.choices);
    const [chunk] = adapter.openStream().decode({ data: '{}' });
    expect(chunk).toEqual({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    expect(lines).toMatchObject([
      { provider: 'google', finish_reason: 'Bored', msg: 'unknown finish_reason, treated as stop' },
    ]);
  });
});
