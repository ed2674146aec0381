import {
  type ChatRequest,
  type Completion,
  type Identity,
  type Json,
  textOf,
} from '../../../../src/plugin.ts';
import type { ReplyForm } from '../reply-form.ts';
import { usageFields } from '../response-object.ts';
import type { ResponseArchive } from './response-archive.ts';
import { itemsOf, listedItem, type StoredItem, withIds } from './stored-items.ts';

const instruction =
  'Summarize the conversation so far for whoever continues it, without answering it. Keep what is needed to go on: goals and constraints of the user, decisions, facts and results of tools with their names, paths and figures, what was done, and what is left to do. Write the summary alone.';

/** What a compaction needs of its request for its reply. */
interface Compacted {
  readonly account: string;
  /** The user's messages, which stay as they are. */
  readonly ofUser: readonly StoredItem[];
}

/** Of a request that a stage has made anew. */
const nothing: Compacted = { account: '', ofUser: [] };

/** Asks for a summary in place of an answer to the request, whose items these are. */
export function askForSummary(request: ChatRequest, items: readonly StoredItem[], account: string): void {
  summarize(request);
  request.stream = false;
  delete request.stream_options;
  const ofUser = items.filter(({ type = 'message', role }) => type === 'message' && role === 'user');
  const compacted: Compacted = { account, ofUser };
  request.client = { ...request.client, kept: compacted };
}

function summarize(request: ChatRequest): void {
  request.messages.push({ role: 'user', content: instruction });
  // Servers want the tools of earlier calls to be declared.
  if (request.tools) request.parameters.tool_choice = 'none';
  delete request.parameters.response_format;
}

/** Whether the last item of a request asks for a compaction as its response, as Codex does. */
export const isTriggered = (body: Json): boolean => itemsOf(body).at(-1)?.type === 'compaction_trigger';

/** Asks for a summary in place of an answer: the response has one item, with what `seal` makes of it. */
export function answerBySummary(request: ChatRequest, seal: (summary: string) => string): void {
  summarize(request);
  let sealed: string | undefined;
  // Once: encryption is another each time, and what is stored and what is sent are the same.
  const once = (summary: string) => (sealed ??= seal(summary));
  request.client = { ...request.client, kept: { ...(request.client?.kept as ReplyForm), seal: once } };
}

/** The item that stands for a conversation. */
export const compactionItem = (key: string, encrypted_content: string): Json => ({
  id: `cmp_${key}`,
  type: 'compaction',
  encrypted_content,
});

/** The JSON of a compaction: the user's messages, and the summary in an item that only this gateway reads. */
export function compactionObject(
  archive: ResponseArchive,
  { key, created, request }: Identity,
  { choices, usage }: Completion,
): string {
  const { account, ofUser } = (request.client?.kept ?? nothing) as Compacted;
  const summary = textOf(choices[0]!.message.content);
  const item = compactionItem(key, archive.seal(account, summary));
  return JSON.stringify({
    id: `resp_${key}`,
    object: 'response.compaction',
    created_at: created,
    output: [...withIds(ofUser, key).map(listedItem), item],
    usage: usage ? usageFields(usage) : null,
  });
}
