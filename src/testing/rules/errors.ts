import { type ErrorCode, errorCatalogue, GatewayError, refusal } from '../../errors.ts';
import type { Exchange } from '../../exchange.ts';
import type { Stage } from '../../stage.ts';
import type { Setting } from '../setting.ts';

/** `onError` makes a GatewayError of every error of the catalogue, whether or not there is an account, a body or a model yet. */
export function checkErrors(setting: Setting): void {
  for (const stage of setting.stages) {
    for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
      checkError(setting, stage, setting.exchange({}), code, 'before there is an account or a body');
      const exchange = setting.exchange();
      setting.asks(exchange, true);
      checkError(setting, stage, exchange, code, 'once the body is there');
    }
  }
}

function checkError(
  setting: Setting,
  stage: Stage,
  exchange: Exchange,
  code: ErrorCode,
  moment: string,
): void {
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
