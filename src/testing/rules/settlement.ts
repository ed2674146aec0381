import { Chain, type ChainRun } from '../../chain/chain.ts';
import { pushIterable } from '../../chain/push-iterable.ts';
import { refusal } from '../../errors.ts';
import type { Exchange } from '../../exchange.ts';
import { outcomeOf } from '../../settlement/settle.ts';
import type { Stage } from '../../stage.ts';
import { PulledStream } from '../pulled-stream.ts';
import { replyOf, resultOf } from '../result.ts';
import type { Setting } from '../setting.ts';

const hooks = ['onHeaders', 'onRequest', 'onReply', 'onStream', 'onError'] as const;
type Hook = (typeof hooks)[number];

/**
 * After a throw in any hook of a stage before or behind them, the stages are settled once, however often it is called, and
 * their `onSettled` throws nothing. The request, the model and the account may not be there yet.
 */
export async function checkSettlement(setting: Setting): Promise<void> {
  for (const hook of hooks) {
    for (const place of ['before', 'behind'] as const) {
      const watches = setting.stages.map(stage => new Watch(stage));
      const watched = watches.map(({ stage }) => stage);
      const breaking = breakingIn(hook);
      const chain = new Chain(place === 'before' ? [breaking, ...watched] : [...watched, breaking]);
      const exchange = setting.exchange();
      const passage = chain.enter(exchange);
      await goAndBreak(setting, exchange, passage, hook);
      exchange.end.replied(502);
      passage.onSettled(outcomeOf(exchange));
      passage.onSettled(outcomeOf(exchange));
      const entered = place === 'behind' || hook !== 'onHeaders';
      const cut = `a throw in ${hook} of a stage ${place} it`;
      for (const watch of watches) checkWatch(setting, watch, cut, entered ? 1 : 0);
    }
  }
}

function checkWatch(
  setting: Setting,
  { stage: { name }, calls, fault }: Watch,
  cut: string,
  expected: number,
): void {
  const where = { rule: 'settlement', cut } as const;
  if (fault !== undefined) {
    const problem = `onSettled of ${name} throws`;
    throw setting.breach({ ...where, problem, expected: 'no throw', got: fault }, fault);
  }
  if (calls === expected) return;
  const problem = `onSettled of ${name} is not called once for an exchange that entered it`;
  throw setting.breach({ ...where, problem, expected: `${expected} calls`, got: `${calls} calls` });
}

/** A stage with all its hooks, whose `onSettled` is watched. */
class Watch {
  readonly stage: Stage;
  calls = 0;
  fault: unknown;

  constructor(stage: Stage) {
    const watched: Stage = { name: stage.name };
    for (const hook of hooks) if (stage[hook]) Object.assign(watched, { [hook]: stage[hook].bind(stage) });
    watched.onSettled = (exchange, outcome) => {
      this.calls++;
      try {
        stage.onSettled?.(exchange, outcome);
      } catch (thrown) {
        this.fault ??= thrown;
      }
    };
    this.stage = watched;
  }
}

function breakingIn(hook: Hook): Stage {
  return {
    name: 'breaking',
    [hook]: () => {
      throw refusal('server_error');
    },
  };
}

/** The way of an exchange up to the throw in `hook`, and the chain's answer to that throw. */
async function goAndBreak(
  setting: Setting,
  exchange: Exchange,
  passage: ChainRun,
  hook: Hook,
): Promise<void> {
  try {
    await passage.onHeaders();
    setting.asks(exchange, hook !== 'onReply');
    await passage.onRequest();
    const chunks = [
      { choices: [{ index: 0, delta: { content: 'Hello.' }, finish_reason: 'stop' as const }] },
    ];
    if (hook === 'onReply') await passage.onReply(replyOf(resultOf(chunks)));
    else for await (const _ of new PulledStream(passage.onStream(pushIterable(chunks))));
    throw refusal('server_error');
  } catch (thrown) {
    passage.onError(thrown);
  }
}
