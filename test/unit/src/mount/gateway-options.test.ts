import { describe, expect, it } from '@jest/globals';
import { serve } from '../../../../src/cli/serve.ts';
import { createGateway, openStateStore } from '../../../../src/index.ts';
import { sampleConfig } from '../config/sample-config.ts';

const messageOf = (made: Promise<unknown>): Promise<string> =>
  made.then(
    () => 'was made',
    (thrown: Error) => (thrown.name === 'ConfigError' ? thrown.message : `no ConfigError: ${thrown.message}`),
  );

describe('the options of createGateway', () => {
  it('are rejected with all errors before anything starts', async () => {
    const options = {
      terminal: 'yes',
      log: { ...console, warn: undefined },
      registry: new Map(),
      clock: { epoch_ms: () => 0 },
      state: 'memory',
      accountOf: 'acme',
      records: { query() {} },
      operatorOf: 'me',
      terminl: true,
    };
    expect(await messageOf(createGateway(sampleConfig(), options as never))).toBe(
      [
        'options of createGateway: 9 mistakes',
        '  terminal: must be true or false',
        '  log: must be a logger with the methods of pino; methods that it lacks: warn',
        '  registry: must be a Registry of prom-client; methods that it lacks: registerMetric, getSingleMetric, getMetricsAsArray, metrics',
        '  state: must be a state store, such as openStateStore() or new MemoryStateStore() gives, an object with the methods reserve, statuses, knownStatuses, close',
        '  accountOf: must be a function: it gets the request, and returns the id of an account, { id, plan, limits } or undefined',
        '  clock: must be a clock; methods that it lacks: elapsed_ms',
        '  records: must be a pool of Postgres connections, such as new pg.Pool() gives; methods that it lacks: connect',
        '  operatorOf: must be a function: it gets the request, and returns the name of the operator, { name, role }, or undefined',
        "  terminl: unknown name; did you mean 'terminal'? Accepted here: stages, dialects, adapters, extensions, stores, terminal, log, registry, state, accountOf, clock, records, operatorOf, publicUrl",
      ].join('\n'),
    );
  });

  it('are rejected when they are not an object', async () => {
    expect(await messageOf(createGateway(sampleConfig(), null as never))).toMatch(
      /^options of createGateway: 1 mistake\n {2}\(top level\): .*object/,
    );
  });

  it('are checked by serve as well', async () => {
    expect(await messageOf(serve(sampleConfig(), { regsitry: 1 } as never))).toMatch(
      /^options of serve: 1 mistake\n {2}regsitry: unknown name; did you mean 'registry'\?/,
    );
  });

  it('accompany a configuration, whose absence is reported alike', async () => {
    expect(await messageOf(createGateway(undefined as never))).toMatch(
      /^configuration: 1 mistake\n {2}\(top level\): is required: an object/,
    );
  });
});

describe('the options of openStateStore', () => {
  it('are rejected with the path of the option', () => {
    expect(() => openStateStore({ state: 'memory', state_timeout: 5 } as never)).toThrow(
      "openStateStore: 1 mistake\n  state_timeout: unknown name; did you mean 'state_timeout_ms'? Accepted here: state, ",
    );
  });
});
