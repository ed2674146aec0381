import {
  type ChatRequest,
  type FinishReason,
  type Identity,
  isObject,
  type Usage,
} from '../../../src/plugin.ts';
import { isCutOff } from './output-items.ts';
import type { Turn } from './store/continued-requests.ts';

/** The JSON of one response in each of its states. */
export class ResponseObject {
  readonly #identity: Identity;
  readonly #echo: object;
  readonly #turn: Turn | undefined;

  constructor(identity: Identity, turn?: Turn) {
    this.#identity = identity;
    this.#echo = echoOf(identity);
    this.#turn = turn;
  }

  /** At the end: completed, or incomplete with the reason. */
  finished(finish_reason: FinishReason, output: readonly object[], usage: Usage | undefined): string {
    const reply = { output, usage: usage ? usageFields(usage) : null };
    if (!isCutOff(finish_reason))
      return this.encoded('completed', { ...reply, completed_at: this.#identity.now_s() });
    const reason = finish_reason === 'length' ? 'max_output_tokens' : finish_reason;
    return this.encoded('incomplete', { ...reply, incomplete_details: { reason } });
  }

  /** In another state, with the fields of that state. */
  encoded(status: string, state: object = {}): string {
    const { key, created, model } = this.#identity;
    const neutral = { output: [], usage: null, completed_at: null, error: null, incomplete_details: null };
    const head = { id: `resp_${key}`, object: 'response', created_at: created, model, status };
    return JSON.stringify({ ...head, ...neutral, ...state, ...this.#echo, ...this.#stored() });
  }

  #stored(): object | undefined {
    if (!this.#turn) return undefined;
    const { parent, conversation, isStored, background } = this.#turn;
    return {
      previous_response_id: conversation === undefined ? (parent?.id ?? null) : null,
      ...(conversation !== undefined && { conversation: { id: conversation } }),
      store: isStored,
      background: background !== undefined,
    };
  }
}

/** Usage in this format. */
export const usageFields = (usage: Usage): object => ({
  input_tokens: usage.prompt_tokens,
  output_tokens: usage.completion_tokens,
  total_tokens: usage.total_tokens,
  input_tokens_details: { cached_tokens: usage.prompt_tokens_details.cached_tokens },
  output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
});

/** Fields repeated from the request, and neutral values of those not offered; clients check that all are present. */
function echoOf({ request }: Identity): object {
  const { parameters, client, metadata, max_tokens, reasoning_effort } = request;
  return {
    instructions: null,
    max_output_tokens: max_tokens ?? null,
    max_tool_calls: null,
    metadata: metadata ?? {},
    parallel_tool_calls: parameters.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: reasoning_effort ?? null, summary: null },
    store: false,
    background: false,
    service_tier: 'default',
    temperature: request.temperature ?? parameters.temperature ?? 1,
    top_p: parameters.top_p ?? 1,
    presence_penalty: parameters.presence_penalty ?? 0,
    frequency_penalty: parameters.frequency_penalty ?? 0,
    top_logprobs: parameters.top_logprobs ?? 0,
    text: { format: shownFormat(parameters.response_format) },
    tool_choice: shownToolChoice(parameters.tool_choice),
    tools: shownTools(request.tools),
    truncation: 'disabled',
    user: parameters.user ?? null,
    safety_identifier: null,
    prompt_cache_key: parameters.prompt_cache_key ?? null,
    ...client?.echo,
  };
}

/** Tools as repeated in a reply. */
function shownTools(tools: ChatRequest['tools'] = []): object[] {
  return tools.map(({ function: { name, description, parameters, strict } }) => ({
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  }));
}

/** The choice of tools as repeated in a reply. */
function shownToolChoice(choice: unknown): unknown {
  const called = isObject(choice) && isObject(choice.function) ? choice.function : undefined;
  return called ? { type: 'function', name: called.name } : (choice ?? 'auto');
}

/** The format of the text as repeated in a reply. */
function shownFormat(format: unknown): object {
  if (!isObject(format)) return { type: 'text' };
  return isObject(format.json_schema) ? { type: 'json_schema', ...format.json_schema } : format;
}
