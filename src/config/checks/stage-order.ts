/** Built-in stages that a kept reply has to pass, as one of the upstream does. */
const beforeCache: ReadonlySet<string> = new Set([
  'validation',
  'model-access',
  'rate-limit',
  'redact',
  'request-rewrite',
  'stream-rechunk',
  'reasoning-split',
]);

/** Pairs of built-in stages whose order matters, and why. */
const rules: readonly (readonly [first: string, second: string, why: string])[] = [
  ['aliases', 'validation', 'it knows the names of the catalog only'],
  ['validation', 'model-access', 'a model that does not exist is then named as such'],
  [
    'redact',
    'reasoning-split',
    'replies pass the stages last to first, and are split before they are masked',
  ],
];

/** A warning for each stage that stands where it does not do what it is listed for. */
export function* stageOrderWarnings(names: readonly string[]): Generator<string> {
  const envelope = names.indexOf('error-envelope');
  if (envelope > 0)
    yield `stages[${envelope}]: error-envelope stands behind ${names[0]}, whose errors it does not format; list it first`;
  for (const [first, second, why] of rules) {
    const [at, other] = [names.indexOf(first), names.indexOf(second)];
    if (other !== -1 && at > other)
      yield `stages[${at}]: ${first} stands behind ${second}; list it before: ${why}`;
  }
  const cache = names.indexOf('response-cache');
  const behind = names.filter((name, at) => cache !== -1 && at > cache && beforeCache.has(name));
  if (behind.length > 0)
    yield `stages[${cache}]: response-cache stands before ${behind.join(', ')}, which kept replies do not pass; list it last`;
}
