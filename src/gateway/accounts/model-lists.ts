import { type GatewayError, invalidField } from '../exchange/errors.ts';
import type { ExchangeView } from '../exchange/exchange-view.ts';
import { defineKey } from '../exchange/exchange-view.ts';
import type { Account, ModelList } from './accounts.ts';

/** How many names a refusal lists. */
const max_named = 10;

/** The account whose key came with a request for the catalog, which needs none. */
export const catalogReader = defineKey<Account>('whose view of the catalog is shown');
const byStages = defineKey<readonly ModelList[]>(
  'the models that stages allow where a body is passed on unread',
);

/** Whether a list names a model. */
export const namesModel = (list: ModelList, id: string): boolean =>
  list.some(name => name === id || (name.endsWith('*') && id.startsWith(name.slice(0, -1))));

/** Whether all of the lists name a model. */
export const allName = (lists: readonly ModelList[] | undefined, id: string): boolean =>
  lists?.every(list => namesModel(list, id)) ?? true;

/** Has the exchange ask for models of this list only where stages do not see its model, beside the lists of other stages. */
export function allowModels(exchange: ExchangeView, list: ModelList): void {
  exchange.set(byStages, [...(exchange.get(byStages) ?? []), list]);
}

/** The lists of an exchange that stages do not see the model of: those of its account, and of stages. Undefined for none. */
export function unreadLists(exchange: ExchangeView): readonly ModelList[] | undefined {
  const account = exchange.account ?? exchange.get(catalogReader);
  const [ofAccount, ofStages] = [account?.model_lists, exchange.get(byStages)];
  return ofAccount && ofStages ? [...ofAccount, ...ofStages] : (ofAccount ?? ofStages);
}

/** The error for a model that an account, or a key of it, may not use. */
export function forbiddenModel(
  model: string,
  lists: readonly ModelList[],
  whose = 'account or API key',
): GatewayError {
  const named =
    lists[0]!
      .filter(name => allName(lists, name))
      .slice(0, max_named)
      .join(', ') || 'none';
  return invalidField('model', `this ${whose} may not use '${model.slice(0, 128)}'; it may use: ${named}.`);
}
