import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { CommandMistake } from '../../../../../src/cli/command.ts';
import type { Imported } from '../../../../../src/cli/import/imported.ts';
import { checkImported } from '../../../../../src/cli/import/imported-config.ts';
import { importLiteLlm } from '../../../../../src/cli/import/litellm/import-litellm.ts';
import { importPortkey } from '../../../../../src/cli/import/portkey/import-portkey.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice-nonsense-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** A configuration for keys. */
const models = join(directory, 'models.yaml');
writeFileSync(models, 'model_list: [{ model_name: gpt-4o, litellm_params: { model: openai/gpt-4o } }]');

const gateways = {
  litellm: { read: (file: string) => importLiteLlm(file, ['openai/gpt-4o']), ending: 'yaml' },
  portkey: { read: (file: string) => importPortkey(file, ['gpt-4o']), ending: 'json' },
  'litellm-keys': { read: (file: string) => importLiteLlm(models, [], { keys: file }), ending: 'json' },
};
type Gateway = keyof typeof gateways;

/** What comes of a text; undefined if it was refused as a command refuses. */
function read(gateway: Gateway, text: string): Imported | undefined {
  const file = join(directory, `config.${gateways[gateway].ending}`);
  writeFileSync(file, text);
  try {
    return gateways[gateway].read(file);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(CommandMistake);
    expect((thrown as Error).message).toMatch(/^\S+config\.(yaml|json)/);
    return undefined;
  }
}

const textsOf = (gateway: Gateway): readonly string[] => {
  const folder = 'test/fixtures/import';
  if (gateway === 'litellm-keys') return [readFileSync(`${folder}/${gateway}.json`, 'utf8')];
  return readdirSync(`${folder}/${gateway}`).map(name => readFileSync(join(folder, gateway, name), 'utf8'));
};

/** A value with some parts replaced by others: `places` says which, by their numbers. */
function withNonsense(value: unknown, places: ReadonlyMap<number, unknown>): unknown {
  let number = 0;
  const copy = (part: unknown): unknown => {
    number += 1;
    if (places.has(number)) return places.get(number);
    if (Array.isArray(part)) return part.map(copy);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, own]) => [name, copy(own)]));
  };
  return copy(value);
}

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(
    'os.environ/',
    '${',
    '*',
    'http://[',
    '-1',
    '1e999',
    'NaN',
    '/',
    '@',
    'openai/',
    '__proto__',
    ' ',
    1e308,
    -5,
    0.1,
  ),
);

describe.each(Object.keys(gateways) as Gateway[])('nonsense in a file of %s', gateway => {
  const values = textsOf(gateway).map(text => parse(text, { merge: true }) as unknown);

  it('of other types or values is refused or noted, and what comes over loads', async () => {
    const places = fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 120 }), odd), {
      maxLength: 6,
      selector: ([at]) => at,
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...values), places, async (value, changes) => {
        const imported = read(
          gateway,
          stringify(withNonsense(value, new Map(changes)), { aliasDuplicateObjects: false }),
        );
        if (imported) await checkImported(imported.config.value);
      }),
      { numRuns: 120 },
    );
  });

  it('of broken text is refused with its place', () => {
    const cuts = fc.tuple(
      fc.constantFrom(...textsOf(gateway)),
      fc.nat(2000),
      fc.nat(40),
      fc.string({ maxLength: 12 }),
    );
    fc.assert(
      fc.property(
        cuts,
        ([text, at, length, put]) => void read(gateway, text.slice(0, at) + put + text.slice(at + length)),
      ),
      { numRuns: 120 },
    );
  });

  it.each([
    ['', ''],
    ['a list', '[1, 2]'],
    ['a text', 'model_list'],
    ['levels without end', '['.repeat(20_000)],
    [
      'aliases of aliases',
      `a: &a [x]\n${[...'bcdefgh'].map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[at]}`).join(', ')}]`).join('\n')}`,
    ],
    ['an alias without its anchor', 'model_list: *secret'],
    ['bytes that are no text', '\0\u0001\u0002'],
  ])('is refused: %s', (_, text) => {
    expect(read(gateway, text)).toBeUndefined();
  });
});
