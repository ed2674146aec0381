import { z } from 'zod';
import { off } from '../common/option-schemas.ts';
import { modelDefaultsSchema } from './model-defaults-schema.ts';
import { modelRoutingSchema } from './routing-schema.ts';

const price = z
  .string()
  .regex(
    /^\d+(\.\d{1,12})?$/,
    'must be a decimal string without exponent and with at most 12 decimals, such as "0.0000007"',
  )
  .describe('Price of one token as a decimal string without exponent.');

const effort = z
  .strictObject({
    supported: z.boolean().describe('Whether clients can choose an effort.'),
    levels: z.array(z.string().min(1)).describe('The exact accepted values; empty when not supported.'),
    default: z.string().nullable().describe('What an omitted value means: one of `levels`, or null.'),
  })
  .superRefine((value, issues) => {
    const say = (path: string, message: string) => issues.addIssue({ code: 'custom', path: [path], message });
    if (!value.supported && value.levels.length > 0) say('levels', 'must be empty when supported is false');
    if (!value.supported && value.default !== null) say('default', 'must be null when supported is false');
    if (!value.supported) return;
    if (value.levels.length === 0) say('levels', 'must name at least one level when supported is true');
    if (value.default === null || !value.levels.includes(value.default))
      say('default', `must be one of levels: ${value.levels.join(', ') || '(none)'}`);
  });

const prices = {
  prompt: price,
  completion: price,
  input_cache_read: price.optional().describe('Price of one token of the prompt that a cache has.'),
  input_cache_write: price.optional().describe('Price of one token of the prompt that is put into a cache.'),
  web_search: price.optional().describe('Price of one web search.'),
  request: price.optional().describe('Price of one call that is answered, beside that of its tokens.'),
};

/** One upstream of a model: which provider serves it, and under which name there. */
export const upstreamSchema = z.strictObject({
  provider: z.string().describe('A name under `providers`.'),
  model: z.string().min(1).describe("The model's name at that provider."),
  priority: z.int().min(1).default(1).describe('Lower numbers are tried first.'),
  weight: z
    .number()
    .positive('must be above 0; leave an upstream out that is to get nothing')
    .default(1)
    .describe('Share within the same priority.'),
  limits: z
    .strictObject({
      requests_per_minute: z.int().positive().optional().describe('Requests in any 60 s.'),
      tokens_per_minute: z
        .int()
        .positive()
        .optional()
        .describe('Tokens of prompts and completions in any 60 s.'),
    })
    .optional()
    .describe(
      'What the contract with the provider allows: `requests_per_minute`, `tokens_per_minute`. At a limit the upstream is left out; if all are, the answer is 429. Counted in the state store, for all models that have it.',
    ),
  paid_prices: z
    .strictObject(prices)
    .optional()
    .describe(
      'What the provider is paid, in the form of `pricing`: beside `cost_usd`, which is billed, the ledger and the sums of usage then have `paid_usd`. Without it that is unknown.',
    ),
});

const fallbackModels = z.array(z.string()).min(1, 'must name at least one model').optional();

/** A model: its public catalog entry, and how it is served. */
export const modelSchema = z
  .strictObject({
    id: z
      .string()
      .regex(/^[^/\s]+\/[^\s]+$/, 'must have the form <vendor>/<model_name>')
      .describe('What clients ask for: `<vendor>/<model_name>`.'),
    name: z.string().min(1).describe('Display name.'),
    description: z.string().default('').describe('Free text.'),
    date: z.iso.date().describe('Release date, YYYY-MM-DD; `created` in the catalog is its midnight in UTC.'),
    context_length: z.int().positive().describe('Tokens.'),
    max_completion_tokens: z.int().positive().describe('Tokens.'),
    is_moderated: off('Shown in the catalog.'),
    architecture: z
      .strictObject({
        modality: z
          .string()
          .regex(/^.+->.+$/, 'must have the form <input>-><output>')
          .describe('`<input>-><output>`, such as `text+image->text`.'),
      })
      .default({ modality: 'text->text' })
      .describe('`modality` as `<input>-><output>`.'),
    pricing: z
      .strictObject(prices)
      .describe(
        '`prompt`, `completion` and, with cache pricing, `input_cache_read`: decimal strings per token. `input_cache_write` and, per search, `web_search`, for providers that bill it, are not in the public catalog. `request` is the price of a call, beside that of its tokens.',
      ),
    operations: z
      .array(z.string())
      .min(1, 'must name at least one operation')
      .optional()
      .describe(
        'What it serves: `chat` (alone, if this is left out), `embeddings`, `text_completion`, `rerank`, or `passthrough` for paths of that section without a provider. Their paths, such as `/v1/embeddings`, are offered if a model serves them.',
      ),
    reasoning: z.boolean().describe('The model reasons before answering.'),
    tool_calls: z.boolean().describe('The model accepts tools.'),
    reasoning_effort: effort.describe(
      '`supported`, the accepted `levels`, and the `default` that an omitted value means.',
    ),
    upstreams: z
      .array(upstreamSchema)
      .min(1, 'must name at least one upstream')
      .describe(
        'Who serves it: `provider`, the `model` name there, `priority` (the lowest is asked first), `weight` (share within a priority), `limits`, `paid_prices` (what it costs).',
      ),
    routing: modelRoutingSchema
      .default({})
      .describe('What is different from the section `routing` for this model.'),
    defaults: modelDefaultsSchema
      .optional()
      .describe(
        'What requests have where their client has left it out: `{ temperature: 0.7, max_tokens: 1024 }`.',
      ),
    fallbacks: z
      .strictObject({
        context_length: fallbackModels.describe('A prompt that is too long for it.'),
        content_filter: fallbackModels.describe(
          'A prompt or an answer that a filter of the provider blocks.',
        ),
        unavailable: fallbackModels.describe('No upstream answers: all failed, are paused or full.'),
      })
      .optional()
      .describe(
        'Models that answer in its place, in order, by why it does not, before anything was sent: `context_length`, `content_filter`, `unavailable`. The reply names the one that answered, which is billed.',
      ),
    starts_in_reasoning: z
      .union([z.boolean(), z.literal('auto')], 'must be true, false or "auto"')
      .default(false)
      .describe(
        'The chat template puts `<think>` into the prompt, so the text starts inside reasoning. `auto`: decided by a lone `</think>`, non-streamed only.',
      ),
    effort_map: z
      .record(z.string(), z.record(z.string(), z.unknown()))
      .default({})
      .describe("Upstream request fields per effort level, in place of the adapter's own mapping."),
    on_client_gone: z
      .enum(['complete', 'abort'])
      .default('complete')
      .describe('Non-streamed request whose client has left: read on and bill, or abort the upstream.'),
  })
  .meta({ shown: true });
