import { isObject, tokenCount, type Usage, usageOf } from '../../../src/plugin.ts';

const counted = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
] as const;

/** Usage merged from several events: counts of a stream are cumulative, and later events may omit earlier ones. */
export class RunningUsage {
  readonly #tokens = {
    input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    output_tokens: 0,
  };
  #thinking: number | undefined;
  #searches: number | undefined;

  /** Adds `value` and returns the usage so far; `undefined` if it is not usage. */
  seen(value: unknown): Usage | undefined {
    if (!isObject(value)) return undefined;
    if (tokenCount(value.input_tokens) === undefined && tokenCount(value.output_tokens) === undefined)
      return undefined;
    const tokens = this.#tokens;
    for (const name of counted) tokens[name] = Math.max(tokens[name], tokenCount(value[name]) ?? 0);
    const { output_tokens_details: details, server_tool_use: used } = value;
    if (isObject(used)) this.#searches = tokenCount(used.web_search_requests) || this.#searches;
    if (isObject(details)) this.#thinking = tokenCount(details.thinking_tokens) ?? this.#thinking;
    return usageOf(
      tokens.input_tokens + tokens.cache_read_input_tokens + tokens.cache_creation_input_tokens,
      tokens.output_tokens,
      tokens.cache_read_input_tokens,
      this.#details(),
      // Without caching, usage has only what every server's has.
      tokens.cache_creation_input_tokens || undefined,
    );
  }

  #details(): Usage['completion_tokens_details'] {
    const reasoning_tokens = this.#thinking;
    const web_search_requests = this.#searches;
    if (reasoning_tokens === undefined && web_search_requests === undefined) return undefined;
    return {
      ...(reasoning_tokens !== undefined && { reasoning_tokens }),
      ...(web_search_requests !== undefined && { web_search_requests }),
    };
  }
}
