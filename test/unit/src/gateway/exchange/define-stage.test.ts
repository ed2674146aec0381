import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ConfigError } from '../../../../../src/common/config-error.ts';
import { invalidField } from '../../../../../src/gateway/exchange/errors.ts';
import { isStageFactory } from '../../../../../src/gateway/exchange/stage-plan.ts';
import { defineStage } from '../../../../../src/published.ts';
import { sampleSetup } from '../../../sample-setup.ts';

const schema = z.strictObject({ word: z.string().default('please'), times: z.int().min(1).default(1) });

/** Refuses requests whose `x-word` header is not its word. */
const polite = defineStage({
  name: 'polite',
  schema,
  create: ({ word }) => ({
    onHeaders(exchange) {
      if (exchange.headers['x-word'] !== word) throw invalidField('x-word', `must be '${word}'.`);
    },
  }),
});

describe('a stage factory', () => {
  it('carries its name and its schema', () => {
    expect(polite.stageName).toBe('polite');
    expect(polite.schema).toBe(schema);
    expect(polite().plan.name).toBe('polite');
  });

  it('gives the hooks checked options with their defaults, and the services of the gateway', () => {
    const given: unknown[] = [];
    const create = (...args: unknown[]) => {
      given.push(...args);
      return { onSettled };
    };
    const onSettled = () => {};
    const asking = defineStage({ name: 'asking', schema, create });
    const setup = sampleSetup();
    const options = { times: 2 };
    expect(asking(options).plan.create(setup)).toEqual({ name: 'asking', onSettled });
    expect(given).toEqual([{ word: 'please', times: 2 }, setup]);
    expect(given[1]).toBe(setup);
    expect(options).toEqual({ times: 2 });
  });

  it('makes a new stage for each chain', () => {
    const { plan } = polite();
    expect(plan.create(sampleSetup())).not.toBe(plan.create(sampleSetup()));
  });

  it('throws all errors of its schema at once', () => {
    expect(() => polite({ times: 0 })).toThrow(ConfigError);
    expect(() => polite({ wrod: 'x' } as object)).toThrow(
      "options of the stage polite: 1 mistake\n  wrod: unknown name; did you mean 'word'? Accepted here: word, times",
    );
  });

  it.each([
    [polite, true],
    [Object.assign(() => {}, { stageName: 'a', schema: {} }), true],
    [polite(), false],
    [() => {}, false],
    [{ stageName: 'a', schema: {} }, false],
    [undefined, false],
  ])('is recognized among other exports: %#', (value, expected) => {
    expect(isStageFactory(value)).toBe(expected);
  });
});

describe('the check of a stage definition', () => {
  const mistakeOf = (act: () => unknown): string => {
    try {
      act();
    } catch (thrown) {
      if (thrown instanceof ConfigError) return thrown.message;
    }
    throw new Error('no mistake was found');
  };
  const defined = (definition: object) => mistakeOf(() => defineStage(definition as never));
  const hooked = (hooks: unknown) =>
    mistakeOf(() =>
      defineStage({ name: 'a', schema, create: () => hooks as object })().plan.create(sampleSetup()),
    );

  it('rejects an invalid definition with all of its errors', () => {
    expect(defined({ name: 'My stage', schema: {}, create: {} })).toBe(
      [
        'defineStage: 3 mistakes',
        '  name: must be in kebab-case, such as my-stage',
        '  schema: must be a zod schema of the options',
        '  create: must be a function: it gets the options and the setup, and returns the hooks',
      ].join('\n'),
    );
  });

  it('rejects a misspelt hook, which would never run', () => {
    expect(hooked({ onHeader() {} })).toBe(
      "hooks of the stage a: 1 mistake\n  onHeader: unknown name; did you mean 'onHeaders'? Accepted here: onHeaders, onRequest, onReply, onStream, onError, onSettled, close",
    );
    expect(hooked({ onError: true })).toBe(
      'hooks of the stage a: 1 mistake\n  onError: must be a function: it is a hook',
    );
    expect(hooked({ onError() {}, close: true })).toContain('  close: must be a function');
  });

  it('rejects what has no hooks', () => {
    const sentence = (rest: string) =>
      `hooks of the stage a: 1 mistake\n  (top level): create returned ${rest}`;
    expect(hooked(undefined)).toBe(sentence('nothing; it must return an object of hooks'));
    expect(hooked(5)).toBe(sentence('5; it must return an object of hooks'));
    const none =
      'none, so the stage would do nothing; there are: onHeaders, onRequest, onReply, onStream, onError, onSettled, close';
    expect(hooked({})).toBe(sentence(none));
    expect(hooked({ request() {} })).toBe(sentence(none));
    expect(hooked({ onReply: undefined })).toBe(sentence(none));
  });

  it('rejects fields that a definition does not have', () => {
    const definition = { name: 'a', create: () => ({}), authenticate: true };
    expect(defined(definition)).toContain("authenticate: unknown name; did you mean 'authenticates'?");
  });

  it('rejects a schema that is asynchronous, where options are given', () => {
    const asynchronous = z.strictObject({}).refine(async () => true);
    const stage = defineStage({ name: 'a', schema: asynchronous, create: () => ({ onSettled() {} }) });
    expect(mistakeOf(() => stage())).toBe(
      'options of the stage a: 1 mistake\n  (top level): its schema is asynchronous; options are checked at once',
    );
  });
});

describe('a stage without a chain', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.close();
    server?.closeAllConnections();
  });

  it('runs in front of a handler', async () => {
    const handler = polite({ word: 'now' });
    server = createServer((request, response) => handler(request, response, () => response.end('served')));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/anything`;

    const served = await fetch(url, { headers: { 'x-word': 'now' } });
    expect([served.status, await served.text()]).toEqual([200, 'served']);
    const refused = await fetch(url);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toEqual({
      error: { message: "x-word: must be 'now'.", type: 'invalid_request_error' },
    });
  });
});
