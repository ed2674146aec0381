import { expect, it } from '@jest/globals';
import { checkReferences } from '../../../../../src/config/checks/check-references.ts';

const adapters = [{ name: 'few', efforts: ['low'] }, { name: 'any' }];
const providers = { few: { adapter: 'few' }, any: { adapter: 'any' } };
const model = (...names: string[]) => ({ id: 'm', upstreams: names.map(provider => ({ provider })) });
const levels = { levels: ['low', 'ultra', 'huge'] };

it.each<[string, object, string[]]>([
  [
    'efforts without words at one of the upstreams',
    { models: [{ ...model('any', 'few'), reasoning_effort: levels, effort_map: { huge: {} } }] },
    ['models.0.reasoning_effort.levels.1'],
  ],
  [
    'no efforts where every upstream takes any',
    { models: [{ ...model('any'), reasoning_effort: levels }] },
    [],
  ],
  [
    'operations that no dialect has',
    { models: [{ ...model('few'), operations: ['chat', 'rank', 'ranks'] }] },
    ['models.0.operations.2'],
  ],
  ['an unknown provider', { models: [model('few', 'constructor')] }, ['models.0.upstreams.1.provider']],
  [
    'no providers where those cannot be read',
    { providers: 7, models: [model('few')], passthrough: [{ provider: 'few' }] },
    [],
  ],
  [
    'limits of unknown models, wherever they are',
    {
      models: [model('few')],
      plans: { p: { models: { m: {}, x: {} } } },
      accounts: { a: { limits: { models: { y: {} } } } },
      stages: [{ 'rate-limit': { limits: { models: { z: {} } } } }],
    },
    ['plans.p.models.x', 'accounts.a.limits.models.y', 'stages.0.rate-limit.limits.models.z'],
  ],
  ['no limits where no models can be read', { models: 7, plans: { p: { models: { x: {} } } } }, []],
  [
    'paths without a provider where no model is passed through',
    { models: [model('few')], passthrough: [{ path: '/v1/x' }] },
    ['passthrough.0'],
  ],
  [
    'no such path where one is',
    { models: [{ ...model('few'), operations: ['passthrough'] }], passthrough: [{ path: '/v1/x' }] },
    [],
  ],
  [
    'paths that are the own ones, or below those with a star',
    {
      passthrough: ['/v1/own', '/v1/own/x', '/v1/all/x/y', '/v1/allies'].map(path => ({
        path,
        provider: 'few',
      })),
    },
    ['passthrough.0.path', 'passthrough.2.path'],
  ],
])('reports %s', (_, config, expected) => {
  const issues = checkReferences(
    { providers, ...config },
    { adapters, paths: ['/v1/own', '/v1/all/*'], operations: ['chat', 'rank', 'passthrough'] },
  );
  expect(issues.map(({ path }) => path.join('.'))).toEqual(expected);
});
