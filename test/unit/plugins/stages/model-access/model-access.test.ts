import { describe, expect, it, jest } from '@jest/globals';
import { modelAccess } from '../../../../../plugins/stages/model-access/index.ts';
import type { Account } from '../../../../../src/gateway/accounts/accounts.ts';
import type { GatewayError } from '../../../../../src/gateway/exchange/errors.ts';
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

describe('model-access with a function', () => {
  const ann = { id: 'ann', plan: 'free' };
  /** Asks `model` of one stage, again and again; returns 'admitted' or the status of the refusal. */
  function asking(allowed: NonNullable<Options>['allowed'], options: Options = {}) {
    const stage = created({ ...options, allowed });
    return async (model: string, account: Account | undefined = ann) => {
      const exchange = sampleExchange({ request: { model } });
      exchange.account = account;
      try {
        await stage.onRequest!(exchange);
        return 'admitted';
      } catch (error) {
        return (error as GatewayError).status;
      }
    };
  }

  it('admits what it answers for the account, and asks it once for each account and plan', async () => {
    const asked: unknown[] = [];
    const ask = asking(async account => {
      asked.push([account?.id, account?.plan]);
      return account?.plan === 'pro' ? ['*'] : ['small'];
    });
    expect([await ask('small'), await ask('large'), await ask('small')]).toEqual([
      'admitted',
      400,
      'admitted',
    ]);
    expect(await ask('large', { ...ann, plan: 'pro' })).toBe('admitted');
    expect(asked).toEqual([
      ['ann', 'free'],
      ['ann', 'pro'],
    ]);
  });

  it('asks it for every request with an allowed_ttl_s of 0', async () => {
    let asked = 0;
    const ask = asking(() => (++asked === 1 ? ['small'] : []), { allowed_ttl_s: 0 });
    expect([await ask('small'), await ask('small')]).toEqual(['admitted', 400]);
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no database');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no database'))],
    ['answers with a text', () => 'small'],
    ['answers with other values', () => [1]],
    ['answers with nothing', () => undefined],
  ])('admits nothing while it %s, and asks again', async (_, fails) => {
    let asked = 0;
    const ask = asking((() => (++asked === 1 ? fails() : ['small'])) as never);
    expect([await ask('small'), await ask('small')]).toEqual([502, 'admitted']);
  });

  it('admits nothing where it does not answer within 5 s', async () => {
    jest.useFakeTimers();
    try {
      const ask = asking(() => new Promise(() => {}));
      const answer = ask('small');
      await jest.advanceTimersByTimeAsync(5000);
      expect(await answer).toBe(502);
    } finally {
      jest.useRealTimers();
    }
  });

  it('is refused beside lists, and in a configuration file', () => {
    expect(() => modelAccess({ allowed: () => [], others: ['small'] })).toThrow(
      'allowed: is given in place of plans, accounts and others; leave them out',
    );
    expect(() => modelAccess({ allowed: 'accounts.ts' as never })).toThrow(
      'allowed: must be a function, and so can only be given in code',
    );
  });
});
