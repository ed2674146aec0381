import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { Completion } from '../../../../../src/gateway/exchange/canonical.ts';
import { Chain } from '../../../../../src/gateway/exchange/chain.ts';
import { GatewayError, refusal } from '../../../../../src/gateway/exchange/errors.ts';
import { fromGenerator } from '../../../../../src/gateway/exchange/from-generator.ts';
import type { Stage } from '../../../../../src/gateway/exchange/stage.ts';
import { outcomeOf } from '../../../../../src/gateway/settlement/settle.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { assembled, chunkOf, collected, streamOf, through } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const reply: Completion = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
};
const contentOf = ({ choices }: Completion) => choices[0]!.message.content;
const saying = (content: string): Completion => ({
  choices: [{ ...reply.choices[0]!, message: { role: 'assistant', content } }],
});
const throwing = (fault: unknown) => (): never => {
  throw fault;
};
/** What is thrown by a run, at once or later. */
const thrownBy = (run: () => unknown) => (async () => run())().catch((fault: unknown) => fault);
const tick = () => new Promise<void>(resolve => setTimeout(resolve, 1));

/** A stage with every hook, which notes when each runs; `waits` makes the hooks that may wait do so. */
function noting(name: string, notes: string[], waits = false): Stage {
  const note = (hook: string) => {
    if (!waits) return void notes.push(`${name} ${hook}`);
    return tick().then(() => void notes.push(`${name} ${hook}`));
  };
  const addName = (given: Completion) => saying(`${contentOf(given)}${name}`);
  return {
    name,
    onHeaders: () => note('onHeaders'),
    onRequest: () => note('onRequest'),
    onReply: (_, given) => (waits ? tick().then(() => addName(given)) : addName(given)),
    onStream: () =>
      fromGenerator(async function* (chunks) {
        for await (const chunk of chunks) {
          yield {
            choices: chunk.choices.map(choice => ({
              ...choice,
              delta: { content: `${choice.delta.content}${name}` },
            })),
          };
        }
        notes.push(`${name} end`);
      }),
    onError: (_, error) => {
      notes.push(`${name} onError`);
      return new GatewayError(error.type, error.status, `${error.message}${name}`);
    },
    onSettled: () => void notes.push(`${name} onSettled`),
  };
}

/** The stage without its `onHeaders`. */
function headless({ onHeaders: _, ...stage }: Stage): Stage {
  return stage;
}

function entered(stages: readonly Stage[]) {
  const exchange = sampleExchange({ request: {} });
  const passage = new Chain(stages).enter(exchange);
  return { exchange, passage, settle: () => passage.onSettled(outcomeOf(exchange)) };
}

describe('the run order of the hooks', () => {
  it.each([
    ['first to last', 'onHeaders', ['a onHeaders', 'b onHeaders', 'c onHeaders']],
    ['first to last', 'onRequest', ['a onRequest', 'b onRequest', 'c onRequest']],
  ] as const)('is %s in %s, for synchronous and asynchronous hooks alike', async (_, hook, expected) => {
    const notes: string[] = [];
    const { passage } = entered([noting('a', notes, true), noting('b', notes), noting('c', notes, true)]);
    await passage[hook]();
    expect(notes).toEqual(expected);
  });

  it('is last to first over a reply and over a stream', async () => {
    const notes: string[] = [];
    const stages = [noting('a', notes, true), { name: 'idle' }, noting('b', notes), noting('c', notes, true)];
    const { passage } = entered(stages);
    expect(contentOf(await passage.onReply(reply))).toBe('xcba');
    const { chunks } = await collected(
      through(passage, streamOf([chunkOf({ content: 'x' }), chunkOf({ content: 'y' })])),
    );
    expect(assembled(chunks).content).toBe('xcbaycba');
    expect(notes).toEqual(['c end', 'b end', 'a end']);
  });

  it('keeps the current value where a hook returns nothing', async () => {
    const nothing = () => undefined as never;
    const { passage } = entered([{ name: 'silent', onReply: nothing, onError: nothing }]);
    expect(await passage.onReply(reply)).toBe(reply);
    const error = refusal('rate_limited');
    expect(passage.onError(error)).toBe(error);
  });

  it('ends at the stage that refuses', async () => {
    const notes: string[] = [];
    const error = refusal('invalid_request');
    const refusing: Stage = { name: 'no', onRequest: async () => Promise.reject(error) };
    const { passage } = entered([noting('a', notes), refusing, noting('b', notes)]);
    expect(await thrownBy(() => passage.onRequest())).toBe(error);
    expect(notes).toEqual(['a onRequest']);
  });
});

