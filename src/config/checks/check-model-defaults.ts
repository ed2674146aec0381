import type { ConfigIssue } from '../../common/config-error.ts';
import { asObject, isObject, objectsIn } from '../../common/json-object.ts';

/** Reports defaults of models that its requests could not have, or that no stage fills in. */
export function* checkModelDefaults(config: unknown): Generator<ConfigIssue> {
  const { models, stages } = asObject(config);
  const isFilledIn = !Array.isArray(stages) || stages.some(isValidation);
  for (const [at, model] of objectsIn(models).entries()) {
    const { defaults, max_completion_tokens } = model;
    if (!isObject(defaults)) continue;
    const path = ['models', at, 'defaults'];
    const { max_tokens, reasoning_effort } = defaults;
    if (!isFilledIn)
      yield { path, message: 'has no effect: the stage validation, which fills them in, is not in stages' };
    if (Number(max_tokens) > Number(max_completion_tokens))
      yield {
        path: [...path, 'max_tokens'],
        message: `is more than max_completion_tokens, ${max_completion_tokens}`,
      };
    const { default: usual } = asObject(model.reasoning_effort);
    if (reasoning_effort !== undefined && reasoning_effort !== usual)
      yield {
        path: [...path, 'reasoning_effort'],
        message: `must be reasoning_effort.default, ${JSON.stringify(usual)}: the catalog shows that to clients`,
      };
  }
}

const isValidation = (stage: unknown): boolean =>
  stage === 'validation' || (isObject(stage) && ('validation' in stage || stage.stageName === 'validation'));
