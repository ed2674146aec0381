import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config/load.ts';
import { stateSchema } from '../../../../src/config/state-options.ts';
import { stateServerAt } from '../../../../src/config/state-server.ts';
import { sampleConfig } from './sample-config.ts';

describe('stores.state', () => {
  it.each([
    'memory',
    'redis://localhost',
    'redis://user:p%40ss@10.0.0.1:6379/3',
    'redis://:secret@[::1]:6379',
    'rediss://cache.example.com:6380/',
  ])('accepts %s', state => {
    expect(stateServerAt(state) === undefined).toBe(state === 'memory');
  });

  it.each([
    '',
    'Memory',
    'redis',
    'redis:',
    'redis://',
    'http://localhost',
    'redis://host/name',
    'redis://host?db=1',
  ])('rejects %j and names what it accepts', state => {
    expect(() => stateServerAt(state)).toThrow(/^must be memory, or a URL such as redis:/);
  });

  it.each([
    'redis+cluster://a:7000,b:7001,10.0.0.1',
    'rediss+cluster://user:p%40ss@[::1]:7000',
    'redis+sentinel://:secret@a,b:26380/mymaster',
    'rediss+sentinel://a:26379/my-master/3?sentinel_username=u&sentinel_password=p',
  ])('accepts %s', state => {
    expect(stateServerAt(state) === undefined).toBe(state === 'memory');
  });

  it.each([
    ['redis+cluster://a:7000,b:7001/3', "has no '/3' in a cluster, which has neither numbered databases"],
    ['redis://a:7000,b:7001', 'names several hosts: write redis+cluster:// or redis+sentinel://'],
    ['redis+sentinel://a,b', 'must end in the name under which Sentinel knows the primary'],
    ['redis+sentinel://a,b/0', 'must end in the name under which Sentinel knows the primary'],
    ['redis+sentinel://a,b/mymaster/x', 'must be memory, or a URL such as'],
    ['redis+sentinel://a/mymaster?password=p', 'must be memory, or a URL such as'],
    ['redis+cluster://a?sentinel_password=p', 'must be memory, or a URL such as'],
    ['redis+cluster://a:7000,b:port', "'b:port' is not a host with its port"],
    ['redis+proxy://a', 'must be memory, or a URL such as'],
    ['redis://:100%@a', "has a '%' that begins no character: write %25"],
  ])('rejects %s, and says why', (state, why) => {
    expect(() => stateServerAt(state)).toThrow(why);
  });

  it('is reported at its place when it is loaded', async () => {
    await expect(loadConfig(sampleConfig({ stores: { state: 'http://localhost' } }), {})).rejects.toThrow(
      /stores\.state: must be memory, or a URL such as redis:/,
    );
  });

  it('rejects braces in the prefix of keys', () => {
    expect(() => stateSchema.parse({ state_key_prefix: 'a{b}' })).toThrow('must have no braces');
  });

  it('rejects the policy of an unknown limit', async () => {
    const config = sampleConfig({ stores: { on_state_store_down: { requests: 'open' } } });
    await expect(loadConfig(config, {})).rejects.toThrow(
      /stores\.on_state_store_down\.requests: unknown name; accepted here: default, requests_per_minute/,
    );
  });
});

describe('the options for Redis', () => {
  const accounts = { demo: { keys: [{ value: 'sk-demo-0123456789' }] } };
  const warningsOf = async (stores: object) =>
    (await loadConfig(sampleConfig({ accounts, stores }), {})).warnings;

  it('cause a warning without Redis', async () => {
    expect(await warningsOf({ state_timeout_ms: 100, on_state_store_down: { default: 'open' } })).toEqual([
      'stores.state_timeout_ms: has no effect: state is kept in memory',
      'stores.on_state_store_down: has no effect: state is kept in memory',
    ]);
  });

  it('cause no warning with Redis, nor when they are not given', async () => {
    expect(await warningsOf({ state: 'redis://localhost', state_timeout_ms: 100 })).toEqual([]);
    expect(await warningsOf({})).toEqual([]);
  });
});
