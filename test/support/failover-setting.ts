import { expect } from '@jest/globals';
import type { Outcome } from '../../src/plugin.ts';
import { type GatewayOverrides, providerNames } from './gateway-under-test.ts';
import { completion, delta, expectWholeStream, finished, said, used } from './hostile-setting.ts';
import { events, type Script, startScriptedUpstream, streamed, whole } from './scripted-upstream.ts';
import { type Books, openBooksOf, type Sent } from './settlement.ts';

export type FleetOverrides = Omit<GatewayOverrides, 'upstream' | 'others' | 'stages'>;

/** A gateway in front of `count` providers, the first of the best priority; ended by `closeBalanced`. */
export async function openProviders(count: number, overrides: FleetOverrides = {}): Promise<Books> {
  const upstreams = await Promise.all(Array.from({ length: count }, () => startScriptedUpstream()));
  return openBooksOf(upstreams, overrides);
}

/** The reply text and the usage of provider `n`, counted from 1; both differ for every provider. */
export const answerOf = (n: number) => `The answer of provider ${n}.`;
const usageOf = (n: number) => ({ prompt_tokens: 100 * n + 1, completion_tokens: 10 * n + 1 });

/** Provider `n`'s answer, streamed or not. */
export function goodAnswer(n: number, stream: boolean): Buffer {
  const { prompt_tokens, completion_tokens } = usageOf(n);
  if (!stream) return whole(200, completion(answerOf(n), {}, { usage: usageOf(n) }));
  const [first = '', ...rest] = answerOf(n).split(/(?= )/);
  return streamed(
    events(
      delta({ role: 'assistant', content: '' }),
      said(first),
      ...rest.map(said),
      finished(),
      used(prompt_tokens, completion_tokens),
      '[DONE]',
    ),
  );
}

/** Makes every provider answer without a fault. */
export const allWell = ({ upstreams }: Books): void => {
  for (const [at, upstream] of upstreams.entries()) upstream.reply(answering(at + 1));
};

/** Makes provider `n` give its answer to every request, streamed or not. */
export const answering =
  (n: number): Script =>
  (socket, { body }) =>
    socket.write(goodAnswer(n, body.stream === true));

/** Requests per provider. */
export const askedOf = ({ upstreams }: Books): number[] => upstreams.map(({ requests }) => requests.length);

/** Expects exactly the answer of provider `n`, once, and a bill for that one alone. */
export function expectAnswerOf(n: number, { reply, outcome }: Sent, failed: readonly string[]): void {
  expect(reply.status).toBe(200);
  if (reply.headers.get('content-type')?.startsWith('text/event-stream'))
    expectWholeStream(reply, answerOf(n));
  else expect(JSON.parse(reply.text)).toMatchObject({ choices: [{ message: { content: answerOf(n) } }] });
  expect(outcome).toMatchObject({
    end_reason: 'completed',
    status: 200,
    provider: providerNames[n - 1],
    attempts: { length: failed.length + 1 },
    usage: { ...usageOf(n), estimated: false },
  });
  expect(failuresOf(outcome)).toEqual(failed);
}

/** The failed attempts of a record, as `upstream: kind`. */
export const failuresOf = ({ attempts }: Pick<Outcome, 'attempts'>): string[] =>
  attempts.filter(({ kind }) => kind).map(({ provider, kind }) => `${provider}: ${kind}`);

/** Expects an error reply that is not billed. */
export function expectNothing({ reply, outcome }: Sent, status: number, type: string): void {
  expect({ status: reply.status, text: reply.text }).toEqual({ status, text: reply.text });
  expect(JSON.parse(reply.text)).toEqual({ error: { message: expect.any(String), type } });
  expect(outcome.usage).toMatchObject({ prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0 });
  expect(outcome.cost_usd).toBe('0');
}
