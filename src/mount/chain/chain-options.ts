import type { IncomingMessage } from 'node:http';
import type { OpenMetricsContentType, Registry } from 'prom-client';
import { z } from 'zod';
import type { Clock } from '../../common/clock.ts';
import { ConfigError, type ConfigIssue, issuesOf } from '../../common/config-error.ts';
import type { ChainConfig, ModelConfig } from '../../common/options.ts';
import { checkAccess } from '../../config/checks/check-access.ts';
import { checkBodyBounds } from '../../config/checks/check-body-bounds.ts';
import { checkReferences } from '../../config/checks/check-references.ts';
import { nameTaken, planOf } from '../../config/checks/given-stage.ts';
import { stageOrderWarnings } from '../../config/checks/stage-order.ts';
import { logSample } from '../../config/log-schema.ts';
import { modelSchema } from '../../config/model-schema.ts';
import { priceWarnings } from '../../config/price-warnings.ts';
import { bodyLimits, replyLimits, streamLimits } from '../../config/server-limits.ts';
import type { StagePlan } from '../../gateway/exchange/stage-plan.ts';
import { type Plans, plansSchema } from '../../gateway/limits/plan-limits.ts';
import type { StateStore } from '../../gateway/limits/state-store.ts';
import { type AccountsConfig, accountsSchema } from '../../records/configured-accounts.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { AccountOf } from './application-accounts.ts';
import { chainDialectSections } from './dialect-options.ts';
import { surroundings } from './surroundings.ts';

/** Configuration for the stages of a chain in front of a foreign handler, in the form of a gateway's configuration. */
export const chainOptionsSchema = z.strictObject({
  models: z
    .array(modelSchema.partial({ upstreams: true }))
    .default([])
    .describe(
      'The catalog; `validation` needs it. With it the chain answers `GET /v1/models` and `/v1/models/{id}` itself, without a key.',
    ),
  accounts: accountsSchema.default({}).describe('Accounts with their keys; `auth` needs them.'),
  plans: plansSchema.default({}).describe('Limits by plan; `rate-limit` holds them.'),
  terminal: z
    .boolean()
    .default(false)
    .describe(
      'Answer 404 for unknown paths below `/v1`, and 405 for wrong methods, before a key is asked for. Otherwise they go to the handler.',
    ),
  open: z
    .boolean()
    .default(false)
    .describe(
      'Allow accounts or plans in a chain without the stage `auth` or a stage of your own with `authenticates: true`. Such a chain serves every client, unless a stage before it finds the account.',
    ),
  otherPaths: z
    .enum(['refuse', 'pass'])
    .default('refuse')
    .describe(
      'What becomes of requests that a stage must read and cannot, as the chain does not speak their format, such as `POST /v1/completions`: 404, or with `pass` to the handler, past `validation`, `redact`, `model-access`, `response-cache`, limits on tokens and money, and stages of your own that look at requests or replies.',
    ),
  ...chainDialectSections,
  ...bodyLimits,
  ...streamLimits,
  idle_timeout_ms: z
    .int()
    .positive()
    .default(600_000)
    .describe(
      'The longest silence of the handler, before or in its reply; then the client gets 502, a stream an error event. On paths whose replies no stage looks at, the connection is cut after at most twice this.',
    ),
  ...replyLimits,
  log_sample: logSample,
});

/** Options of `createChain`: parts of a configuration, and what only an application can give. */
export interface ChainOptions<R extends IncomingMessage = IncomingMessage> extends ChainConfig {
  /** The application's logger; by default lines from `warn` on, on standard output: JSON, on a terminal readable. */
  readonly log?: Logger;
  /** Registry of prom-client for the metrics, such as the application's own. Without it none are shown, and stages are not timed. */
  readonly registry?: Registry | Registry<OpenMetricsContentType>;
  /** The time, for tests: what has a TTL ends, and limits are free again, when it moves on. By default the clock of the system. */
  readonly clock?: Clock;
  /** Counters and concurrency, to share them between chains or gateways; by default in this chain's memory. */
  readonly state?: StateStore;
  /**
   * Says whose request it is, where the application has authenticated its user already; see the option of `createGateway`. Ids are those of
   * `accounts`.
   *
   * @defaultValue none: the stage `auth` asks for a key
   * @example
   * ```ts
   * import type { Request } from 'express';
   * import { auth, createChain, rateLimit } from 'sluice';
   *
   * type AppRequest = Request & { user?: { team: string } };
   * const chain = createChain([auth(), rateLimit()], {
   *   plans: { free: { requests_per_minute: 15 } },
   *   accountOf: ({ user }: AppRequest) => user && { id: user.team, plan: 'free' },
   * });
   * ```
   */
  readonly accountOf?: AccountOf<R> | undefined;
}

