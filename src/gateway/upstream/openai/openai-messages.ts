import type { Message, ReasoningDetail } from '../../exchange/canonical.ts';

/** How messages of servers of this format differ. */
export interface OpenAiMessageForm {
  /** The server's names of reasoning that it takes back; `reasoning_content` without it. */
  readonly reasoningNames?: readonly string[];
  /** The signed or encrypted reasoning of an assistant message that this model takes back; without it none is sent. */
  reasoningDetails?(message: Message, model: string): readonly ReasoningDetail[] | undefined;
}

const most_read_names: readonly string[] = ['reasoning_content'];

/** Messages in this format: reasoning under the names that the server reads, images of tool results in a message of their own. */
export function openAiMessages(
  given: readonly Message[],
  model: string,
  form: OpenAiMessageForm,
): readonly object[] {
  if (given.every(isPlain)) return given;
  const messages: object[] = [];
  let shown: object[] = [];
  for (const message of given) {
    if (message.role === 'tool') {
      messages.push(plainResult(message, shown));
      continue;
    }
    // The results of one turn must stand together.
    if (shown.length > 0) messages.push({ role: 'user', content: shown });
    shown = [];
    messages.push(withReasoning(message, model, form));
  }
  if (shown.length > 0) messages.push({ role: 'user', content: shown });
  return messages;
}

/** Whether a message is sent as it is, whatever the form. */
const isPlain = ({ role }: Message): boolean => role === 'user' || role === 'system';

function withReasoning(message: Message, model: string, form: OpenAiMessageForm): object {
  if (message.role !== 'assistant') return message;
  const details = form.reasoningDetails?.(message, model);
  if (!details && message.reasoning === undefined && !message.reasoning_details) return message;
  const { reasoning, reasoning_details, ...rest } = message;
  const names = reasoning === undefined ? [] : (form.reasoningNames ?? most_read_names);
  return {
    ...rest,
    ...Object.fromEntries(names.map(name => [name, reasoning])),
    ...(details && { reasoning_details: details }),
  };
}

/** The result of a tool with its images moved to `shown`: this format has none in results, nor a mark of failures. */
function plainResult({ is_error, ...message }: Message, shown: object[]): object {
  const { content, tool_call_id } = message;
  const images = Array.isArray(content) ? content.filter(isImage) : [];
  if (!Array.isArray(content) || images.length === 0) return message;
  shown.push({ type: 'text', text: `Images in the result of ${tool_call_id}:` });
  for (const image of images) shown.push(image);
  const texts = content.filter(part => !isImage(part));
  return { ...message, content: texts.length > 0 ? texts : '' };
}

const isImage = ({ type }: { readonly type: string }): boolean => type === 'image_url';
