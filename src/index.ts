/** The public API: `import { createGateway } from 'sluice'`. Plugins use `sluice/plugin` as well. */
export {
  auth,
  errorEnvelope,
  modelAccess,
  rateLimit,
  reasoningSplit,
  redact,
  requestRewrite,
  responseCache,
  streamRechunk,
  validation,
} from '../plugins/index.ts';
export type { AccountAnswer, AccountOf, ApplicationAccount } from './chain/application-accounts.ts';
export type { ChainOptions } from './chain/chain-options.ts';
export { type ChainHandler, createChain } from './chain/create-chain.ts';
export { defineStage } from './chain/define-stage.ts';
export type { ErrorHandler, RequestHandler, StageFactory } from './chain/stage-plan.ts';
export type { ConfiguredProvider, ConfiguredStage, GatewayConfig } from './config/gateway-config.ts';
export type { StageEntry } from './config/given-plugins.ts';
export { ConfigError, type ConfigIssue } from './diagnostics/config-error.ts';
export { errorCatalogue, GatewayError } from './errors.ts';
export type { Gateway } from './gateway.ts';
export type { GatewayOptions, OperatorOf } from './gateway-options.ts';
export { createGateway } from './lazy-gateway.ts';
export type { AccountOptions, ModelOptions, PlanOptions, ProviderOptions } from './options.ts';
export type { Reloaded } from './reload.ts';
export { MemoryStateStore } from './stores/limits/memory-state-store.ts';
export { openStateStore } from './stores/limits/open-state-store.ts';
export type { StateStore } from './stores/limits/state-store.ts';
export type { PostgresPool } from './stores/records/postgres-pool.ts';
export type { Log } from './telemetry/log.ts';
export type { Logger } from './telemetry/logger.ts';