/** A stage for `createChain`, as returned by a factory such as `auth`. */
export type ChainStage = { readonly plan: StagePlan };

const schema = chainOptionsSchema.extend(surroundings);

/** Validates the options of `createChain`, and returns them with the plans of its stages and the limits by plan. Throws a ConfigError that lists every mistake. */
export function checkedChain(stages: readonly ChainStage[], options: ChainOptions) {
  const issues = [...checkStages(stages)];
  const parsed = schema.safeParse(options);
  if (!parsed.success) issues.push(...issuesOf(parsed.error, schema, options));
  issues.push(...checkReferences(options));
  if (!parsed.success || issues.length > 0) throw chainMistake(issues);
  const plans = stages.map(({ plan }) => plan);
  issues.push(...checkChain(plans, parsed.data), ...checkBodyBounds(parsed.data, []));
  if (issues.length > 0) throw chainMistake(issues);
  const limitPlans = (ownOf(plans, 'rate-limit', 'plans') ?? parsed.data.plans) as Plans;
  return { plans, limitPlans, options: parsed.data, warnings: [...warningsOf(plans, parsed.data)] };
}

/** The error of `createChain` for these issues. */
export const chainMistake = (issues: readonly ConfigIssue[], options?: ErrorOptions): ConfigError =>
  new ConfigError('createChain', issues, options);

/** A chain whose options are valid. */
export type CheckedChain = ReturnType<typeof checkedChain>;

function* checkStages(stages: unknown): Generator<ConfigIssue> {
  if (!Array.isArray(stages))
    return yield { path: ['stages'], message: 'must be a list of stages, such as [auth(), validation()]' };
  const plans: StagePlan[] = [];
  for (const [at, entry] of (stages as unknown[]).entries()) {
    const plan = planOf(entry);
    const message = typeof plan === 'string' ? plan : nameTaken(plan, plans);
    if (message !== undefined) yield { path: ['stages', at], message };
    if (typeof plan !== 'string') plans.push(plan);
  }
}

interface Checked {
  readonly models: readonly Pick<ModelConfig, 'pricing'>[];
  readonly accounts: object;
  readonly plans: z.output<typeof plansSchema>;
  readonly open: boolean;
  readonly accountOf?: AccountOf | undefined;
}

function* checkChain(plans: readonly StagePlan[], options: Checked): Generator<ConfigIssue> {
  const access = {
    stages: plans,
    accounts: options.accounts as AccountsConfig,
    plans: options.plans,
    open: options.open,
    accountOf: options.accountOf !== undefined,
  };
  yield* checkAccess(access, { path: ['open'], written: 'open: true', mayBeInner: true });
  for (const [stage, own] of [
    ['auth', 'accounts'],
    ['rate-limit', 'plans'],
  ] as const)
    if (ownOf(plans, stage, own) && Object.keys(options[own]).length > 0)
      yield { path: [own], message: `has no effect: the stage ${stage} has ${own} of its own` };
}

/**
 * Warnings about stages in the wrong place, prices that cannot be meant, and valid options under which every request is refused.
 */
function* warningsOf(
  plans: readonly StagePlan[],
  { models, accounts, accountOf }: Checked,
): Generator<string> {
  yield* stageOrderWarnings(plans.map(({ name }) => name));
  yield* priceWarnings(models);
  if (accountOf) return;
  const hasAuth = plans.some(({ name }) => name === 'auth');
  const keys = Object.values(accounts as AccountsConfig).flatMap(account => account.keys);
  if (hasAuth && keys.length === 0 && !ownOf(plans, 'auth', 'accounts'))
    yield 'createChain: accounts has no key, so the stage auth refuses every request';
}

/** The option `own` of a stage, which replaces the chain's. */
const ownOf = (plans: readonly StagePlan[], stage: string, own: string): unknown =>
  (plans.find(({ name }) => name === stage)?.options as Record<string, unknown> | undefined)?.[own];
