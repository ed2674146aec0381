import { expect, it } from '@jest/globals';
import { type builtInStages, defaultStages } from '../../../../../plugins/index.ts';
import { stageOrderWarnings } from '../../../../../src/config/checks/stage-order.ts';

const namesOf = (stages: typeof builtInStages) => stages.map(({ stageName }) => stageName);
const warnings = (...names: string[]) => [...stageOrderWarnings(names)];

it.each([
  ['the default chain', namesOf(defaultStages)],
  [
    'every built-in stage where its documentation has it',
    (
      'error-envelope auth validation model-access rate-limit redact request-rewrite ' +
      'stream-rechunk reasoning-split response-cache'
    ).split(' '),
  ],
  [
    'stages of an application around them',
    ['error-envelope', 'own', 'validation', 'response-cache', 'other'],
  ],
])('warns of nothing in %s', (_, names) => {
  expect(warnings(...names)).toEqual([]);
});

it.each([
  [
    ['auth', 'error-envelope'],
    'stages[1]: error-envelope stands behind auth, whose errors it does not format; list it first',
  ],
  [
    ['model-access', 'validation'],
    'stages[1]: validation stands behind model-access; list it before: a model that does not exist is then named as such',
  ],
  [
    ['reasoning-split', 'redact'],
    'stages[1]: redact stands behind reasoning-split; list it before: replies pass the stages last to first, and are split before they are masked',
  ],
  [
    ['auth', 'response-cache', 'own', 'model-access', 'redact'],
    'stages[1]: response-cache stands before model-access, redact, which kept replies do not pass; list it last',
  ],
])('warns of the order %j with its place and the remedy', (names, warning) => {
  expect(warnings(...names)).toEqual([warning]);
});
