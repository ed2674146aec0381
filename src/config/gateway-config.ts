// Written from the schemas of the configuration by `npm run docs`.

import type { AuthOptions } from '../../plugins/stages/auth/options.ts';
import type { ErrorEnvelopeOptions } from '../../plugins/stages/error-envelope/options.ts';
import type { ModelAccessOptions } from '../../plugins/stages/model-access/options.ts';
import type { RateLimitOptions } from '../../plugins/stages/rate-limit/options.ts';
import type { ReasoningSplitOptions } from '../../plugins/stages/reasoning-split/options.ts';
import type { RedactOptions } from '../../plugins/stages/redact/options.ts';
import type { RequestRewriteOptions } from '../../plugins/stages/request-rewrite/options.ts';
import type { ResponseCacheOptions } from '../../plugins/stages/response-cache/options.ts';
import type { StreamRechunkOptions } from '../../plugins/stages/stream-rechunk/options.ts';
import type { ValidationOptions } from '../../plugins/stages/validation/options.ts';
import type { AccountOptions, AdminOptions, ChatCompletionsOptions, LogOptions, MessagesOptions, MetricsOptions, ModelOptions, PassthroughOptions, PlanOptions, PortalOptions, ProviderOptions, ResponsesOptions, RoutingOptions, ServerOptions, StoresOptions, TracingOptions, UsageOptions } from '../common/options.ts';

/** A provider with the adapter `openai`. */
export interface OpenaiProvider extends ProviderOptions {
  /** What the server speaks. */
  adapter: 'openai';
  /**
   * `gen_ai.provider.name` on spans.
   *
   * @defaultValue `"openai"`
   */
  provider_name?: string | undefined;
  /**
   * The upstream's name for the cap; `auto` takes the second for OpenAI's reasoning models, by their names.
   *
   * @defaultValue `"auto"`
   */
  max_tokens_field?: 'auto' | 'max_tokens' | 'max_completion_tokens' | undefined;
  /**
   * The upstream's name for reasoning that clients send back. Set `send_reasoning: never` for a server that
   * refuses both.
   *
   * @defaultValue `"reasoning_content"`
   */
  reasoning_field?: 'reasoning_content' | 'reasoning' | undefined;
}

/** A provider with the adapter `vllm`. */
export interface VllmProvider extends ProviderOptions {
  /** What the server speaks. */
  adapter: 'vllm';
  /**
   * Variables of the chat template that turn thinking on and off, such as `thinking` for DeepSeek V3.1.
   *
   * @defaultValue `["enable_thinking"]`
   */
  thinking_switches?: string[] | undefined;
}

/** A provider with the adapter `sglang`. */
export interface SglangProvider extends ProviderOptions {
  /** What the server speaks. */
  adapter: 'sglang';
  /**
   * Variables of the chat template that turn thinking on and off, such as `thinking` for DeepSeek V3.1.
   *
   * @defaultValue `["enable_thinking"]`
   */
  thinking_switches?: string[] | undefined;
}

/** A provider with the adapter `llama-cpp`. */
export interface LlamaCppProvider extends ProviderOptions {
  /** What the server speaks. */
  adapter: 'llama-cpp';
  /**
   * Variables of the chat template that turn thinking on and off, such as `thinking` for DeepSeek V3.1.
   *
   * @defaultValue `["enable_thinking"]`
   */
  thinking_switches?: string[] | undefined;
  /** Keep the prompt for requests that begin alike; without it, as the server was started. */
  cache_prompt?: boolean | undefined;
  /**
   * Ask for token counts with every event of a stream; without it running usage is estimated.
   *
   * @defaultValue `true`
   */
  timings_per_token?: boolean | undefined;
}

/** A provider with the adapter `openrouter`. */
export interface OpenrouterProvider extends ProviderOptions {
  /** What the server speaks. */
  adapter: 'openrouter';
  /** Sent as `HTTP-Referer`: your site, for OpenRouter's rankings. */
  referer?: string | undefined;
  /** Sent as `X-Title`: your application's name. */
  title?: string | undefined;
  /** Sent as `provider` with every request: `order`, `only`, `sort`, `data_collection`, `max_price` … */
  routing?: Record<string, unknown> | undefined;
  /**
   * How much `reasoning_details` of turns that called tools is kept for their next request; 0 keeps none.
   *
   * @defaultValue `16000000`
   */
  remember_characters?: number | undefined;
}

