/** Differences between the models of the Messages API. */
export interface Traits {
  /** `budget`: thinking has a limit of tokens. `adaptive`: the model decides, guided by an effort. */
  readonly thinking: 'budget' | 'adaptive';
  /** True if a temperature other than 1 is accepted. */
  readonly sampling: boolean;
}

/** Claude 3.7, 4, 4.1 and 4.5, under the names that Anthropic, Bedrock and Vertex give them. */
const budgetOnly = /claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[015])?(?=$|@|-v\d|-latest|-\d{8}))/;
const claude46 = /claude-(?:opus|sonnet|haiku)-4-6/;

/** Traits of a model by its name. Servers that use this API for other models support budgets. */
export function traitsOf(model: string, thinking: Traits['thinking'] | 'auto'): Traits {
  const isNewer = model.includes('claude-') && !/claude-3-/.test(model) && !budgetOnly.test(model);
  return {
    thinking: thinking === 'auto' ? (isNewer ? 'adaptive' : 'budget') : thinking,
    sampling: !isNewer || claude46.test(model),
  };
}