describe('a reply given by a stage', () => {
  const answering: Stage = { name: 'cache', onRequest: async () => reply };

  it('skips the stages below and passes up through the stages before it', async () => {
    const notes: string[] = [];
    const { passage, settle } = entered([noting('a', notes), answering, noting('b', notes)]);
    await passage.onHeaders();
    notes.length = 0;
    expect(await passage.onRequest()).toBe(reply);
    expect(contentOf(await passage.onReply(reply))).toBe('xa');
    const { chunks } = await collected(through(passage, streamOf([chunkOf({ content: 'x' })])));
    expect(assembled(chunks).content).toBe('xa');
    settle();
    expect(notes).toEqual(['a onRequest', 'a end', 'b onSettled', 'a onSettled']);
  });

  it('passes through the onReply of its own stage too', async () => {
    const { passage } = entered([{ ...answering, onReply: () => saying('own') }, noting('b', [])]);
    await passage.onRequest();
    expect(contentOf(await passage.onReply(reply))).toBe('own');
  });
});

describe('the stages that were entered', () => {
  it('are those down to the one that refused, and get onError and onSettled last to first', async () => {
    const notes: string[] = [];
    const door = { ...noting('b', notes), onHeaders: throwing(refusal('missing_api_key')) };
    const { passage, settle } = entered([noting('a', notes), door, noting('c', notes)]);
    const thrown = await thrownBy(() => passage.onHeaders());
    expect(passage.onError(thrown).message).toMatch(/ba$/);
    settle();
    expect(notes).toEqual(['a onHeaders', 'b onError', 'a onError', 'b onSettled', 'a onSettled']);
  });

  it('are those before the first with onHeaders while no hook has run', () => {
    const notes: string[] = [];
    const { passage, settle } = entered([headless(noting('a', notes)), noting('b', notes)]);
    passage.onError(refusal('unknown_url'));
    settle();
    expect(notes).toEqual(['a onError', 'a onSettled']);
  });

  it('are all stages of a chain without onHeaders', () => {
    const notes: string[] = [];
    entered([headless(noting('a', notes)), headless(noting('b', notes))]).settle();
    expect(notes).toEqual(['b onSettled', 'a onSettled']);
  });

  it('are all stages once the headers have passed', async () => {
    const notes: string[] = [];
    const stages = [noting('a', notes), headless(noting('b', notes)), noting('c', notes)];
    const { passage, settle } = entered(stages);
    await passage.onHeaders();
    settle();
    expect(notes.slice(-3)).toEqual(['c onSettled', 'b onSettled', 'a onSettled']);
  });
});

describe('an error in the chain', () => {
  it('becomes server_error when it is not meant for clients', async () => {
    const bug = new TypeError('x is not a function');
    const { passage } = entered([{ name: 'broken', onReply: throwing(bug) }]);
    const thrown = await thrownBy(() => passage.onReply(reply));
    expect(thrown).toBe(bug);
    expect(passage.onError(thrown)).toMatchObject({ status: 502, type: 'server_error', cause: bug });
  });

  it('is replaced by an error that onError throws, which the stages above receive', () => {
    const notes: string[] = [];
    const broken: Stage = { name: 'broken', onError: throwing(new Error('bug')) };
    const { passage } = entered([headless(noting('a', notes)), broken]);
    expect(passage.onError(refusal('rate_limited'))).toMatchObject({ status: 502, type: 'server_error' });
    expect(notes).toEqual(['a onError']);
  });
});

