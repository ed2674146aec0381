import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ConfigError, shownIssue } from '../../../../src/common/config-error.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import { createGateway } from '../../../../src/mount/gateway.ts';
import { defineDialect, defineExtension, defineProvider, defineStage } from '../../../../src/plugin.ts';
import { sampleConfig, temporaryFiles } from './sample-config.ts';

const file = temporaryFiles();
const open = { server: { open: true }, log: { level: 'silent' } };

/** Modules that cannot be used, and the sentence about each; NAME is `defineStage` and so on. */
const modules: Readonly<Record<string, readonly [string, RegExp]>> = {
  'throws at load': ["throw new Error('no database\\nhere');", /cannot be loaded: no database$/],
  'throws nothing useful': ['throw null;', /cannot be loaded: null$/],
  'never finishes loading': [
    'await new Promise(() => {});',
    /cannot be loaded: still loading after 0\.05 s; a top-level await in it may never settle$/,
  ],
  'exports nothing': [
    'export const a = 1;',
    /must export an? \w+ made with define\w+, as its default or only one$/,
  ],
};

const mistakesIn = async (act: () => Promise<unknown>): Promise<string[]> => {
  const thrown: unknown = await act().catch(error => error);
  if (!(thrown instanceof ConfigError)) throw new Error('no mistake was found', { cause: thrown });
  return thrown.issues.map(shownIssue);
};

/** A dialect with these facts. */
const mine = (facts: object) => {
  const base = { name: 'mine', paths: { '/mine': ['POST'] }, errorBody: () => '', create: () => ({}) };
  return defineDialect({ ...base, ...facts } as never);
};

/** The configuration of a provider with this adapter. */
const adaptedBy = (adapter: string) => {
  const providers = { local: { adapter, base_url: 'http://127.0.0.1:1' } };
  return sampleConfig({ ...open, stages: [], providers });
};

describe('a module that', () => {
  const places = {
    stages: (path: string) => sampleConfig({ ...open, stages: [path] }),
    dialects: (path: string) => sampleConfig({ ...open, stages: [], dialects: [path] }),
    providers: adaptedBy,
  };
  const cases = Object.keys(modules).flatMap(what =>
    Object.keys(places).map(where => [what, where] as const),
  );
  it.each(cases)('%s is one sentence in %s', async (what, where) => {
    const [text, sentence] = modules[what]!;
    const path = file(`${what.replaceAll(' ', '-')}-${where}.mjs`, text);
    const config = places[where as keyof typeof places](path);
    const found = await mistakesIn(() => loadConfig(config, {}, { load_ms: 50 }));
    expect(found).toEqual([expect.stringMatching(sentence)]);
    const entry = where === 'providers' ? 'providers.local.adapter: ' : `${where}[0]: `;
    expect(found[0]).toContain(entry);
  });

  const thrown = `throw Object.assign(new Error('defineProvider: 2 mistakes'), { name: 'ConfigError', issues: [
    { path: ['creat'], message: "unknown name; did you mean 'create'?" },
    { path: [], message: 'must be an object' },
  ] });`;
  it.each(Object.entries(places))('shows the mistakes of its definition in %s', async (where, config) => {
    const path = file(`mistakes-${where}.mjs`, thrown);
    expect(await mistakesIn(() => loadConfig(config(path)))).toEqual([
      expect.stringMatching(/: \S+\.mjs: creat: unknown name; did you mean 'create'\?$/),
      expect.stringMatching(/: \S+\.mjs: must be an object$/),
    ]);
  });

  it('exports two dialects names both', async () => {
    const dialect = (name: string) => `{ name: '${name}', paths: {}, schema: {}, create() {} }`;
    const path = file('two.mjs', `export const a = ${dialect('a')};\nexport const b = ${dialect('b')};`);
    expect(
      await mistakesIn(() => loadConfig(sampleConfig({ ...open, stages: [], dialects: [path] }))),
    ).toEqual([
      'dialects[0]: must export a dialect made with defineDialect, as its default or only one; it exports a, b',
    ]);
  });
});

