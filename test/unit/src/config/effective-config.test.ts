import { describe, expect, it } from '@jest/globals';
import { asObject, isObject } from '../../../../src/common/json-object.ts';
import { effectiveConfig, mask } from '../../../../src/config/effective-config.ts';
import { configJsonSchema } from '../../../../src/config/json-schema.ts';
import { type LoadedConfig, loadWritten } from '../../../../src/config/load.ts';
import { isAddress, isShown } from '../../../../src/config/shown-options.ts';
import { sampleConfig } from './sample-config.ts';

interface Leaf {
  /** With `*` for any name and 0 for any number. */
  readonly path: readonly (string | number)[];
  readonly isEnumerated: boolean;
}

/** Every place of the configuration's JSON Schema that takes a text, or anything at all. */
function leavesOf(schema: unknown, path: readonly (string | number)[] = []): Leaf[] {
  const { anyOf, oneOf, allOf, properties, additionalProperties, items, type, ...rest } = asObject(schema);
  const parts = [anyOf, oneOf, allOf].flatMap(list => (Array.isArray(list) ? list : []));
  const isEnumerated = rest.enum !== undefined || rest.const !== undefined;
  const isAny = type === undefined && parts.length === 0 && !properties && !isEnumerated;
  const isText = [type].flat().includes('string') || isAny || isEnumerated;
  return [
    ...parts.flatMap(part => leavesOf(part, path)),
    ...(isText ? [{ path, isEnumerated }] : []),
    ...Object.entries(asObject(properties)).flatMap(([name, below]) => leavesOf(below, [...path, name])),
    ...(isObject(additionalProperties) ? leavesOf(additionalProperties, [...path, '*']) : []),
    ...(isObject(items) ? leavesOf(items, [...path, 0]) : []),
  ];
}

const leaves = leavesOf(configJsonSchema());
const canary = 'canary-4711-of-a-secret';

/** The output for a configuration that has `text` at one place, and nothing else. */
function outputFor(path: readonly (string | number)[], text = canary): string {
  const tree = path.reduceRight<unknown>((below, part) => (part === 0 ? [below] : { [part]: below }), text);
  const { stages = [], providers, ...rest } = asObject(tree);
  const named = Object.entries(asObject(providers));
  const withAdapter = named.map(([name, own]) => [name, { adapter: 'vllm', ...asObject(own) }]);
  const config = { ...rest, providers: Object.fromEntries(withAdapter) };
  const listed = (stages as unknown[]).map(entry => {
    const [[name, options] = ['', {}]] = isObject(entry) ? Object.entries(entry) : [];
    return { name, options, plan: undefined };
  });
  const loaded = { config, stages: listed, written: { stages }, expanded: [], settings: {} };
  return JSON.stringify(effectiveConfig(loaded as unknown as LoadedConfig));
}

/** Names by which an option is expected to hold a secret, whatever their schemas say. */
const secretName = /^(?:api_keys?|password(?:_hash)?|client_secret|value|sha256|headers|set)$/;
const nameOf = (path: readonly (string | number)[]) => path.filter(part => part !== 0 && part !== '*').at(-1);

