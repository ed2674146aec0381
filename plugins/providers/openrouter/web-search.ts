import { type ChatRequest, isObject, type Json, tokenCount } from '../../../src/plugin.ts';

/** Fields of a request with `web_search_options`, which is a tool among the others here; none without. */
export function searchFields({ parameters, tools = [] }: ChatRequest): Json {
  const { web_search_options: options, tool_choice } = parameters;
  if (!isObject(options)) return {};
  const { filters, user_location, search_context_size } = options;
  const { allowed_domains, blocked_domains: excluded_domains } = isObject(filters) ? filters : {};
  const search = { search_context_size, user_location, allowed_domains, excluded_domains };
  return {
    web_search_options: undefined,
    tools: [...tools, { type: 'openrouter:web_search', parameters: search }],
    // It can be required, but not by name.
    ...(isObject(tool_choice) && tool_choice.type === 'web_search' && { tool_choice: 'required' }),
  };
}

/** Usage with its searches among the details of the completion, where those of all servers are. */
export function withSearches(usage: unknown): unknown {
  if (!isObject(usage) || !isObject(usage.server_tool_use)) return usage;
  const web_search_requests = tokenCount(usage.server_tool_use.web_search_requests);
  if (!web_search_requests) return usage;
  const { completion_tokens_details: details } = usage;
  return {
    ...usage,
    completion_tokens_details: { ...(isObject(details) && details), web_search_requests },
  };
}
