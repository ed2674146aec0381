/** The plugin API, published as `sluice/plugin`. The built-in stages and adapters import nothing else, so it is sufficient for others. */

export type { Clock } from './common/clock.ts';
export { shown } from './common/field-path.ts';
export { isObject, type Json } from './common/json-object.ts';
export { nanoUsdOf } from './common/money.ts';
export type { AccountOptions, PlanOptions } from './common/options.ts';
export {
  type Account,
  type AccountDirectory,
  accountsSchema,
  ConfiguredAccounts,
  unusableAccount,
} from './gateway/accounts/accounts.ts';
export type { FindAccount } from './gateway/accounts/application-accounts.ts';
export type { CacheStore } from './gateway/cache/cache-store.ts';
export { Catalog, type Model, takesImages } from './gateway/catalog/catalog.ts';
export { decodePath } from './gateway/dialects/decode-path.ts';
export {
  type CatalogAnswer,
  type CatalogAnswers,
  type Dialect,
  type DialectDefinition,
  type DialectHeaders,
  type DialectSetup,
  defineDialect,
  type GenerationFormat,
  type Identity,
  type RequestAnswers,
  type RequestContext,
  type StreamRenderer,
} from './gateway/dialects/define-dialect.ts';
export { type JsonSize, jsonSizeOf, mayExceed } from './gateway/dialects/json-size.ts';
export { openAiErrorBody } from './gateway/dialects/openai-error.ts';
export { arrayOf, parseBody } from './gateway/dialects/request-schema/first-fault.ts';
export { setAsideUnknown } from './gateway/dialects/request-schema/unknown-fields.ts';
export { ReplyAssembler } from './gateway/exchange/assemble-reply.ts';
export type { AttemptRecord } from './gateway/exchange/attempt-record.ts';
export type {
  CacheControl,
  ChatRequest,
  Choice,
  Chunk,
  ChunkChoice,
  Completion,
  ContentPart,
  Delta,
  FinishReason,
  ImagePart,
  Message,
  ReasoningDetail,
  ReplyMessage,
  TextPart,
  Tool,
  ToolCall,
  ToolCallDelta,
  Usage,
} from './gateway/exchange/canonical.ts';
export { encryptedDetails, textOf, tokenCount, usageOf } from './gateway/exchange/canonical.ts';
export {
  type ErrorCode,
  type ErrorDetail,
  GatewayError,
  invalidField,
  refusal,
} from './gateway/exchange/errors.ts';
export {
  defineKey,
  type Endpoint,
  type ExchangeView as Exchange,
  type Key,
  type Outcome,
  type RunningUsage,
  type UnreadUse,
} from './gateway/exchange/exchange-view.ts';
export { fromGenerator } from './gateway/exchange/from-generator.ts';
export { ignoreParameters } from './gateway/exchange/ignored-parameters.ts';
export type { Answer, Stage } from './gateway/exchange/stage.ts';
export type { Hooks, StageFactory, StageSetup } from './gateway/exchange/stage-plan.ts';
export type { StageRecord } from './gateway/exchange/stage-record.ts';
export type { StreamController, StreamTransformer } from './gateway/exchange/stream.ts';
export {
  amountOf,
  type Limit,
  type LimitName,
  type LimitWindow,
  limitLabel,
  rowOf,
  unitOf,
  windowOf,
} from './gateway/limits/limit-table.ts';
export type { Charge } from './gateway/limits/limit-units.ts';
export {
  AccountLimits,
  type KeyLimits,
  type LimitedKey,
  type LimitSet,
  type Plan,
  type Plans,
  planSchema,
  plansSchema,
} from './gateway/limits/plan-limits.ts';
export type {
  LimitStatus,
  Reservation,
  ReservationResult,
  StateStore,
} from './gateway/limits/state-store.ts';
export { max_tokens_per_character } from './gateway/settlement/token-estimator.ts';
export { estimateTokens } from './gateway/settlement/usage-meter.ts';
export { doneEvent, encodeEvent } from './gateway/sse/encode.ts';
export type { SseEvent } from './gateway/sse/parse.ts';
export {
  type Adapter,
  type AdapterSetup,
  defineProvider,
  type ProviderDefinition,
  type StreamDecoder,
  type Target,
  type UpstreamRequest,
} from './gateway/upstream/adapter.ts';
export type { MessageField } from './gateway/upstream/attempt/fit-messages.ts';
export { chunkOf, eventObject } from './gateway/upstream/http/decode-reply.ts';
export { scrubbed } from './gateway/upstream/http/scrub.ts';
export { UpstreamError } from './gateway/upstream/http/upstream-error.ts';
export { type Finish, finishOf } from './gateway/upstream/openai/finish-reason.ts';
export { type OpenAiServer, openAiAdapter } from './gateway/upstream/openai/openai-adapter.ts';
export {
  decodeOpenAiReply,
  encodeOpenAi,
  newCallId,
} from './gateway/upstream/openai/openai-format.ts';
export type { OpenAiMessageForm } from './gateway/upstream/openai/openai-messages.ts';
export {
  OpenAiStreamDecoder,
  type OpenAiStreamOptions,
} from './gateway/upstream/openai/openai-stream-decoder.ts';
export { ReasoningCache, type ReasoningCacheLimits } from './gateway/upstream/openai/reasoning-cache.ts';
export {
  effortFields,
  knownEfforts,
  leavesReasoning,
  templateEffort,
  thinkingSwitches,
} from './gateway/upstream/openai/reasoning-effort.ts';
export { atMost, max_parts } from './gateway/upstream/reply-bounds.ts';
export { checkToolArguments, toolArguments } from './gateway/upstream/tool-arguments.ts';
export { defineStage } from './mount/chain/define-stage.ts';
export type { Log } from './telemetry/log.ts';
export type { CollectedValue } from './telemetry/metric.ts';
export type { PluginMetrics } from './telemetry/metric-factory.ts';
export type { Counter, Gauge, Histogram } from './telemetry/metric-kinds.ts';
export { type MapTextOptions, mapText, type TextMap } from './text/map-text.ts';
export type { Replacement } from './text/text-replacer.ts';
