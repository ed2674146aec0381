import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { loadConfig } from '../../../../src/config/load.ts';
import { ConfigError, shownIssue } from '../../../../src/diagnostics/config-error.ts';
import { createGateway } from '../../../../src/gateway.ts';
import { defineDialect, defineProvider, defineStage } from '../../../../src/plugin.ts';
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

describe('a module that', () => {
  const places = {
    stages: (path: string) => sampleConfig({ ...open, stages: [path] }),
    dialects: (path: string) => sampleConfig({ ...open, stages: [], dialects: [path] }),
    providers: (path: string) =>
      sampleConfig({
        ...open,
        stages: [],
        providers: { local: { adapter: path, base_url: 'http://127.0.0.1:1' } },
      }),
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
    dialects: [
      defineDialect({
        name: 'mine',
        paths: { '/mine': ['POST'] },
        errorBody: () => '',
        create: create as never,
      }),
    ],
  });
  const adapter = (create: () => unknown) => ({
    adapters: [defineProvider({ name: 'mine', schema, create: create as never })],
  });
  const providers = { local: { adapter: 'mine', base_url: 'http://127.0.0.1:1' } };
  const broken = () => {
    throw new Error('no database');
  };

  it('that throws is one sentence', async () => {
    expect(await made(stage(broken))).toEqual(['options.stages[0]: cannot be created: no database']);
    expect(await made(dialect(broken))).toEqual(['options.dialects[0]: cannot be created: no database']);
    expect(await made(adapter(broken), { providers })).toEqual([
      'providers.local.adapter: cannot be created: no database',
    ]);
  });

  it('that returns a promise is one sentence', async () => {
    expect(await made(stage(async () => ({})))).toEqual([
      `options.stages[0]: hooks of the stage mine: ${promise}`,
    ]);
    expect(await made(dialect(async () => ({})))).toEqual([
      `options.dialects[0]: what create of the dialect mine returns: ${promise}`,
    ]);
    expect(
      await made(
        adapter(async () => ({})),
        { providers },
      ),
    ).toEqual([`providers.local.adapter: what create of the adapter mine returns: ${promise}`]);
  });

  it('that returns nothing useful is one sentence', async () => {
    expect(await made(stage(() => undefined))).toEqual([
      expect.stringMatching(/^options\.stages\[0\]: hooks of the stage mine: /),
    ]);
    const parts = { providerName: 'mine', encode() {}, openStream() {} };
    expect(
      await made(
        adapter(() => parts),
        { providers },
      ),
    ).toEqual([
      'providers.local.adapter: what create of the adapter mine returns: decodeReply: must be a function: it returns the canonical reply',
    ]);
    const misspelt = { ...parts, decodeReply() {}, credentials() {} };
    expect(
      await made(
        adapter(() => misspelt),
        { providers },
      ),
    ).toEqual([
      "providers.local.adapter: what create of the adapter mine returns: credentials: is no method of an adapter; did you mean 'credential'?",
    ]);
    expect(await made(dialect(() => ({ parse() {}, renderReply() {} })))).toEqual([
      'options.dialects[0]: what create of the dialect mine returns: renderStream: must be a function: it returns the renderer of a stream',
    ]);
  });
});

describe('a dialect', () => {
  const dialect = (facts: object) =>
    defineDialect({
      name: 'mine',
      paths: { '/mine': ['POST'] },
      errorBody: () => '',
      create: () => ({}),
      ...facts,
    } as never);
  const mistakes = (facts: object, config: object = {}) =>
    mistakesIn(() =>
      loadConfig(sampleConfig({ ...open, ...config }), {}, { stages: [], dialects: [dialect(facts)] }),
    );
  const schema = z.strictObject({});

  it('whose name, path or section is taken is one sentence', async () => {
    for (const name of ['models', 'passthrough'])
      expect(await mistakes({ name })).toEqual([
        `options.dialects[0]: the name ${name} is taken by another endpoint; give this dialect another name`,
      ]);
    expect(await mistakes({ paths: { '/v1/models': ['POST'] } })).toEqual([
      'options.dialects[0]: its path /v1/models is taken by another dialect; give it another path',
    ]);
    expect(await mistakes({ options: { section: 'accounts', schema } })).toEqual([
      'options.dialects[0]: its section accounts is taken in the configuration; give it another name',
    ]);
    const passthrough = [{ path: '/v1/mine', provider: 'local' }];
    expect(await mistakes({ paths: { '/v1/mine': ['POST'] } }, { passthrough })).toEqual([
      "passthrough[0].path: /v1/mine is the gateway's own and cannot be let through",
    ]);
  });

  it('is refused by defineDialect with everything that is wrong', () => {
    expect(() =>
      dialect({ name: 'My format', paths: { mine: ['POST'] }, creat: 1, errorBody: 'text' }),
    ).toThrow(/defineDialect: 4 mistakes[\s\S]*paths: must have paths with their methods/);
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