describe('an adapter', () => {
  const mistakes = (adapter: string, given: object = {}) =>
    mistakesIn(() => loadConfig(adaptedBy(adapter), {}, given));

  it.each(['sluice-nope', '@scope/nope', 'cohere'])(
    '%s that is not installed is one sentence',
    async name => {
      expect(await mistakes(name)).toEqual([
        expect.stringMatching(
          `^providers.local.adapter: there is no package '${name}'; a path begins with ./; known names are: openai, vllm, `,
        ),
      ]);
    },
  );

  it('that is misspelt gets the nearest name', async () => {
    expect(await mistakes('vlm')).toEqual([expect.stringMatching(/must be one of: .*did you mean 'vllm'\?/)]);
  });

  it('that is refused in code is no second mistake where it is used', async () => {
    const refused = { name: 'mine', schema: z.strictObject({}), creat() {} };
    const found = await mistakes('mine', { adapters: [refused] });
    expect(found).toEqual(expect.arrayContaining([expect.stringMatching(/^options\.adapters\[0\]\.create/)]));
    expect(found.every(text => text.startsWith('options.adapters[0]'))).toBe(true);
  });

  it('whose options are of the wrong type is told in plain words', async () => {
    const own = defineProvider({
      name: 'mine',
      schema: z.strictObject({ region: z.string(), limit: z.number() }),
      create: () => ({}) as never,
    });
    const config = adaptedBy('mine');
    Object.assign(config.providers.local!, { region: 3, limit: 'many', headers: 'x-api-key: secret' });
    expect(await mistakesIn(() => loadConfig(config, {}, { adapters: [own] }))).toEqual([
      'providers.local.headers: must be an object, not a string',
      'providers.local.region: must be a string, not 3',
      "providers.local.limit: must be a number, not 'many'",
    ]);
  });

  it('with a schema that is no object is told what to write', () => {
    expect(() => defineProvider({ name: 'mine', schema: z.string(), create: () => ({}) as never })).toThrow(
      'schema: must be an object schema of zod 4: z.strictObject({…})',
    );
  });
});

describe('create of a plugin', () => {
  const made = (options: object, config: object = {}) =>
    mistakesIn(async () => {
      const gateway = await createGateway(sampleConfig({ ...open, ...config }), { stages: [], ...options });
      await gateway.close(0);
    });
  const schema = z.strictObject({});
  const promise = 'must not be a promise: create returns at once, and the methods that it returns may wait';

  const stage = (create: () => unknown) => ({
    stages: [defineStage({ name: 'mine', schema, create: create as never })()],
  });
  const dialect = (create: () => unknown) => ({
    dialects: [mine({ create })],
  });
  const adapter = (create: () => unknown) => ({
    adapters: [defineProvider({ name: 'mine', schema, create: create as never })],
  });
  const providers = { local: { adapter: 'mine', base_url: 'http://127.0.0.1:1' } };
  const broken = () => {
    throw new Error('no database');
  };

  const adapterPromise = 'must not be a promise; create and all';
  const nothing = 'returned nothing; it must return the adapter';
  const parts = { providerName: 'mine', parameters: new Set(), encode() {}, openStream() {} };
  const misspelt = { ...parts, decodeReply() {}, credentials() {} };
  it.each<[string, object, string]>([
    ['of a stage throws', stage(broken), 'options.stages[0]: create of the stage mine threw: no database'],
    ['of a dialect throws', dialect(broken), 'options.dialects[0]: cannot be created: no database'],
    ['of an adapter throws', adapter(broken), 'providers.local.adapter: cannot be created: no database'],
    ['of a stage waits', stage(async () => ({})), `options.stages[0]: hooks of the stage mine: ${promise}`],
    ['of a dialect waits', dialect(async () => ({})), `create of the dialect mine returns: ${promise}`],
    ['of an adapter waits', adapter(async () => ({})), `adapter mine returns: ${adapterPromise}`],
    ['of a stage returns nothing', stage(() => undefined), 'options.stages[0]: hooks of the stage mine: '],
    ['of an adapter returns nothing', adapter(() => undefined), nothing],
    [
      'of an adapter lacks a method',
      adapter(() => parts),
      'decodeReply: must be a function: it returns the ',
    ],
    [
      'of an adapter misspells a method',
      adapter(() => misspelt),
      "credentials: is no method of an adapter; did you mean 'credential'?",
    ],
    [
      'of a dialect lacks a method',
      dialect(() => ({ parse() {}, renderReply() {} })),
      'renderStream: must be a function: it returns the renderer of a stream',
    ],
  ])('is one sentence where that %s', async (_, options, sentence) => {
    const config = 'adapters' in options ? { providers } : {};
    expect(await made(options, config)).toEqual([expect.stringContaining(sentence)]);
  });
});

