import { defineKey, type ExchangeView } from '../../gateway/exchange/exchange-view.ts';

type IsAllowed = (model: string) => boolean;

const filter = defineKey<IsAllowed>('which models an exchange may fall back to');

/** The id of the model that another one has taken the place of, once it has. */
export const modelBeforeFallback = defineKey<string>('the model that was fallen back from');

/** Restricts the models that the exchange may fall back to, beside the restrictions of other stages. */
export function restrictFallbacks(exchange: ExchangeView, isAllowed: IsAllowed): void {
  const before = exchange.get(filter);
  exchange.set(filter, before ? model => before(model) && isAllowed(model) : isAllowed);
}

/** Whether no stage forbids the exchange to fall back to a model. */
export const mayFallBackTo = (exchange: ExchangeView, model: string): boolean =>
  exchange.get(filter)?.(model) ?? true;
