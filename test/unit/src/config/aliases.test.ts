import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config/load.ts';
import { mistakesOf, sampleConfig } from './sample-config.ts';

const model = 'aion-labs/aion-3.5';
const keys = [{ value: 'sk-12345678' }];
const load = (changes: object) => loadConfig(sampleConfig({ accounts: { demo: { keys } }, ...changes }), {});

describe('aliases that cannot be meant', () => {
  it.each<[object, string]>([
    [
      { aliases: { a: 'aion-labs/aion-35' } },
      `aliases.a: there is no model 'aion-labs/aion-35'; did you mean '${model}'?`,
    ],
    [{ aliases: { a: model, b: 'a' } }, "aliases.b: 'a' is an alias itself; give the id of a model"],
    [
      { aliases: { a: model }, accounts: { demo: { keys, aliases: { b: 'a' } } } },
      "accounts.demo.aliases.b: 'a' is an alias itself",
    ],
    [
      { stages: ['auth', { aliases: { names: { a: 'none' } } }] },
      'stages[1].aliases.names.a: there is no model',
    ],
    [
      { stages: ['auth', { aliases: { accounts: { demo: { a: 'none' } } } }] },
      'stages[1].aliases.accounts.demo.a: there is no model',
    ],
    [{ aliases: { 'a*b': model } }, 'aliases.a*b: must have 1 to 256 characters, and a star only at its end'],
    [{ aliases: { a: model }, stages: ['auth', 'aliases'] }, 'stages[1]: is in the chain already'],
  ])('are refused: %j', async (changes, message) => {
    expect((await mistakesOf(sampleConfig(changes))).join('\n')).toContain(message);
  });

  it.each<[object, string]>([
    [
      { aliases: { [model]: model } },
      `aliases.${model}: has no effect: the catalog has a model of this name`,
    ],
    [
      { accounts: { demo: { keys, aliases: { [model]: model } } } },
      `accounts.demo.aliases.${model}: has no effect: the catalog has a model of this name`,
    ],
    [{ list_aliases: true }, 'list_aliases: has no effect: there are no aliases at the top level'],
    [{ aliases_in_replies: false }, 'aliases_in_replies: has no effect: there are no aliases'],
    [
      { stages: ['auth', 'validation', { aliases: { names: { a: model } } }] },
      'stages[2]: aliases stands behind validation; list it before: it knows the names of the catalog only',
    ],
  ])('are warned of: %j', async (changes, warning) => {
    const { warnings } = await load(changes);
    expect(warnings.map(line => line.replace(/^stages\[1\]: validation stands behind.*/, ''))).toContain(
      warning,
    );
  });
});

describe('the chain of a configuration', () => {
  const names = async (changes: object) => (await load(changes)).stages.map(stage => stage.name);

  it('has the stage aliases only where there are aliases', async () => {
    expect(await names({})).not.toContain('aliases');
    expect((await names({ aliases: { a: model } }))[0]).toBe('aliases');
    expect((await names({ accounts: { demo: { keys, aliases: { a: model } } } }))[0]).toBe('aliases');
  });

  it('names a stage that cannot be created by its place in the list', async () => {
    const settings = await load({ aliases: { a: model }, stages: ['auth', 'validation'] });
    const fail = () => {
      throw new Error('no');
    };
    expect(() => settings.made.stage(1, fail)).toThrow('stages[0]');
  });
});