describe('a dialect', () => {
  const mistakes = (facts: object, config: object = {}) =>
    mistakesIn(() =>
      loadConfig(sampleConfig({ ...open, ...config }), {}, { stages: [], dialects: [mine(facts)] }),
    );
  const schema = z.strictObject({});

  it('whose name, path or section is taken is one sentence', async () => {
    for (const name of ['models', 'passthrough'])
      expect(await mistakes({ name })).toEqual([
        `options.dialects[0]: the name ${name} is taken by another endpoint; give this dialect another name`,
      ]);
    expect(await mistakes({ paths: { '/v1/models': ['POST'] } })).toEqual([
      'options.dialects[0]: its path /v1/models is taken by the gateway itself; give it another path',
    ]);
    expect(await mistakes({ options: { section: 'accounts', schema } })).toEqual([
      'options.dialects[0]: its section accounts is taken in the configuration; give it another name',
    ]);
    const passthrough = [{ path: '/v1/mine', provider: 'local' }];
    expect(await mistakes({ paths: { '/v1/mine': ['POST'] } }, { passthrough })).toEqual([
      "passthrough[0].path: /v1/mine is the gateway's own and cannot be let through",
    ]);
  });

  it('shares its section with another one that has the same schema', async () => {
    const options = { section: 'mine', schema: z.strictObject({ a: z.int() }) };
    const count = { name: 'mine.count', paths: { '/mine/count': ['POST'] } };
    const dialects = [mine({ options }), mine({ options, ...count })];
    const load = (section: object) =>
      mistakesIn(() => loadConfig(sampleConfig({ ...open, mine: section }), {}, { stages: [], dialects }));
    expect(await load({ a: 'b' })).toEqual(["mine.a: must be a number, not 'b'"]);
  });

  it('is refused by defineDialect with everything that is wrong', () => {
    expect(() => mine({ name: 'My format', paths: { mine: ['POST'] }, creat: 1, errorBody: 'text' })).toThrow(
      /defineDialect: 4 mistakes[\s\S]*paths: must have paths with their methods/,
    );
    expect(() => mine({ paths: {} })).toThrow(/1 mistake[\s\S]*paths: must have paths/);
    expect(() => mine({ paths: { '/mine': [] } })).toThrow(/must list its methods/);
  });
});

describe('an extension', () => {
  it('whose section is that of a dialect of the same configuration is one sentence', async () => {
    const schema = z.strictObject({});
    const given = {
      stages: [],
      dialects: [mine({ options: { section: 'my_pages', schema } })],
      extensions: [defineExtension({ name: 'my-pages', schema: z.strictObject({}), open: () => ({}) })],
    };
    expect(await mistakesIn(() => loadConfig(sampleConfig(open), {}, given))).toEqual([
      'options.extensions[0]: its section my_pages is taken in the configuration; give it another name',
    ]);
    const belongs = defineExtension({ name: 'my-other', section: 'my_pages', schema, open: () => ({}) });
    await expect(
      loadConfig(sampleConfig(open), {}, { ...given, extensions: [belongs] }),
    ).resolves.toBeDefined();
  });
});

describe('a stage of a class', () => {
  it('has the hooks of its class', () => {
    class Own {
      #calls = 0;
      onHeaders() {
        return ++this.#calls;
      }
    }
    const stage = defineStage({ name: 'own', schema: z.strictObject({}), create: () => new Own() as never });
    const made = stage().plan.create({} as never) as unknown as { onHeaders(): number };
    expect([made.onHeaders(), made.onHeaders()]).toEqual([1, 2]);
  });
});
