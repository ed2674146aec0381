import { describe, expect, it } from '@jest/globals';
import { modelAccess } from '../../../../../plugins/stages/model-access/index.ts';
import type { Account } from '../../../../../src/stores/accounts/accounts.ts';
import { sampleExchange, sampleModel } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

type Options = Parameters<typeof modelAccess>[0];
const models = ['small', 'large'].map(id => sampleModel({ id }));
const created = (options: Options) => modelAccess(options).plan.create(sampleSetup(models));

/** Asks for `model`; throws or rejects where it is refused. */
async function ask(options: Options, account: Account | undefined, model: string): Promise<string> {
  const exchange = sampleExchange({ request: { model } });
  exchange.account = account;
  await created(options).onRequest!(exchange);
  return 'admitted';
}

const lists = { plans: { free: ['small'], pro: ['*'] }, accounts: { ann: ['large'] } };
const refused = (model: string, allowed: string) => ({
  status: 400,
  param: 'model',
  message: `model: this account may not use '${model}'; it may use: ${allowed}.`,
});

describe('model-access', () => {
  it.each([
    ['a plan', { id: 'bob', plan: 'free' }, 'small'],
    ['a plan with every model', { id: 'bob', plan: 'pro' }, 'large'],
    ['an account', { id: 'ann', plan: undefined }, 'large'],
  ])('admits a model that %s lists', async (_, account, model) => {
    expect(await ask(lists, account, model)).toBe('admitted');
  });

  it('refuses a model that the plan does not list, and names those that it does', async () => {
    await expect(ask(lists, { id: 'bob', plan: 'free' }, 'large')).rejects.toMatchObject(
      refused('large', 'small'),
    );
  });

  it('takes the list of an account in place of that of its plan', async () => {
    await expect(ask(lists, { id: 'ann', plan: 'pro' }, 'small')).rejects.toMatchObject(
      refused('small', 'large'),
    );
  });

  it.each([
    ['of another plan', { id: 'bob', plan: 'new' }],
    ['without a plan', { id: 'bob', plan: undefined }],
    ['named like a property of every object', { id: 'constructor', plan: 'toString' }],
    ['that is missing', undefined],
  ])('gives an account %s the models of others, which are none by default', async (_, account) => {
    await expect(ask(lists, account, 'small')).rejects.toMatchObject(refused('small', 'none'));
    expect(await ask({ ...lists, others: ['small'] }, account, 'small')).toBe('admitted');
  });

  it('shows no more of a long name than 128 characters', async () => {
    await expect(ask({}, undefined, 'x'.repeat(1000))).rejects.toMatchObject(
      refused('x'.repeat(128), 'none'),
    );
  });

  it('cannot be created with a model that the catalog does not have', () => {
    expect(() => created({ plans: { free: ['smal'] } })).toThrow(
      "model-access: there is no model 'smal' in the catalog",
    );
  });
});
