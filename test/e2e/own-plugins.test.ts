import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { auth, ConfigError, defineStage, validation } from '../../src/index.ts';
import { defineProvider, type Exchange, openAiAdapter } from '../../src/plugin.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { capturedLog } from '../support/captured-log.ts';
import { post } from '../support/chain-app.ts';
import { startApp } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());
afterEach(closeMounted);

const key = { authorization: `Bearer ${clientKey}` };

/** A stage that is made with what the application has, as a closure over it. */
const noting = (seen: string[]) =>
  defineStage({
    name: 'noting',
    schema: z.strictObject({ mark: z.string() }),
    create: ({ mark }) => ({
      onHeaders: (exchange: Exchange) => void seen.push(`${mark} ${exchange.account?.id}`),
    }),
  });

async function chatThrough(...given: Parameters<typeof mountable>) {
  const gateway = await mountable(...given);
  const app = await startApp(app => void app.use(gateway));
  return post(`${app.url}/v1/chat/completions`, ask('[[sim:say=Yes]]'), key);
}

describe('the option stages of createGateway', () => {
  it('runs built-in stages by name and stages given as objects in order', async () => {
    const seen: string[] = [];
    const stage = noting(seen);
    const stages = ['error-envelope', 'auth', { validation: {} }, stage({ mark: 'a' })];
    const reply = await chatThrough(simulator, {}, { stages });
    expect(reply.status).toBe(200);
    expect(seen).toEqual(['a tester']);
  });

  it('accepts built-in stages as their factories return them', async () => {
    const reply = await chatThrough(simulator, {}, { stages: [auth({ x_api_key: true }), validation()] });
    expect(reply.status).toBe(200);
  });
});

describe('the option adapters of createGateway', () => {
  it('lets the configuration name an adapter of the application', async () => {
    const asked: unknown[] = [];
    const own = defineProvider({
      name: 'my-server',
      schema: z.strictObject({ region: z.string() }),
      create: ({ region }) =>
        openAiAdapter({
          providerName: 'my-server',
          fields() {
            asked.push(region);
            return {};
          },
        }),
    });
    const providers = { upstream: { adapter: 'my-server', base_url: simulator.url, region: 'eu' } };
    const reply = await chatThrough(simulator, { providers } as never, { adapters: [own] });
    expect([reply.status, asked]).toEqual([200, ['eu']]);
  });
});

describe("a stage's own metrics", () => {
  const counting = defineStage({
    name: 'counting',
    create(_options, { metrics }) {
      const words = metrics.counter({ name: 'words_total', help: 'Words.', labels: ['word'], max_series: 1 });
      return { onHeaders: ({ headers }) => words.inc(JSON.parse(String(headers['x-labels']))) };
    },
  });

  it('appear in its registry with bounded series, and a label that is not declared fails the request', async () => {
    const { log, lines } = capturedLog();
    const gateway = await mountable(simulator, {}, { stages: ['error-envelope', 'auth', counting()], log });
    const app = await startApp(app => app.use(gateway));
    const models = (labels: object) =>
      fetch(`${app.url}/v1/models`, { headers: { 'x-labels': JSON.stringify(labels) } });
    for (const word of ['a', 'b', 'c', 'a']) await models({ word });
    const metrics = (await gateway.registry.metrics()).split('\n');
    expect(metrics.filter(line => line.startsWith('sluice_counting_'))).toEqual([
      'sluice_counting_words_total{word="a"} 2',
      'sluice_counting_words_total{word="_other"} 2',
    ]);
    const reply = await models({ day: 'a' });
    expect(reply.status).toBe(502);
    expect(await reply.text()).not.toContain('day');
    const sentence = "metric sluice_counting_words_total: there is no label 'day'; declared are: word";
    await until(() => JSON.stringify(lines).includes(sentence));
  });
});

describe('plugins in code that cannot be used', () => {
  const mistakes = async (options: object, sections: object = {}) => {
    const thrown = await mountable(simulator, sections, options).catch(error => error);
    expect(thrown).toBeInstanceOf(ConfigError);
    return String(thrown.message)
      .split('\n')
      .slice(1)
      .map(line => line.trim());
  };

  it('are told when the configuration has stages as well', async () => {
    expect(await mistakes({ stages: ['auth'] }, { stages: ['auth'] })).toEqual([
      'options.stages: cannot be given here and in the configuration; remove one of the two',
    ]);
  });

  it('are checked as the stages of a configuration are', async () => {
    expect(await mistakes({ stages: [validation()] })).toEqual([
      'options.stages: must list auth: without it every request is served, without a key. If that is meant, write server: { open: true }; a stage of your own that replaces auth says authenticates: true in defineStage',
    ]);
    expect(await mistakes({ stages: [auth({ accounts: {} })] })).toEqual([
      'options.stages[0].auth.accounts: belongs to accounts, at the top level',
    ]);
    expect(await mistakes({ stages: ['auth', { onRequest() {} } as never] })).toEqual([
      'options.stages[1]: must be a stage made with defineStage({ name, create }), not its hooks alone',
    ]);
    expect(await mistakes({ stages: [auth, {}, 5, 'auth'] })).toEqual([
      'options.stages[0]: is the factory of the stage auth; call it, with options or without',
      'options.stages[1]: must be one stage with its options; begin each stage with its own "-"',
      'options.stages[2]: must be the name of a stage, or one name with its options',
    ]);
  });

  it('are told when a name is taken', async () => {
    const named = (name: string) =>
      defineStage({ name, schema: z.strictObject({}), create: () => ({ onSettled() {} }) });
    expect(await mistakes({ stages: [named('auth')(), named('a')(), named('a')()] })).toEqual([
      'options.stages[0]: the name auth is taken by a built-in stage; give this one another name',
      'options.stages[2]: the name a is taken by another stage of the list; give one of them another name',
    ]);
    const adapter = (name: string, schema = z.strictObject({})) =>
      defineProvider({ name, schema, create: () => openAiAdapter({ providerName: 'x' }) });
    expect(await mistakes({ adapters: [adapter('openai'), adapter('b'), adapter('b')] })).toEqual([
      'options.adapters[0]: the name openai is taken by a built-in adapter; give this one another name',
      'options.adapters[2]: the name b is taken by another adapter; give this one another name',
    ]);
    expect(
      await mistakes({ adapters: [adapter('c', z.strictObject({ base_url: z.string() }) as never)] }),
    ).toEqual([
      'options.adapters[0]: its option base_url is one that every provider has; give it another name',
    ]);
  });
});
