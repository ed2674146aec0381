import {
  type ChatRequest,
  invalidField,
  isObject,
  type Model,
  parseBody,
  requestFields,
  setAsideUnknown,
  takesImages,
} from '../../../src/plugin.ts';
import { toolsIn, withAddedTools } from './added-tools.ts';
import { setAsideInItems, setAsideInTools } from './input-fields.ts';
import { item } from './input-items.ts';
import { messagesOf } from './input-messages.ts';
import type { ReasoningPlacement, ReplyForm } from './reply-form.ts';
import { type ResponsesFields, responsesRequest } from './responses-fields.ts';
import type { Turn } from './store/continued-requests.ts';
import { chooseTools, isPlainTool } from './tool-choice.ts';
import { type DeclaredTools, declaredTools, isSearch, withoutHosted } from './tool-list.ts';

const { present, sharedRequest, setAsideInMessages, setAsideStreamOptions } = requestFields;

const knownFields: ReadonlySet<string> = new Set(Object.keys(responsesRequest.shape));
const knownInReasoning: ReadonlySet<string> = new Set(['effort']);
const knownInText: ReadonlySet<string> = new Set(['format']);

/** A Responses request in the canonical form. Throws `invalid_request` naming the first field at fault. */
export function parseResponsesRequest(
  body: Record<string, unknown>,
  placement: ReasoningPlacement,
  find: (id: string) => Model | undefined,
  turn?: Turn,
): ChatRequest {
  const from = parseBody(responsesRequest, body);
  const before = turn?.replayed.flatMap(given => parseBody(item, given) ?? []) ?? [];
  const added = toolsIn([...before, ...(from.input ?? [])]);
  const tools = declaredTools(withAddedTools(from.tools ?? [], added));
  const own = from.input ?? from.messages ?? [];
  const { messages, dropped } =
    from.input || before.length > 0
      ? messagesOf([...before, ...own], tools.names, seesImages(find(from.model)), before.length)
      : { messages: from.messages ?? [], dropped: [] };
  if (messages.length === 0) throw invalidField('input', 'must have at least one message.');
  if (from.instructions) messages.unshift({ role: 'system', content: from.instructions });
  const request = sharedRequest(from, messages);
  const reasoning_effort = from.reasoning_effort ?? from.reasoning?.effort;
  const functions = from.tools || added.length > 0 ? tools.functions : undefined;
  Object.assign(request, present({ reasoning_effort, max_tokens: from.max_output_tokens, tools: functions }));
  Object.assign(request.parameters, parametersOf(from), present({ web_search_options: tools.search }));
  if (from.tool_choice !== undefined) chooseTools(request, from.tool_choice, tools.names);
  setAsideAll(request, body, dropped);
  request.client = {
    field_names: namesIn(from, body),
    ...echoOf(from, body, tools),
    kept: formOf(from, tools, placement, turn),
  };
  return request;
}

const seesImages = (model: Model | undefined): boolean => model !== undefined && takesImages(model);

/** Moves all that is not known to `request.unknown`, and what the messages do not show. */
function setAsideAll(
  request: ChatRequest,
  body: Readonly<Record<string, unknown>>,
  dropped: Iterable<string>,
): void {
  setAsideUnknown(request, body, knownFields);
  setAsideStreamOptions(request, body);
  if (isObject(body.reasoning)) setAsideUnknown(request, body.reasoning, knownInReasoning, 'reasoning.');
  if (isObject(body.text)) setAsideUnknown(request, body.text, knownInText, 'text.');
  setAsideInMessages(request, body.messages);
  setAsideInItems(request, body.input);
  setAsideInTools(request, body.tools);
  for (const name of dropped) request.unknown[name] = true;
}

function formOf(
  from: ResponsesFields,
  { names, arePlain }: DeclaredTools,
  placement: ReasoningPlacement,
  turn: Turn | undefined,
): ReplyForm {
  // A message has no place for it.
  const isAsked = from.include?.includes('reasoning.encrypted_content');
  const encrypts = placement !== 'message' && (isAsked || (turn?.isStored && ('signed' as const)));
  return { placement, ...(!arePlain && { names }), ...(encrypts && { encrypts }), ...(turn && { turn }) };
}

/** What the response repeats and the canonical request does not have. */
function echoOf(
  from: ResponsesFields,
  body: Readonly<Record<string, unknown>>,
  { arePlain, search }: DeclaredTools,
) {
  const { instructions, truncation, service_tier, max_tool_calls, safety_identifier } = from;
  const { tool_choice } = from;
  const choosesSome = typeof tool_choice === 'object' && 'mode' in tool_choice;
  const echo = present({
    instructions: instructions || null,
    truncation,
    service_tier,
    max_tool_calls,
    safety_identifier,
    // As they were declared, under names that only the client knows.
    tools: arePlain && !search && !choosesSome ? null : withoutHosted(body.tools),
    tool_choice: typeof tool_choice === 'object' && !isPlainTool(tool_choice) ? body.tool_choice : null,
  });
  return Object.keys(echo).length > 0 ? { echo } : {};
}

/** Parameters that are forwarded under chat's names. */
function parametersOf(from: ResponsesFields): Record<string, unknown> {
  const logprobs =
    from.top_logprobs || from.include?.includes('message.output_text.logprobs') ? true : undefined;
  const top_logprobs = logprobs && from.top_logprobs;
  return present({ logprobs, top_logprobs, response_format: from.text?.format, seed: from.seed });
}

/** This format's names of fields that chat calls differently. */
function namesIn(
  from: ResponsesFields,
  { tools }: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const search: unknown = Array.isArray(tools) ? tools.findLast(isSearch) : undefined;
  const isAlias = from.reasoning_effort == null && from.reasoning?.effort != null;
  return {
    max_tokens: 'max_output_tokens',
    response_format: 'text.format',
    ...(from.input != null && { messages: 'input' }),
    ...(isObject(search) && { web_search_options: `tools.${search.type}` }),
    ...(isAlias && { reasoning_effort: 'reasoning.effort' }),
  };
}
