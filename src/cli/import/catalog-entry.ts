import { builtInAdapters } from '../../config/load-adapters.ts';
import { familyOf } from '../init/model-families.ts';
import type { ModelDefaults } from './model-defaults.ts';

/** Who serves a model. */
export interface ImportedUpstream {
  readonly provider: string;
  readonly model: string;
  readonly priority?: number | undefined;
  readonly weight?: number | undefined;
  /** What the contract with the provider allows. */
  readonly limits?: UpstreamLimits | undefined;
}

/** Of requests and tokens in a minute. */
export type UpstreamLimits = Readonly<Partial<Record<'requests_per_minute' | 'tokens_per_minute', number>>>;

/** What another gateway knows of a model. */
export interface ModelFacts {
  readonly context_length?: number | undefined;
  readonly max_completion_tokens?: number | undefined;
  /** Dollars for a token, a call of `request`. */
  readonly pricing: Readonly<
    Partial<Record<'prompt' | 'completion' | 'input_cache_read' | 'input_cache_write' | 'request', number>>
  >;
  readonly operations?: readonly string[] | undefined;
  readonly reasoning?: boolean | undefined;
  readonly tool_calls?: boolean | undefined;
  readonly images?: boolean | undefined;
}

/** A model of the catalog that is to be made. */
export interface EntryDraft {
  readonly id: string;
  readonly name: string;
  readonly facts: ModelFacts;
  readonly upstreams: readonly ImportedUpstream[];
  /** The adapters of the upstreams, that of the first one first. */
  readonly adapters: readonly string[];
  readonly routing?: Readonly<Record<string, unknown>> | undefined;
  readonly defaults?: ModelDefaults | undefined;
  /** Models that answer in its place, by why. */
  readonly fallbacks?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** A model of the catalog, and which of its fields are guessed. */
export interface CatalogEntry {
  readonly id: string;
  readonly value: Readonly<Record<string, unknown>>;
  readonly guessed: readonly string[];
}

/** What is said above a field that is guessed. */
export const uncertain: Readonly<Record<string, string>> = {
  date: 'not known: the release date',
  context_length: 'not known: longer prompts are left to the provider to refuse',
  max_completion_tokens: 'not known',
  pricing: 'not known: nothing is charged until these are set',
  reasoning: 'by its name',
  reasoning_effort: 'check that the model knows these levels',
};

const generous_context = 1_048_576;
const generous_completion = 131_072;
/** Anthropic's API requires a cap, and refuses one above the model's own. */
const required_completion = 8192;

/** The catalog's entry of a model: what is not known is guessed so that no request is refused for it. */
export function catalogEntry({
  id,
  name,
  facts,
  upstreams,
  adapters,
  routing,
  fallbacks,
  defaults = {},
}: EntryDraft): CatalogEntry {
  const { pricing, operations } = facts;
  const family = familyOf(upstreams[0]!.model);
  const reasoning = facts.reasoning ?? family !== undefined;
  const generates = operations === undefined || operations.includes('text_completion');
  const context_length = facts.context_length ?? generous_context;
  const cap = adapters.includes('anthropic') ? required_completion : generous_completion;
  const max_completion_tokens = Math.min(
    facts.max_completion_tokens ?? (generates ? cap : 1),
    context_length,
  );
  const efforts = reasoning ? effortsFor(adapters) : undefined;
  const priced = pricing.prompt !== undefined || pricing.request !== undefined;
  const guesses = {
    date: true,
    context_length: facts.context_length === undefined,
    max_completion_tokens: facts.max_completion_tokens === undefined && generates,
    pricing: !priced,
    reasoning: reasoning && facts.reasoning === undefined,
    reasoning_effort: efforts !== undefined,
  };
  const value = {
    id: literal(id),
    name: literal(name),
    date: new Date().toISOString().slice(0, 10),
    ...(facts.images && { architecture: { modality: 'text+image->text' } }),
    ...(operations && { operations }),
    context_length,
    max_completion_tokens,
    pricing: { prompt: '0', completion: '0', ...priceTexts(pricing) },
    reasoning,
    tool_calls: facts.tool_calls ?? operations === undefined,
    reasoning_effort: efforts
      ? { supported: true, ...efforts }
      : { supported: false, levels: [], default: null },
    ...(family?.startsInReasoning && adapters.every(isRaw) && { starts_in_reasoning: 'auto' }),
    upstreams: upstreams.map(upstream => upstreamValue(upstream, upstreams)),
    ...(routing && Object.keys(routing).length > 0 && { routing }),
    ...withinCap(defaults, max_completion_tokens),
    ...(fallbacks && Object.keys(fallbacks).length > 0 && { fallbacks }),
  };
  const guessed = Object.entries(guesses).flatMap(([field, isGuessed]) => (isGuessed ? [field] : []));
  return { id, value, guessed };
}

/** Defaults, of which `max_tokens` is at most the cap of the model. */
function withinCap(defaults: ModelDefaults, max_completion_tokens: number) {
  if (Object.keys(defaults).length === 0) return {};
  const { max_tokens, ...rest } = defaults;
  const bounded = typeof max_tokens === 'number' && {
    max_tokens: Math.min(max_tokens, max_completion_tokens),
  };
  return { defaults: { ...rest, ...bounded } };
}

/** Servers that may leave reasoning in the text. */
const isRaw = (adapter: string): boolean => ['vllm', 'sglang', 'llama-cpp'].includes(adapter);

/** The efforts that all of the adapters know, and the one that leaves a model as it is without any. */
function effortsFor(
  adapters: readonly string[],
): { readonly levels: readonly string[]; readonly default: string } | undefined {
  // Claude thinks only where it is asked to.
  const isClaude = adapters.includes('anthropic');
  const levels = [...(isClaude ? ['none'] : []), 'low', 'medium', 'high'];
  const efforts = adapters.map(adapter => builtInAdapters.get(adapter)?.efforts);
  const areKnown = efforts.every(known => !known || levels.every(level => known.includes(level)));
  return areKnown ? { levels, default: isClaude ? 'none' : 'medium' } : undefined;
}

/** Without what is so by default, and without a weight that has nothing to share with. */
function upstreamValue(
  { provider, model, priority = 1, weight = 1, limits = {} }: ImportedUpstream,
  all: readonly ImportedUpstream[],
) {
  const isAlone = all.filter(other => (other.priority ?? 1) === priority).length === 1;
  return {
    provider,
    model: literal(model),
    ...(priority !== 1 && { priority }),
    ...(weight !== 1 && !isAlone && { weight }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

const priceTexts = (pricing: ModelFacts['pricing']): Record<string, string> =>
  Object.fromEntries(Object.entries(pricing).map(([name, usd]) => [name, priceText(usd)]));

/** A number of dollars as the catalog writes it. */
export const priceText = (usd: number): string => usd.toFixed(12).replace(/\.?0+$/, '') || '0';

/** A text as itself: names must not name variables or files of this machine. */
export const literal = (text: string): string => text.replaceAll('${', () => '$${');
