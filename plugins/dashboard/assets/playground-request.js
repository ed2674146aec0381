/**
 * The request that a filled-in form stands for, as clients send it. What is left empty is left out, and so is what the model does not take:
 * `facts` says that.
 */
export function requestOf({ model, facts, messages, parameters = {} }) {
  const { reasoning_effort = '', stop = '', ...numbers } = parameters;
  const set = Object.entries(numbers).filter(([, value]) => value !== '');
  return {
    model,
    messages,
    ...(facts.levels.includes(reasoning_effort) && { reasoning_effort }),
    ...Object.fromEntries(set.map(([name, value]) => [name, Number(value)])),
    ...(stop !== '' && { stop: [stop] }),
    ...(facts.reasoning && { reasoning_split: true }),
    stream: true,
    stream_options: { include_usage: true, continuous_usage_stats: true },
  };
}
