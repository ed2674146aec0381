import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { auth } from '../../plugins/index.ts';
import { defineStage, type Exchange, type Hooks } from '../../src/plugin.ts';
import { checkStage, streamFixtures } from '../../src/testing/index.ts';

const fixtures = streamFixtures.slice(0, 1);

const stageOf = (hooks: Hooks) => defineStage({ name: 'mine', create: () => hooks })();

const messageOf = (check: Promise<void>): Promise<string> =>
  check.then(
    () => 'passed',
    (thrown: Error) => thrown.message,
  );

describe('checkStage', () => {
  it.each(['onHeaders', 'onRequest', 'onReply'] as const)('does not wait for ever for %s', async hook => {
    const stage = stageOf({ [hook]: () => new Promise<never>(() => {}) });
    expect(await messageOf(checkStage(stage, { fixtures, timeout_ms: 30 }))).toContain(
      `mine: ${hook} does not settle within 30 ms (ending)`,
    );
  });

  it('gives a stage alone the account of the setting', async () => {
    const seen = new Set<string | undefined>();
    const stage = stageOf({ onHeaders: ({ account }) => void seen.add(account?.id) });
    await checkStage(stage, { fixtures });
    expect([...seen]).toEqual(['contract']);
    seen.clear();
    const accounts = { ada: { keys: [{ value: 'key-of-ada' }] }, bob: { keys: [{ value: 'key-of-bob' }] } };
    await checkStage(stage, { fixtures, accounts });
    expect([...seen]).toEqual(['ada']);
    seen.clear();
    await checkStage(stage, { fixtures, accounts, headers: { authorization: 'Bearer key-of-bob' } });
    expect([...seen]).toEqual(['bob']);
  });

  it('leaves the account to a stage that authenticates', async () => {
    const seen = new Set<string | undefined>();
    const note = ({ account }: Exchange) => void seen.add(account?.id);
    const before = defineStage({ name: 'before', create: () => ({ onHeaders: note }) })();
    await checkStage([before, auth()], { fixtures });
    expect([...seen]).toEqual([undefined]);
  });

  it('names options that it does not know', async () => {
    const options = { chnages: ['text'] } as object;
    expect(await messageOf(checkStage(stageOf({ onSettled() {} }), options))).toContain(
      "chnages: unknown name; did you mean 'changes'?",
    );
    const wrong = { changes: ['contents'] } as object;
    expect(await messageOf(checkStage(stageOf({ onSettled() {} }), wrong))).toContain(
      "did you mean 'content'?",
    );
  });

  it('says what is given in place of a stage', async () => {
    expect(await messageOf(checkStage(auth as never))).toBe(
      'checkStage: what is given is the factory of the stage auth; call it, with options or without',
    );
    expect(await messageOf(checkStage([auth(), undefined] as never))).toBe(
      'checkStage: entry 1 of the list must be a stage: what auth() returns, or a factory made with defineStage',
    );
    expect(await messageOf(checkStage([]))).toBe('checkStage: the list has no stage');
  });

  it('names the stage that cannot be created', async () => {
    const create = (): Hooks => {
      throw new Error('no database');
    };
    const thrower = defineStage({ name: 'thrower', schema: z.strictObject({}), create })();
    expect(await messageOf(checkStage(thrower))).toBe('create of the stage thrower threw: no database');
  });

  it('says which hook threw, and which of two results is which', async () => {
    const throws = stageOf({
      onHeaders() {
        throw new Error('oops');
      },
    });
    expect(await messageOf(checkStage(throws, { fixtures }))).toContain(
      'mine: onHeaders threw an Error that is no GatewayError (refusals)',
    );
    const differs = stageOf({
      onReply: (_, reply) => ({
        ...reply,
        choices: reply.choices.map(choice => ({ ...choice, message: { ...choice.message, content: 'x' } })),
      }),
      onStream: () => ({ transform: (chunk, controller) => controller.enqueue(chunk) }),
    });
    expect(await messageOf(checkStage(differs, { fixtures }))).toMatch(
      /onReply does not agree with onStream \(expected is what streams become, got whole replies\): /,
    );
  });
});