describe('the printed configuration', () => {
  const secrets = leaves.filter(
    ({ path, isEnumerated }) => !isEnumerated && secretName.test(String(nameOf(path))),
  );

  it('has places for secrets that are looked for here', () => {
    const names = secrets.map(({ path }) => path.join('.'));
    expect(names).toEqual(
      expect.arrayContaining([
        'admin.users.*.password',
        'portal.oidc.client_secret',
        'providers.*.api_keys.0',
        'providers.*.headers.*',
        'accounts.*.keys.0.value',
        'stages.0.auth.accounts.*.keys.0.sha256',
      ]),
    );
  });

  it.each([...new Set(secrets.map(({ path }) => path.map(String).join('.')))])(
    'masks a text at %s',
    place => {
      const path = place.split('.').map(part => (part === '0' ? 0 : part === '*' ? 'name' : part));
      expect(outputFor(path)).not.toContain(canary);
      expect(outputFor(path)).toContain(mask);
    },
  );

  it('masks every text at a place that is not known to be harmless', () => {
    const shown = leaves
      .filter(({ path, isEnumerated }) => !isEnumerated && !isShown(path) && !isAddress(path))
      .filter(({ path }) => outputFor(path).includes(canary));
    expect(shown).toEqual([]);
  });

  it('shows every value that is one of a list', () => {
    const masked = leaves.filter(({ path, isEnumerated }) => isEnumerated && !isShown(path));
    expect(masked.map(({ path }) => path.join('.'))).toEqual([]);
  });

  it('masks user, password and query of every address, and shows the rest', () => {
    const places = leaves.filter(({ path }) => isAddress(path));
    expect(places.map(({ path }) => path.join('.'))).toEqual(
      expect.arrayContaining(['providers.*.base_url', 'stores.state', 'stores.records']),
    );
    for (const { path } of places) {
      const output = outputFor(path, `https://${canary}:${canary}@host.example/path?key=${canary}`);
      expect(output).not.toContain(canary);
      expect(output).toContain('host.example/path');
    }
  });

  it('shows the hosts of a cluster and of Sentinels, and masks user, password and query', async () => {
    const shown = async (state: string) => {
      const settings = await loadWritten(sampleConfig({ stores: { state } }), {});
      return (effectiveConfig(settings).stores as { state: string }).state;
    };
    expect(await shown(`redis+cluster://me:${canary}@a.example:7000,b.example:7001`)).toBe(
      `redis+cluster://${mask}:${mask}@a.example:7000,b.example:7001`,
    );
    expect(await shown(`rediss+sentinel://:${canary}@a,b:26380/mymaster/1?sentinel_password=${canary}`)).toBe(
      `rediss+sentinel://:${mask}@a,b:26380/mymaster/1?${mask}`,
    );
  });

  it('shows variables and files as they are written, never their content', async () => {
    const config = sampleConfig({
      server: { host: '${EFFECTIVE_HOST}', port: '${EFFECTIVE_PORT}' as never },
      stores: { records: 'postgres://me:${EFFECTIVE_PASSWORD}@db.example/x' },
      log: { level: '${EFFECTIVE_LEVEL:-warn}' as never },
      stages: ['auth', { 'request-rewrite': { set: { user: 'x ${EFFECTIVE_PASSWORD}' } } }],
    });
    const environment = {
      EFFECTIVE_HOST: '127.0.0.2',
      EFFECTIVE_PORT: '9000',
      EFFECTIVE_PASSWORD: canary,
    };
    const effective = effectiveConfig(await loadWritten(config, environment));
    expect(JSON.stringify(effective)).not.toContain(canary);
    expect(effective).toMatchObject({
      server: { host: '${EFFECTIVE_HOST}', port: 9000, drain_ms: 30_000 },
      stores: { records: mask, state: 'memory' },
      log: { level: mask },
    });
    expect(effective.stages).toEqual([
      { auth: expect.anything() },
      { 'request-rewrite': expect.objectContaining({ set: { user: mask } }) },
    ]);
  });

  it('masks a secret wherever it stands again', async () => {
    const config = sampleConfig({
      providers: {
        local: { adapter: 'openai', base_url: `http://h.example/${canary}/v1`, api_key: canary },
      },
    });
    const repeated = sampleConfig({
      stores: { records: `postgres://me:${canary}@db.example/x` },
      providers: { local: { adapter: 'openai', base_url: `http://h.example/${canary}/v1` } },
    });
    expect(JSON.stringify(effectiveConfig(await loadWritten(repeated, {})))).not.toContain(canary);
    const [provider] = Object.values(config.providers);
    expect(provider).toMatchObject({ api_key: canary });
    expect(JSON.stringify(effectiveConfig(await loadWritten(config, {})))).not.toContain(canary);
  });
});
