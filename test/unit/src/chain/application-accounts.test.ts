import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { auth } from '../../../../plugins/stages/auth/index.ts';
import { type AccountOf, ApplicationAccounts } from '../../../../src/chain/application-accounts.ts';
import { type AccountsConfig, ConfiguredAccounts } from '../../../../src/stores/accounts/accounts.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { sampleExchange } from '../../sample-exchange.ts';
import { sampleSetup } from '../../sample-setup.ts';

afterEach(() => void jest.useRealTimers());

const configured: AccountsConfig = { acme: { plan: 'free', keys: [] } };
let now_ms = 0;
const clock = { epoch_ms: () => now_ms, elapsed_ms: () => now_ms };

/** What is found for an exchange, and what the log says. */
function asked(accountOf: AccountOf, accounts: AccountsConfig = configured, holdsLimits = true) {
  const { log, lines } = capturedLog();
  const directory = new ConfiguredAccounts(accounts);
  const application = new ApplicationAccounts(accountOf, {
    accounts: directory,
    plans: { free: {} },
    holdsLimits,
    clock,
  });
  const exchange = sampleExchange({ start: { log } });
  return { find: () => application.find(exchange), application, exchange, lines };
}

describe('the accounts of an application', () => {
  it('are found synchronously where the application answers so', () => {
    expect(asked(() => 'acme').find()).toEqual({ id: 'acme', plan: 'free' });
    expect(asked(() => ({ id: 'own', plan: 'free' })).find()).toEqual({ id: 'own', plan: 'free' });
    expect(asked(() => undefined).find()).toBeUndefined();
  });

  it('are refused with limits that no stage of the chain holds', () => {
    const { find, lines } = asked(
      () => ({ id: 'own', limits: { requests_per_minute: 1 } }),
      configured,
      false,
    );
    expect(find).toThrow(expect.objectContaining({ type: 'configuration_error' }));
    expect(lines).toMatchObject([
      {
        msg: "accountOf returned account 'own' with limits; nothing holds them: the chain must list rate-limit",
      },
    ]);
  });

  it('keep the stage auth synchronous', () => {
    const { application, exchange } = asked(() => 'acme');
    const stage = auth().plan.create({ ...sampleSetup([], configured), accountOf: application.find });
    expect(stage.onHeaders!(exchange)).toBeUndefined();
    expect(exchange.account).toMatchObject({ id: 'acme' });
  });

  it('are those of the request object that the application has seen', () => {
    const seen: unknown[] = [];
    const { find, exchange } = asked(request => void seen.push(request));
    find();
    expect(seen).toEqual([exchange.incoming]);
  });

  it('are taken from any promise', async () => {
    // biome-ignore lint/suspicious/noThenProperty: what database libraries return is no Promise
    const query = { then: (resolve: (id: string) => unknown) => resolve('acme') };
    expect(await asked(() => query as never).find()).toMatchObject({ id: 'acme' });
  });

  it('cannot be changed by the application afterwards', () => {
    const limits = { requests_per_minute: 1 };
    const account = asked(() => ({ id: 'own', limits })).find();
    limits.requests_per_minute = 1000;
    expect(account).toMatchObject({ limits: { requests_per_minute: 1 } });
    expect(Object.isFrozen(account)).toBe(true);
  });
});

describe('an application that does not answer', () => {
  it('is given ten seconds', async () => {
    jest.useFakeTimers();
    const { find, lines } = asked(() => new Promise<never>(() => {}));
    let outcome: unknown = 'pending';
    (find() as Promise<unknown>).catch(thrown => (outcome = thrown));
    await jest.advanceTimersByTimeAsync(9999);
    expect(outcome).toBe('pending');
    await jest.advanceTimersByTimeAsync(1);
    expect(outcome).toMatchObject({ status: 502, type: 'server_error' });
    expect(lines).toMatchObject([
      { level: 50, err: { message: 'its promise has not settled within 10 s' }, msg: 'accountOf failed' },
    ]);
  });

  it('leaves no timer behind when it answers', async () => {
    jest.useFakeTimers();
    await asked(async () => 'acme').find();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('may reject after that without ending the process', async () => {
    jest.useFakeTimers();
    const late = Promise.withResolvers<never>();
    const { find } = asked(() => late.promise);
    const failed = expect(find()).rejects.toMatchObject({ status: 502 });
    await jest.advanceTimersByTimeAsync(10_000);
    await failed;
    late.reject(new Error('too late'));
    await jest.advanceTimersByTimeAsync(10);
  });
});

describe('hostile answers of an application', () => {
  const throwing = (message: string) => () => {
    throw new Error(message);
  };
  it.each<[string, () => unknown]>([
    ['a getter of then', () => Object.defineProperty({}, 'then', { get: throwing('then') })],
    ['a getter of id', () => Object.defineProperty({}, 'id', { get: throwing('id'), enumerable: true })],
    ['a proxy', () => new Proxy({}, { ownKeys: throwing('keys'), get: throwing('get') })],
    // biome-ignore lint/suspicious/noThenProperty: as a broken library has it
    ['a then that throws', () => ({ then: throwing('then') })],
  ])('that throw are faults of the server: %s', async (_, answer) => {
    const { find, lines } = asked(answer as AccountOf);
    await expect((async () => find())()).rejects.toMatchObject({ status: 502, type: 'server_error' });
    expect(lines).toMatchObject([{ level: 50, msg: 'accountOf failed' }]);
  });

  it('may be thrown themselves', () => {
    for (const thrown of [undefined, null, 'text', { message: 7 }, Object.create(null)])
      expect(() =>
        asked(() => {
          throw thrown;
        }).find(),
      ).toThrow(expect.objectContaining({ status: 502, type: 'server_error' }));
  });
});

describe('the log of such faults', () => {
  it('has a line of each kind in ten seconds, with the number of those left out', () => {
    const answers: unknown[] = ['nobody', 'nobody', '', 'nobody', 'nobody'];
    const { find, lines } = asked(() => answers.shift() as string);
    for (const wait_ms of [0, 1, 1, 7_997, 2_001]) {
      now_ms += wait_ms;
      expect(find).toThrow();
    }
    expect(lines.map(({ level, left_out }) => [level, left_out])).toEqual([
      [40, undefined],
      [50, undefined],
      [40, 2],
    ]);
  });
});
