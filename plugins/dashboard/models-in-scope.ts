import {
  accountsAbove,
  allName,
  type LimitedAccount,
  type Model,
  namesModel,
  within,
} from '../../src/plugin.ts';
import type { PageRequest } from './page-request.ts';

const answer_ms = 5000;

/** The options of the stage `model-access`. */
interface ModelAccess {
  readonly plans?: Readonly<Record<string, readonly string[]>>;
  readonly accounts?: Readonly<Record<string, readonly string[]>>;
  readonly others?: readonly string[];
  readonly allowed?: (account: { readonly id: string; readonly plan?: string | undefined }) => unknown;
}

/** The models of the catalog, of customers those that the account may use; none while the application does not say which. */
export async function modelsInScope({
  context,
  scope: { account },
}: Pick<PageRequest, 'context' | 'scope'>): Promise<readonly Model[]> {
  if (!account) return context.catalog.models;
  const own = context.configured.findById(account.id) ?? account;
  const lists = [own, ...(await accountsAbove(context, account.parent))].flatMap(listsOf);
  const models = context.catalog.models.filter(({ id }) => allName(lists, id));
  const stage = context.settings.stages.find(({ name }) => name === 'model-access');
  if (!stage) return models;
  const names = await namesOf(stage.options as ModelAccess, account.id, account.plan).catch(thrown => {
    context.log.warn({ err: thrown }, 'failed to find the models that an account may use');
    return [] as readonly string[];
  });
  return models.filter(({ id }) => namesModel(names, id));
}

const listsOf = ({ models, model_lists = [] }: Pick<LimitedAccount, 'models' | 'model_lists'>) =>
  models ? [models, ...model_lists] : model_lists;

/** Those of them that serve chats, which the playground and the examples are. */
export const chatModelsInScope = async (request: Pick<PageRequest, 'context' | 'scope'>) =>
  (await modelsInScope(request)).filter(servesChat);

/** Whether a model serves chats. */
export const servesChat = ({ operations }: Model): boolean => operations?.includes('chat') ?? true;

async function namesOf(
  { plans = {}, accounts = {}, others = [], allowed }: ModelAccess,
  id: string,
  plan: string | undefined,
): Promise<readonly string[]> {
  if (allowed) {
    const answer = Promise.resolve(allowed({ id, plan }));
    const names: unknown = await within(answer, answer_ms, () => new Error('allowed did not settle'));
    return Array.isArray(names) ? names : [];
  }
  if (Object.hasOwn(accounts, id)) return accounts[id]!;
  return plan !== undefined && Object.hasOwn(plans, plan) ? plans[plan]! : others;
}
