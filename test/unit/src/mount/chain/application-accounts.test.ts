import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { auth } from '../../../../../plugins/stages/auth/index.ts';
import { type AccountOf, ApplicationAccounts } from '../../../../../src/mount/chain/application-accounts.ts';
import { type AccountsConfig, ConfiguredAccounts } from '../../../../../src/records/configured-accounts.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

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

  it('stay known in their order with other options, but for those whose plan has gone', () => {
    const answers = [{ id: 'one' }, { id: 'gone', plan: 'free' }, { id: 'two' }];
    const { application, find } = asked(() => answers.shift());
    for (let given = 0; given < 3; given++) find();
    const setup = { accounts: new ConfiguredAccounts({}), plans: {}, holdsLimits: true, clock };
    const after = new ApplicationAccounts(() => undefined, setup, application);
    expect(after.given('', 9).map(({ id }) => id)).toEqual(['two', 'one']);
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

describe('an answer of the application that is no account', () => {
  const configuration = { status: 400, type: 'configuration_error' };
  const unknown = { status: 403, type: 'permission_error' };
  it.each<[string, unknown, object, RegExp]>([
    ['an empty id', '', configuration, /^accountOf returned ''; it must return an account's id, \{ id, plan/],
    ['null', null, configuration, /^accountOf returned null; it must return/],
    ['a number', 7, configuration, /^accountOf returned 7; it must return/],
    ['true', true, configuration, /^accountOf returned true; it must return/],
    ['a function', () => 'acme', configuration, /^accountOf returned a function; it must return/],
    ['an empty object', {}, configuration, /^accountOf returned an account that .* id: must be the id/],
    ['an array', ['acme'], configuration, /^accountOf returned an account that cannot be used; /],
    ['an empty id in an object', { id: '' }, configuration, /id: must not be empty/],
    ['a promise as id', { id: Promise.resolve('acme') }, configuration, /id: must be the id of the account/],
    ['a promise of null', Promise.resolve(null), configuration, /^accountOf returned null/],
    ['an id with a line break', { id: 'a\nb' }, configuration, /id: must have no control characters/],
    ['half a character', { id: 'a\ud800' }, configuration, /id: must have no control characters/],
    ['a huge id', { id: 'x'.repeat(1e6) }, configuration, /id: must have at most 256 characters/],
    ['a plan that is not configured', { id: 'x', plan: 'gold' }, configuration, /'gold'; .*: free$/],
    ['a plan of the prototype', { id: 'x', plan: 'toString' }, configuration, /'toString'; .* free$/],
    ['a misspelt field', { id: 'x', plna: 'free' }, configuration, /plna: unknown name; did you mean 'plan'/],
    [
      'a misspelt limit',
      { id: 'x', limits: { requests: 1 } },
      configuration,
      /limits.requests: unknown name/,
    ],
    ['a limit of NaN', { id: 'x', limits: { requests_per_minute: NaN } }, configuration, /limits\.requests/],
    ['an unknown id', 'nobody', unknown, /^accountOf returned 'nobody', and there is no/],
    ['__proto__', '__proto__', unknown, /^accountOf returned '__proto__', and there/],
    ['constructor', 'constructor', unknown, /^accountOf returned 'constructor', and there/],
    ['a huge unknown id', 'x'.repeat(1e6), unknown, /a string of 1000000 characters, and/],
  ])('is the fault that it is, and the log alone says why: %s', async (_, answer, fault, message) => {
    const { find, lines } = asked(() => answer as never);
    const said = expect.not.stringMatching(/accountOf|plan|nobody|__proto__/);
    await expect((async () => find())()).rejects.toMatchObject({ ...fault, message: said });
    expect(lines.map(({ msg }) => msg)).toEqual([expect.stringMatching(message)]);
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
