import { describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../../../../src/config/example-models.ts';
import { auth, createChain, rateLimit, validation } from '../../../../../src/index.ts';
import { createLog } from '../../../../../src/telemetry/log.ts';

const accounts = { tester: { keys: [{ value: 'sk-client-key-0123456789' }] } };
const log = createLog('silent');

/** The lines of the ConfigError that `createChain` throws. */
function mistakesOf(stages: unknown, options: object = {}): string[] {
  try {
    createChain(stages as never, options);
  } catch (thrown) {
    const { name, message } = thrown as Error;
    expect(name).toBe('ConfigError');
    const [head, ...lines] = message.split('\n');
    expect(head).toMatch(/^createChain: \d+ mistakes?$/);
    return lines.map(line => line.trim());
  }
  throw new Error('no mistake was found');
}

describe('the check of a chain without authentication', () => {
  const everybody =
    'stages: must list auth: without it every request is served, without a key. If that is meant, write open: true; a stage of your own that replaces auth says authenticates: true in defineStage';

  it('rejects the chain where accounts or plans are given', () => {
    expect(mistakesOf([validation()], { accounts })).toEqual([everybody]);
    const plans = { free: { requests_per_minute: 1 } };
    expect(mistakesOf([rateLimit()], { plans })).toEqual([everybody]);
  });

  it('accepts the chain with open set', () => {
    const plans = { free: { requests_per_minute: 1 } };
    expect(createChain([rateLimit()], { plans, accounts, open: true, log })).toBeInstanceOf(Function);
  });

  it('accepts stages in front of a handler that does its own check', () => {
    expect(createChain([validation()])).toBeInstanceOf(Function);
  });

  it('rejects open beside the stage auth', () => {
    expect(mistakesOf([auth()], { accounts, open: true })).toEqual([
      'open: has no effect: the stage auth refuses requests without a key',
    ]);
  });

  it('rejects accounts of the chain beside accounts of the stage auth', () => {
    expect(mistakesOf([auth({ accounts })], { accounts })).toEqual([
      'accounts: has no effect: the stage auth has accounts of its own',
    ]);
  });

  it('warns when no key exists and every request would be rejected', () => {
    const said: unknown[] = [];
    const telling = Object.assign(createLog('silent'), {
      warn: (_: object, text: string) => void said.push(text),
    });
    createChain([auth()], { log: telling });
    createChain([auth()], { log: telling, accounts: { tester: { keys: [] } } });
    const warning = 'createChain: accounts has no key, so the stage auth refuses every request';
    expect(said).toEqual([warning, warning]);
    createChain([auth()], { log: telling, accounts });
    createChain([auth({ accounts })], { log: telling });
    expect(said).toHaveLength(2);
    const models = defaultModels('any').map(model => ({
      ...model,
      pricing: { prompt: '0', completion: '15' },
    }));
    createChain([auth()], { log: telling, accounts, models: models.slice(0, 1) });
    expect(said[2]).toMatch(/^models\[0\]\.pricing\.completion: .* is written "0\.000015"$/);
  });
});

describe('the errors in the options of createChain', () => {
  it.each<[string, unknown, string[]]>([
    [
      'stages that are not a list',
      auth(),
      ['stages: must be a list of stages, such as [auth(), validation()]'],
    ],
    [
      'a factory that was not called',
      [auth],
      ['stages[0]: is the factory of the stage auth; call it, with options or without'],
    ],
    [
      'entries that are not stages',
      [validation(), 'auth', undefined, () => {}, { onHeaders() {} }],
      [1, 2, 3, 4].map(
        at => `stages[${at}]: must be a stage: what auth() returns, or a factory made with defineStage`,
      ),
    ],
    [
      'a stage listed twice',
      [validation(), validation()],
      ['stages[1]: the stage validation is listed twice'],
    ],
  ])('name the position of the stage at fault: %s', (_, stages, expected) => {
    expect(mistakesOf(stages)).toEqual(expected);
  });

  it.each<[object, string[]]>([
    [
      { acounts: {}, max_body_bytes: 0 },
      [
        'max_body_bytes: must be above 0, not 0',
        expect.stringMatching(
          /^acounts: unknown name; did you mean 'accounts'\? Accepted here: models, accounts, .*, log, registry, state, accountOf, clock$/,
        ) as unknown as string,
      ],
    ],
    [
      { log: { ...console, warn: undefined } },
      ['log: must be a logger with the methods of pino; methods that it lacks: warn'],
    ],
    [{ log: true }, ['log: must be a logger with the methods of pino; an object is needed, not true']],
    [
      { registry: {} },
      [
        'registry: must be a Registry of prom-client; methods that it lacks: registerMetric, getSingleMetric, getMetricsAsArray, metrics',
      ],
    ],
    [
      { state: new Map() },
      [
        'state: must be a state store, such as openStateStore() or new MemoryStateStore() gives; methods that it lacks: reserve, statuses, knownStatuses, close',
      ],
    ],
    [
      { accounts: { a: { plan: 'fre' } }, plans: { free: {} } },
      ["accounts.a.plan: there is no plan 'fre'; did you mean 'free'? There are: free"],
    ],
  ])('name the option at fault: %#', (options, expected) => {
    expect(mistakesOf([], options)).toEqual(expected);
  });

  it('are reported all at once', () => {
    expect(mistakesOf([auth], { log: {}, open: 'yes' })).toHaveLength(3);
  });
});
