import type { FinishReason, Usage } from '../../canonical.ts';
import type { Identity } from '../define-dialect.ts';
import { isCutOff, type OutputItem } from './output-items.ts';
import { shownFormat, shownToolChoice, shownTools } from './responses-tools.ts';

/** What differs between the states of one response. */
interface State {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly output?: readonly OutputItem[];
  readonly usage?: Usage | undefined;
  readonly completed_at?: number;
  readonly error?: { readonly code: string; readonly message: string };
  readonly incomplete_details?: { readonly reason: string };
}

/** The response object (spec 2.5; protocol 3.5, h5): what stays the same in all its states is encoded once. */
export class ResponseObject {
  readonly #identity: Identity;
  readonly #head: string;
  readonly #tail: string;

  constructor(identity: Identity) {
    const { key, created, model } = identity;
    this.#identity = identity;
    this.#head =
      `{"id":${JSON.stringify(`resp_${key}`)},"object":"response","created_at":${created},` +
      `"model":${JSON.stringify(model)},"status":`;
    // The rest of an object: its opening brace is left out.
    this.#tail = JSON.stringify(echoOf(identity)).slice(1);
  }

  /** Its JSON while the reply is being made. */
  inProgress(): string {
    return this.#encode({ status: 'in_progress' });
  }

  failed(code: string, message: string): string {
    return this.#encode({ status: 'failed', error: { code, message } });
  }

  /** Its JSON at the end: completed, or incomplete with the reason (h6). */
  finished(finish_reason: FinishReason, output: readonly OutputItem[], usage: Usage | undefined): string {
    if (!isCutOff(finish_reason)) {
      const completed_at = this.#identity.now_s();
      return this.#encode({ status: 'completed', output, usage, completed_at });
    }
    const reason = finish_reason === 'length' ? 'max_output_tokens' : finish_reason;
    return this.#encode({ status: 'incomplete', output, usage, incomplete_details: { reason } });
  }

  #encode({ status, output = [], usage, completed_at, error, incomplete_details }: State): string {
    const state = JSON.stringify({
      completed_at: completed_at ?? null,
      error: error ?? null,
      incomplete_details: incomplete_details ?? null,
    });
    return (
      `${this.#head}"${status}","output":${JSON.stringify(output)},` +
      `"usage":${usage ? encodeUsage(usage) : 'null'},${state.slice(1, -1)},${this.#tail}`
    );
  }
}

/** Usage in this format (spec 2.5; protocol h7), as JSON: with running usage it is written on every chunk. */
export function encodeUsage(usage: Usage): string {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details, completion_tokens_details } =
    usage;
  return (
    `{"input_tokens":${prompt_tokens},"output_tokens":${completion_tokens},"total_tokens":${total_tokens},` +
    `"input_tokens_details":{"cached_tokens":${prompt_tokens_details.cached_tokens}},` +
    `"output_tokens_details":{"reasoning_tokens":${completion_tokens_details?.reasoning_tokens ?? 0}}}`
  );
}

/** What a response repeats of its request, and neutral values for what is not offered; clients check that all of it is there (h5). */
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
    prompt_cache_key: null,
    ...client?.echo,
  };
}
