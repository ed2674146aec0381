import { Chain, type Passage } from '../../chain/chain.ts';
import { type ErrorCode, errorCatalogue, GatewayError, refusal } from '../../errors.ts';
import type { Exchange } from '../../exchange.ts';
import { outcomeOf } from '../../settlement/settle.ts';
import type { Stage } from '../../stage.ts';
import type { Setting } from '../setting.ts';

const hooks = ['onHeaders', 'onRequest', 'onReply', 'onStream', 'onError'] as const;
type Hook = (typeof hooks)[number];

/** `onError` turns every error of the catalogue into one, whether or not there is an account, a body or a model yet. */
export function checkErrors(setting: Setting): void {
  for (const stage of setting.stages) {
    for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
      for (const moment of ['before the body is read', 'once the body is there']) {
        const exchange = setting.exchange();
        if (moment !== 'before the body is read') setting.asks(exchange, true);
        checkError(setting, stage, exchange, code, moment);
      }
    }
  }
}

function checkError(setting: Setting, stage: Stage, exchange: Exchange, code: ErrorCode, moment: string): void {
  if (!stage.onError) return;
  const where = { rule: 'errors', cut: `${code} ${moment}`, expected: 'a GatewayError' } as const;
  let shown: unknown;
  try {
    shown = stage.onError(exchange, refusal(code));
  } catch (thrown) {
    throw setting.breach({ ...where, problem: `onError of ${stage.name} throws`, got: thrown }, thrown);
  }
  if (GatewayError.is(shown)) return;
  throw setting.breach({ ...where, problem: `onError of ${stage.name} returns something else`, got: shown });
}

/** Every stage that was entered is settled once, however often and after whatever throw, and its `onSettled` throws nothing. */
export async function checkSettlement(setting: Setting): Promise<void> {
  for (const hook of hooks) {
    for (const place of ['before', 'behind'] as const) {
      const watches = setting.stages.map(stage => new Watch(stage));
      const watched = watches.map(({ stage }) => stage);
      const breaking = breakingIn(hook);
      const chain = new Chain(place === 'before' ? [breaking, ...watched] : [...watched, breaking]);
      const exchange = setting.exchange();
      const passage = chain.enter(exchange);
      await throwingWay(setting, exchange, passage, hook);
      exchange.status = 502;
      passage.onSettled(outcomeOf(exchange));
      passage.onSettled(outcomeOf(exchange));
      for (const watch of watches) {
        checkWatch(setting, watch, `a throw in ${hook} of the stage ${place} it`, hook, place);
      }
    }
  }
}

function checkWatch(
  setting: Setting,
  { stage: { name }, settled, fault }: Watch,
  cut: string,
  hook: Hook,
  place: 'before' | 'behind',
): void {
  const where = { rule: 'settlement', cut } as const;
  if (fault !== undefined) {
    const problem = `onSettled of ${name} throws`;
    throw setting.breach({ ...where, problem, expected: 'no throw', got: fault }, fault);
  }
  // Refused before it was entered, a stage must not hear of the end; refused by another stage of the chain, it may not.
  const expected = place === 'before' && hook === 'onHeaders' ? [0] : [1, 0];
  if (expected.includes(settled)) return;
  throw setting.breach({
    ...where,
    problem: `onSettled of ${name} is not called as often as it must be`,
    expected: expected[0],
    got: settled,
  });
}
