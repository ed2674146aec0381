import { Chain, type ChainRun } from '../../gateway/exchange/chain.ts';
import { type ErrorCode, errorCatalogue, GatewayError, refusal } from '../../gateway/exchange/errors.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import { pushIterable } from '../../gateway/exchange/push-iterable.ts';
import type { Stage } from '../../gateway/exchange/stage.ts';
import { outcomeOf } from '../../gateway/settlement/settle.ts';
import { PulledStream } from '../pulled-stream.ts';
import type { Setting } from '../setting.ts';

/** `onError` returns a GatewayError for every error of the catalogue, whether or not there is an account, a body or a model yet. */
export function checkErrors(setting: Setting): void {
  const moments = [
    ['before there is an account or a body', () => setting.exchange(true)],
    ['once the body is there', () => setting.asked(setting.exchange(), true)],
  ] as const;
  for (const stage of setting.stages) {
    if (!stage.onError) continue;
    for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
      for (const [moment, exchange] of moments) {
        const breach = (problem: string, got: unknown) => {
          const values = { expected: 'a GatewayError', got };
          return setting.breach(
            'errors',
            { cut: `${code} ${moment}` },
            `onError of ${stage.name} ${problem}`,
            values,
          );
        };
        let shown: unknown;
        try {
          shown = stage.onError(exchange(), refusal(code));
        } catch (thrown) {
          throw breach('throws', thrown);
        }
        if (!GatewayError.is(shown)) throw breach('returns something else', shown);
      }
    }
  }
}

const hooks = ['onHeaders', 'onRequest', 'onReply', 'onStream', 'onError'] as const;
type Hook = (typeof hooks)[number];

/**
 * After a throw in any hook of a stage before or behind them, the stages are settled exactly once, and their `onSettled` does not throw.
 * The request, the model and the account may not be there yet.
 */
export async function checkSettlement(setting: Setting): Promise<void> {
  for (const hook of hooks) {
    for (const position of ['before', 'behind'] as const) {
      const cut = `a throw in ${hook} of a stage ${position} it`;
      const watches = setting.stages.map(watch);
      const watched = watches.map(({ stage }) => stage);
      const breaking = { name: 'breaking', [hook]: fail };
      const chain = new Chain(position === 'before' ? [breaking, ...watched] : [...watched, breaking]);
      const exchange = setting.exchange();
      const run = chain.enter(exchange);
      await runInto(hook, setting, exchange, run);
      exchange.end.replied(502);
      run.onSettled(outcomeOf(exchange));
      run.onSettled(outcomeOf(exchange));
      const expected = position === 'behind' || hook !== 'onHeaders' ? 1 : 0;
      for (const { stage, thrown } of watches) {
        const breach = (problem: string, expected: string, got: unknown) =>
          setting.breach('settlement', { cut }, `onSettled of ${stage.name} ${problem}`, { expected, got });
        const fault = thrown.find(fault => fault !== undefined);
        if (fault !== undefined) throw breach('throws', 'no throw', fault);
        if (thrown.length === expected) continue;
        const problem = 'is not called once for an exchange that entered it';
        throw breach(problem, `${expected} calls`, `${thrown.length} calls`);
      }
    }
  }
}

function fail(): never {
  throw refusal('server_error');
}

/** A copy of a stage, with what each call of its `onSettled` threw. */
function watch(stage: Stage) {
  const thrown: unknown[] = [];
  const onSettled: Stage['onSettled'] = (exchange, outcome) => {
    const call = thrown.push(undefined) - 1;
    try {
      stage.onSettled?.(exchange, outcome);
    } catch (fault) {
      thrown[call] = fault;
    }
  };
  return { stage: { ...stage, onSettled }, thrown };
}

/** Runs an exchange up to the throw in `hook`, and the chain's answer to that throw. */
async function runInto(hook: Hook, setting: Setting, exchange: Exchange, run: ChainRun): Promise<void> {
  const end = { index: 0, finish_reason: 'stop' } as const;
  try {
    await run.onHeaders();
    setting.asked(exchange, hook !== 'onReply');
    await run.onRequest();
    if (hook === 'onReply') {
      await run.onReply({ choices: [{ ...end, message: { role: 'assistant', content: 'Hello.' } }] });
    } else {
      const chunks = pushIterable([{ choices: [{ ...end, delta: { content: 'Hello.' } }] }]);
      for await (const _ of new PulledStream(run.onStream(chunks)));
    }
    fail();
  } catch (thrown) {
    run.onError(thrown);
  }
}
