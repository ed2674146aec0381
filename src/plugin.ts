/** The plugin API, published as `sluice/plugin`. The built-in stages and adapters import nothing else, so it is sufficient for others. */
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
} from './canonical.ts';
export { encryptedDetails, textOf, tokenCount, usageOf } from './canonical.ts';
export { type Catalog, type Model, takesImages } from './catalog/catalog.ts';
export type { FindAccount } from './chain/application-accounts.ts';
export { defineStage } from './chain/define-stage.ts';
export { fromGenerator } from './chain/from-generator.ts';
export type { Hooks, StageFactory, StageSetup } from './chain/stage-plan.ts';
export type { Clock } from './clock.ts';
export { shown } from './diagnostics/field-path.ts';
export { decodePath } from './dialects/decode-path.ts';
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
} from './dialects/define-dialect.ts';
export { type JsonSize, jsonSizeOf, mayExceed } from './dialects/json-size.ts';
export { openAiErrorBody } from './dialects/openai-error.ts';
export { arrayOf, parseBody } from './dialects/request-schema/first-fault.ts';
export { setAsideUnknown } from './dialects/request-schema/unknown-fields.ts';
export { type ErrorCode, type ErrorDetail, GatewayError, invalidField, refusal } from './errors.ts';
export { ReplyAssembler } from './exchange/assemble-reply.ts';
export type { AttemptRecord } from './exchange/attempt-record.ts';
export {
  defineKey,
  type Endpoint,
  type ExchangeView as Exchange,
  type Key,
  type Outcome,
  type RunningUsage,
  type UnreadUse,
} from './exchange/exchange-view.ts';
export { ignoreParameters } from './exchange/ignored-parameters.ts';
export type { StageRecord } from './exchange/stage-record.ts';
export { isObject, type Json } from './json-object.ts';
export { nanoUsdOf } from './money.ts';
export type { AccountOptions, PlanOptions } from './options.ts';
export { max_tokens_per_character } from './settlement/token-estimator.ts';
export { estimateTokens } from './settlement/usage-meter.ts';
export { doneEvent, encodeEvent } from './sse/encode.ts';
export type { SseEvent } from './sse/parse.ts';
export type { Answer, Stage } from './stage.ts';
export {
  type Account,
  type AccountDirectory,
  accountsSchema,
  ConfiguredAccounts,
  unusableAccount,
} from './stores/accounts/accounts.ts';
export type { CacheStore } from './stores/cache/cache-store.ts';
export {
  amountOf,
  type Limit,
  type LimitName,
  type LimitWindow,
  limitLabel,
  rowOf,
  unitOf,
  windowOf,
} from './stores/limits/limit-table.ts';
export type { Charge } from './stores/limits/limit-units.ts';
export {
  AccountLimits,
  type KeyLimits,
  type LimitedKey,
  type LimitSet,
  type Plan,
  type Plans,
  planSchema,
  plansSchema,
} from './stores/limits/plan-limits.ts';
export type { LimitStatus, Reservation, ReservationResult, StateStore } from './stores/limits/state-store.ts';
export type { StreamController, StreamTransformer } from './stream.ts';
export type { Log } from './telemetry/log.ts';
export type { CollectedValue } from './telemetry/metric.ts';
export type { PluginMetrics } from './telemetry/metric-factory.ts';
export type { Counter, Gauge, Histogram } from './telemetry/metric-kinds.ts';
export { type MapTextOptions, mapText, type TextMap } from './text/map-text.ts';
export type { Replacement } from './text/text-replacer.ts';
export {
  type Adapter,
  type AdapterSetup,
  defineProvider,
  type ProviderDefinition,
  type StreamDecoder,
  type Target,
  type UpstreamRequest,
} from './upstream/adapter.ts';
export type { MessageField } from './upstream/attempt/fit-messages.ts';
export { chunkOf, eventObject } from './upstream/http/decode-reply.ts';
export { scrubbed } from './upstream/http/scrub.ts';
export { UpstreamError } from './upstream/http/upstream-error.ts';
export { type Finish, finishOf } from './upstream/openai/finish-reason.ts';
export { type OpenAiServer, openAiAdapter } from './upstream/openai/openai-adapter.ts';
export {
  decodeOpenAiReply,
  encodeOpenAi,
  newCallId,
} from './upstream/openai/openai-format.ts';
export type { OpenAiMessageForm } from './upstream/openai/openai-messages.ts';
export { OpenAiStreamDecoder, type OpenAiStreamOptions } from './upstream/openai/openai-stream-decoder.ts';
export { ReasoningCache, type ReasoningCacheLimits } from './upstream/openai/reasoning-cache.ts';
export {
  effortFields,
  knownEfforts,
  leavesReasoning,
  templateEffort,
  thinkingSwitches,
} from './upstream/openai/reasoning-effort.ts';
export { atMost, max_parts } from './upstream/reply-bounds.ts';
export { checkToolArguments, toolArguments } from './upstream/tool-arguments.ts';
