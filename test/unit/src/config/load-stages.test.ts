import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config/load.ts';
import { mistakesOf, sampleConfig, temporaryFiles } from './sample-config.ts';

const file = temporaryFiles();

const ownStage = (declared: string) =>
  `${declared} Object.assign(() => ({ plan: { name: 'mine', create: () => ({ name: 'mine' }) } }), { stageName: 'mine', schema: {} });\n`;
const packages = { 'sluice-mine': '"exports": "./index.js"', '@me/mine': '"main": "index.js"' };
for (const [name, field] of Object.entries(packages)) {
  file(`node_modules/${name}/package.json`, `{ "name": "${name}", "type": "module", ${field} }`);
  file(`node_modules/${name}/index.js`, ownStage('export const mine ='));
}

describe('the list of stages', () => {
  const fixtures = join(import.meta.dirname, '../../../fixtures/stages');
  const named = async (stages: unknown[]) =>
    (
      await loadConfig(sampleConfig({ server: { open: !JSON.stringify(stages).includes('"auth"') }, stages }))
    ).stages.map(({ name }) => name);

  it('keeps the given order', async () => {
    expect(
      await named(['validation', { auth: null }, { 'error-envelope': { openai_fields: true } }]),
    ).toEqual(['validation', 'auth', 'error-envelope']);
    expect(await named([])).toEqual([]);
  });

  it('accepts modules beside the configuration', async () => {
    const path = join(fixtures, 'shout.ts');
    expect(await named(['auth', path])).toEqual(['auth', 'shout']);
    expect(
      await mistakesOf(sampleConfig({ stages: ['auth', { [path]: { marks: 9, loud: true } }] })),
    ).toEqual([
      expect.stringMatching(/shout\.ts\.marks: .*3/),
      expect.stringMatching(/shout\.ts\.loud: unknown name; accepted here: marks$/),
    ]);
  });

  it('resolves paths from the configuration file, not from the working directory', async () => {
    file('own/stage.mjs', ownStage('export default'));
    const path = file(
      'own/sluice.json',
      JSON.stringify(sampleConfig({ server: { open: true }, stages: ['./stage.mjs'] })),
    );
    expect((await loadConfig(path)).stages.map(({ name }) => name)).toEqual(['mine']);
  });

  it.each(Object.keys(packages))('accepts the package %s', async name => {
    const path = file(
      'packages.json',
      JSON.stringify(sampleConfig({ server: { open: true }, stages: [name] })),
    );
    expect((await loadConfig(path)).stages.map(plan => plan.name)).toEqual(['mine']);
  });

  it.each<[string, unknown, RegExp]>([
    [
      'an unknown name',
      'nonsense',
      /^stages\[0\]: there is no stage 'nonsense'; built in are: .*; others by path/,
    ],
    ['an invalid name', 'not a name', /^stages\[0\]: there is no stage 'not a name'/],
    ['a missing file', './absent.ts', /^stages\[0\]: cannot be loaded: \S/],
    [
      'a module without a stage',
      join(fixtures, '../think-texts.ts'),
      /must export a stage made with defineStage/,
    ],
    [
      'a module with two stages',
      join(fixtures, 'two.ts'),
      /must export a stage made with defineStage, as its default or only one/,
    ],
    [
      'two names in one entry',
      { auth: {}, validation: {} },
      /^stages\[0\]: must be one stage with its options/,
    ],
    ['an empty entry', {}, /^stages\[0\]: must be one stage with its options/],
  ])('rejects %s', async (_, stage, expected) => {
    const found = await mistakesOf(sampleConfig({ stages: [stage] }));
    expect(found).toEqual([expect.stringMatching(expected)]);
  });
});