describe('onSettled', () => {
  it('runs once for each stage, even when it is called twice or another stage throws', () => {
    const notes: string[] = [];
    const broken: Stage = { name: 'broken', onSettled: throwing(new Error('bug')) };
    const { settle } = entered([headless(noting('a', notes)), broken]);
    settle();
    settle();
    expect(notes).toEqual(['a onSettled']);
  });
});

describe('a run that is abandoned', () => {
  it('fails no hook that has settled', async () => {
    const { log, lines } = capturedLog();
    const exchange = sampleExchange({ request: {}, start: { log } });
    const passage = new Chain([noting('a', [], true)]).enter(exchange);
    await passage.onRequest();
    passage.abandon();
    expect([exchange.aborted, exchange.end_reason, lines]).toEqual([false, undefined, []]);
  });
});

describe('the log of the chain', () => {
  it('keeps the error that a stage replaces by throwing in onError', () => {
    const { log, lines } = capturedLog();
    const exchange = sampleExchange({ start: { log } });
    const broken: Stage = { name: 'broken', onError: throwing(new Error('bug')) };
    const cause = new Error('the disk is full');
    new Chain([broken]).enter(exchange).onError(refusal('provider_error', { cause }));
    expect(lines).toMatchObject([
      {
        stage: 'broken',
        hook: 'onError',
        err: { message: 'bug' },
        error: { type: 'provider_error', status: 502, cause: expect.stringContaining('the disk is full') },
      },
    ]);
  });

  it.each<[string, (error: GatewayError) => Error]>([
    ['an error of its own', () => new Error('bug')],
    ['the message with words around it', ({ message }) => new Error(`cannot show: ${message}`)],
    ['an error with the one that it handled as its cause', cause => new Error('bug', { cause })],
    ['another refusal', () => refusal('invalid_request', { message: "not 'canary-9'" })],
  ])('quotes no value of the client when a stage throws in onError: %s', async (_, fault) => {
    const { log, lines } = capturedLog();
    const broken: Stage = { name: 'broken', onError: (_, error) => throwing(fault(error))() };
    const cause = await thrownBy(() => JSON.parse('canary-1'));
    const message = "temperature: must be a number, not 'canary-2'";
    const chain = new Chain([broken]).enter(sampleExchange({ start: { log } }));
    chain.onError(refusal('invalid_request', { message, param: 'temperature', cause }));
    expect(lines).toMatchObject([{ stage: 'broken', hook: 'onError', error: { code: 'invalid_request' } }]);
    const { err } = lines[0] as unknown as { err: { cause?: unknown } };
    expect(JSON.stringify(lines) + inspect(err)).not.toContain('canary');
  });
});

describe('a request for another operation than chat', () => {
  const operation = {
    name: 'embeddings',
    encode: () => ({ path: '/embeddings', body: {} }),
    decodeReply: () => reply,
  };
  const entered = (stage: Partial<Stage>, tokens?: number[]) => {
    const messages = [
      { role: 'user' as const, content: 'One' },
      { role: 'user' as const, ...(tokens && { tokens }) },
    ];
    const exchange = sampleExchange({ request: { messages, operation } });
    new Chain([{ name: 'own', ...stage }]).enterOperation(exchange, operation);
    return exchange;
  };
  const onRequest = () => {};

  it('is named in metrics and spans', () => {
    expect(entered({ onRequest }).operation).toBe('embeddings');
  });

  it('has token ids only where every stage that reads requests takes them', () => {
    expect(() => entered({ onRequest }, [1])).toThrow('the stage own cannot read tokens');
    for (const stage of [
      { onRequest, takesTokens: true },
      { onRequest, mustRead: false },
      { onReply: () => reply },
    ])
      expect(() => entered(stage, [1])).not.toThrow();
  });
});