/** A provider with the adapter `anthropic`. */
export interface AnthropicProvider extends ProviderOptions {
  /** What the server speaks. */
  adapter: 'anthropic';
  /**
   * Sent as `anthropic-version`.
   *
   * @defaultValue `"2023-06-01"`
   */
  version?: string | undefined;
  /**
   * Sent as `anthropic-beta`.
   *
   * @defaultValue `[]`
   */
  beta?: string[] | undefined;
  /**
   * How a model is made to think: by a number of tokens, as up to Claude 4.5 and by other makers' servers, or
   * adaptively by an effort, as since 4.6; `auto` goes by the model's name.
   *
   * @defaultValue `"auto"`
   */
  thinking?: 'auto' | 'budget' | 'adaptive' | undefined;
  /**
   * How much signed thinking of turns that called tools is kept, for at most an hour, for their next request; 0
   * keeps none, and a tool loop goes on without a thinking budget.
   *
   * @defaultValue `16000000`
   */
  remember_characters?: number | undefined;
  /**
   * What newer models do with thinking of a tool loop when the client has changed something before it, such as
   * the time in its system prompt: refuse the request, or drop the thinking, which takes a beta of the API.
   *
   * @defaultValue `"refuse"`
   */
  on_changed_history?: 'refuse' | 'drop' | undefined;
  /**
   * Pass `strict` of tools on; the API limits how many there may be and what their schemas may say.
   *
   * @defaultValue `false`
   */
  strict_tools?: boolean | undefined;
  /**
   * Have the prompt cached this long, beside what clients mark with `cache_control`. Writing to the cache costs
   * more than plain input: set `pricing.input_cache_write`.
   *
   * @defaultValue `"off"`
   */
  prompt_caching?: 'off' | '5m' | '1h' | undefined;
}

/** A provider with an adapter of your own. */
export interface OtherProvider extends ProviderOptions {
  /** The name of an adapter that is given in code, a path such as `./my-server.ts`, or a package. */
  adapter: string;
  /** An option of the adapter. */
  [option: string]: unknown;
}

/** A provider: what all have in common, and the options of its adapter. */
export type ConfiguredProvider = OpenaiProvider | VllmProvider | SglangProvider | LlamaCppProvider | OpenrouterProvider | AnthropicProvider | OtherProvider;

/** One stage with its options, by its name, its path or its package. */
export interface StageWithOptions {
  /** Options of `error-envelope`. */
  'error-envelope'?: ErrorEnvelopeOptions | null | undefined;
  /** Options of `auth`. */
  'auth'?: AuthOptions | null | undefined;
  /** Options of `validation`. */
  'validation'?: ValidationOptions | null | undefined;
  /** Options of `rate-limit`. */
  'rate-limit'?: RateLimitOptions | null | undefined;
  /** Options of `request-rewrite`. */
  'request-rewrite'?: RequestRewriteOptions | null | undefined;
  /** Options of `stream-rechunk`. */
  'stream-rechunk'?: StreamRechunkOptions | null | undefined;
  /** Options of `reasoning-split`. */
  'reasoning-split'?: ReasoningSplitOptions | null | undefined;
  /** Options of `model-access`. */
  'model-access'?: ModelAccessOptions | null | undefined;
  /** Options of `redact`. */
  'redact'?: RedactOptions | null | undefined;
  /** Options of `response-cache`. */
  'response-cache'?: ResponseCacheOptions | null | undefined;
  /** Options of a stage of your own. */
  [stage: string]: unknown;
}

/** A stage of a configuration: its name, path or package, alone or with options. */
export type ConfiguredStage = 'error-envelope' | 'auth' | 'validation' | 'rate-limit' | 'request-rewrite' | 'stream-rechunk' | 'reasoning-split' | 'model-access' | 'redact' | 'response-cache' | (string & {}) | StageWithOptions;

/** The configuration of a gateway, as an object. All but `providers` and `models` may be left out. */
export interface GatewayConfig {
  /** The listener for clients, and how requests and replies are bounded. */
  server?: ServerOptions | undefined;
  /** The listener for operators: metrics, health and the dashboard. */
  admin?: AdminOptions | undefined;
  /** The portal, where customers see their own account. */
  portal?: PortalOptions | undefined;
  /** The log of the sidecar. */
  log?: LogOptions | undefined;
  /** What is measured beside the usual. */
  metrics?: MetricsOptions | undefined;
  /** What spans contain. */
  tracing?: TracingOptions | undefined;
  /** How tokens are counted that the upstream does not report. */
  usage?: UsageOptions | undefined;
  /** Options of `/v1/chat/completions`. */
  chat_completions?: ChatCompletionsOptions | undefined;
  /** Options of `/v1/responses`. */
  responses?: ResponsesOptions | undefined;
  /** Options of `/v1/messages`. */
  messages?: MessagesOptions | undefined;
  /**
   * Dialects of your own, by path or package; each has its options in its own section.
   *
   * @defaultValue `[]`
   */
  dialects?: string[] | undefined;
  /** Servers that models run on, by names of your own. */
  providers: Record<string, ConfiguredProvider>;
  /** How an upstream is chosen, and what is tried after a failure. */
  routing?: RoutingOptions | undefined;
  /** The catalog: models that clients can ask for. */
  models: ModelOptions[];
  /**
   * Other paths that are let through to one provider each, bytes untouched.
   *
   * @defaultValue `[]`
   */
  passthrough?: PassthroughOptions[] | undefined;
  /** Limits by the name of the plan. */
  plans?: Record<string, PlanOptions> | undefined;
  /** Accounts by name, with their plans and keys. */
  accounts?: Record<string, AccountOptions> | undefined;
  /** The chain in order; without it the default chain. */
  stages?: ConfiguredStage[] | undefined;
  /** Where limits, keys, accounts and usage are kept. */
  stores?: StoresOptions | undefined;
}
