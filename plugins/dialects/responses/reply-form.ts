import {
  type ChatRequest,
  invalidField,
  type RequestContext,
  shown,
  summaryAgents,
} from '../../../src/plugin.ts';
import type { Turn } from './store/continued-requests.ts';
import type { ToolNames } from './tool-names.ts';

/**
 * Places of reasoning in a response: in the message's content, or in an item of its own, as OpenAI has it: as the item's
 * content, or as its summary, which is all that some clients show.
 */
export const reasoning_placements = ['message', 'item', 'summary'] as const;
export type ReasoningPlacement = (typeof reasoning_placements)[number];

/** `auto` decides by the fields of the request. */
export const placement_settings = ['auto', ...reasoning_placements] as const;
export type PlacementSetting = (typeof placement_settings)[number];

export interface PlacementOptions {
  readonly reasoning_placement: PlacementSetting;
  readonly reasoning_placement_by_account?: Readonly<Record<string, PlacementSetting>> | undefined;
}

/** Fields that only OpenAI's own interface has. Agent clients send some of them with every request, and reject content that OpenAI does not have. */
const openAiFields = [
  'include',
  'store',
  'reasoning',
  'text',
  'tools',
  'parallel_tool_calls',
  'truncation',
  'prompt_cache_key',
  'previous_response_id',
  'background',
  'conversation',
];

const header = 'x-reasoning-placement';

/** Where this request wants its reasoning: by its header, or else its account's setting, or else the configuration. Refuses another header. */
export function placementOf(
  body: Readonly<Record<string, unknown>>,
  { headers, account_id }: RequestContext,
  { reasoning_placement, reasoning_placement_by_account: accounts = {} }: PlacementOptions,
): ReasoningPlacement {
  const asked = headers[header];
  if (asked !== undefined) {
    const placement = reasoning_placements.find(one => one === asked);
    if (!placement)
      throw invalidField(header, `must be one of: ${reasoning_placements.join(', ')}, not ${shown(asked)}`);
    return placement;
  }
  const isSet = account_id !== undefined && Object.hasOwn(accounts, account_id);
  const setting = isSet ? accounts[account_id]! : reasoning_placement;
  if (setting !== 'auto') return setting;
  const agent = String(headers['user-agent'] ?? '');
  const isOpenAi = openAiFields.some(name => body[name] != null) || summaryAgents.test(agent);
  return isOpenAi ? 'summary' : 'message';
}

/** Form of a response, as its request asks for it. */
export interface ReplyForm {
  readonly placement: ReasoningPlacement;
  /** Names of its tools, if some are called differently upstream. */
  readonly names?: ToolNames;
  /** Whether reasoning items have `encrypted_content`; those alone that a provider has signed, for what is replayed from the store. */
  readonly encrypts?: boolean | 'signed';
  /** What it continues and whether it is stored, where responses are. */
  readonly turn?: Turn;
  /** Of a compaction: what makes the content of its item of the summary. */
  readonly seal?: ((summary: string) => string) | undefined;
}

/** The form that `parse` has kept with the request; the configuration's for a request that a stage has made. */
export function replyFormOf({ client }: ChatRequest, { reasoning_placement }: PlacementOptions): ReplyForm {
  const placement = reasoning_placement === 'auto' ? 'message' : reasoning_placement;
  return (client?.kept as ReplyForm | undefined) ?? { placement };
}
