import type { IncomingMessage } from 'node:http';
import { Registry } from 'prom-client';
import { systemClock } from '../../common/clock.ts';
import { madeAt } from '../../common/config-error.ts';
import { builtInDialects, createDialects } from '../../config/built-in-dialects.ts';
import { holdsLimits } from '../../config/checks/check-access.ts';
import { Catalog, type Model } from '../../gateway/catalog/catalog.ts';
import type { Dialect } from '../../gateway/dialects/define-dialect.ts';
import { Chain } from '../../gateway/exchange/chain.ts';
import { makeHandlersWith } from '../../gateway/exchange/define-stage.ts';
import { ExchangeRun } from '../../gateway/exchange/runner.ts';
import type { ErrorHandler, RequestHandler } from '../../gateway/exchange/stage-plan.ts';
import { bufferLimits } from '../../gateway/inbound/buffer-limits.ts';
import { BufferedBytes } from '../../gateway/inbound/buffered-bytes.ts';
import { Routes } from '../../gateway/inbound/routes.ts';
import { Background } from '../../gateway/settlement/background.ts';
import { type AccountsConfig, ConfiguredAccounts } from '../../records/configured-accounts.ts';
import { type Log, registerLogMetrics } from '../../telemetry/log.ts';
import { logOf } from '../../telemetry/logger.ts';
import { Metrics } from '../../telemetry/metrics.ts';
import { warnOfLostSpans } from '../../telemetry/tracing.ts';
import { MemoryStateStore } from '../state/counters/memory-state-store.ts';
import { ApplicationAccounts } from './application-accounts.ts';
import { ChainExchange, type ChainParts } from './chain-exchange.ts';
import {
  type ChainOptions,
  type ChainStage,
  type CheckedChain,
  chainMistake,
  checkedChain,
} from './chain-options.ts';
import { createStages } from './create-stages.ts';
import { parserFault } from './parser-fault.ts';
import { isShared, locatedIn } from './shared-exchange.ts';
import { readsExchanges, UnreadPaths } from './unread-paths.ts';

/**
 * Puts stages in front of an existing handler, such as the application's own proxy to an OpenAI-compatible server:
 * `app.use('/v1/chat/completions', createChain([auth(), validation()], { models, accounts }), proxy)`. The handler receives the request as
 * changed by the stages, and its reply goes back through them. Requests in formats that the chain does not speak run only `onHeaders`; if a
 * stage must read them, they are refused, unless `otherPaths` is `pass`.
 */
export function createChain<R extends IncomingMessage = IncomingMessage>(
  stages: readonly ChainStage[],
  options: ChainOptions<R> = {},
): ChainHandler {
  const checked = checkedChain(stages, options as ChainOptions);
  const log = logOf(checked.options.log, 'warn');
  warnOfLostSpans(log);
  for (const warning of checked.warnings) log.warn(warning);
  const parts = partsOf(checked, log);
  parts.metrics.configLoaded(parts.clock.epoch_ms());
  if (!checked.options.log) registerLogMetrics(parts.metrics.registry);
  const handler: RequestHandler = (request, response, next) => {
    // Another handler has begun or ended a reply.
    if (response.headersSent || response.writableEnded) return next();
    void new ExchangeRun(parts, new ChainExchange(parts, request, response, next)).run();
  };
  const errorHandler: ErrorHandler = (error, request, response, next) => {
    const { route, fault: refused } = locatedIn(request, parts);
    // A request that has passed a chain has an error of a handler behind it.
    const isAnswered = response.headersSent || response.writableEnded || isShared(request);
    const fault = (route || refused) && !isAnswered && parserFault(error, request, parts.options, true);
    if (!fault) return next(error);
    void new ExchangeRun(parts, new ChainExchange(parts, request, response, next, fault)).run();
  };
  const closeStages = async (): Promise<void> => {
    for (const end of await parts.chain.close()) if (end.status === 'rejected') throw end.reason;
  };
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= closeStages());
  return Object.assign(handler, { errorHandler, close });
}

makeHandlersWith(stage => createChain([stage]));

/** The handler of a chain. */
export type ChainHandler = RequestHandler & {
  /**
   * For `app.use` behind the chain, at the same path: answers errors of the application's body parser, such as `express.json()`, as the chain
   * would have, a missing key before a broken body. All other errors go to `next`.
   */
  readonly errorHandler: ErrorHandler;
  /**
   * Calls `close` of the stages, which have 5 seconds: when the server has closed, and nothing is running any more. The store given as
   * `state` stays open.
   */
  close(): Promise<void>;
};

/**
 * Without models the handler answers for the catalog. Its own path is public even so, and no path below: what a server makes of the rest of
 * a path, such as dot segments, is not known here.
 */
const withCatalog =
  (models: readonly unknown[]) =>
  (dialect: Dialect): Dialect => {
    if (models.length > 0 || !('answer' in dialect)) return dialect;
    const paths = Object.entries(dialect.paths).filter(([path]) => !path.endsWith('/*'));
    return { ...dialect, paths: Object.fromEntries(paths) };
  };

function partsOf({ plans, options, limitPlans }: CheckedChain, log: Log): ChainParts {
  const { registry, clock = systemClock, accountOf } = options;
  const state = options.state ?? new MemoryStateStore(clock);
  const metrics = new Metrics((registry as Registry | undefined) ?? new Registry());
  const models = options.models.map(
    model => ({ ...model, upstreams: model.upstreams ?? [], extra_parameters: [] }) as Model,
  );
  const catalog = new Catalog(models);
  const accounts = new ConfiguredAccounts(options.accounts as AccountsConfig);
  const stages = createStages(
    plans,
    {
      catalog,
      accounts,
      accountOf:
        accountOf &&
        new ApplicationAccounts(accountOf, {
          accounts,
          plans: limitPlans,
          holdsLimits: holdsLimits(plans),
          clock,
        }).find,
      plans: options.plans,
      state,
      registry: metrics.registry,
      log,
      clock,
    },
    (at, make) => madeAt(chainMistake, ['stages', at], make),
  );
  const measured = registry && metrics;
  const chain = new Chain(stages, measured);
  // The handler is asked for chat completions; paths of other operations are left to it.
  const chatDialects = builtInDialects.filter(({ operation }) => operation === undefined);
  const routes = new Routes(createDialects(chatDialects, options, { models }).map(withCatalog(models)));
  metrics.prepareRequests(
    routes.generating,
    models.map(({ id }) => id),
  );
  const readers = chain.stages.filter(readsExchanges);
  const passes = options.otherPaths === 'pass';
  if (passes && readers.length > 0)
    log.warn(
      { stages: readers.map(({ name }) => name) },
      "createChain: otherPaths: 'pass' leaves requests to the handler that these stages cannot read",
    );
  const looksBack = chain.stages.some(stage => stage.onReply || stage.onStream || stage.onError);
  return {
    chain,
    catalog,
    limits: options,
    clock,
    metrics,
    background: new Background(options, metrics),
    buffered: new BufferedBytes(bufferLimits(options), metrics.bodies),
    routes,
    unread: passes ? undefined : new UnreadPaths(readers),
    options,
    log,
    measured,
    looksIn: looksBack || chain.stages.some(stage => stage.onRequest),
    looksBack,
  };
}
