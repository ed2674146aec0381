import {
  checkToolArguments,
  type ImagePart,
  invalidField,
  type Message,
  type ToolCall,
  textOf,
  toolArguments,
} from 'sluice/plugin';
import { lost_signature, ownSignatures, type SignatureMemory } from './signatures.ts';

type Part = Readonly<Record<string, unknown>>;

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: Part[];
}

interface Conversation {
  readonly systemInstruction?: { readonly parts: readonly Part[] };
  readonly contents: readonly Content[];
}

/** What the conversation becomes; `isDropped` if the client sent reasoning that is not sent: the API takes none but by its signature. */
interface Converted {
  readonly fields: Conversation;
  readonly isDropped: boolean;
}

/**
 * Converts the messages: system messages apart, tool results as `functionResponse` parts. Adjacent messages of one kind become one content,
 * because the API wants the results of all calls of a turn together. `needsSignatures`: a call without a signature would be refused.
 */
export function contentsOf(
  messages: readonly Message[],
  memory: SignatureMemory,
  needsSignatures: boolean,
): Converted {
  checkToolArguments(messages);
  const isSystem = ({ role }: Message) => role === 'system';
  // The API needs contents, so a system message alone becomes one.
  const isSystemAlone = messages.every(isSystem);
  const names = new Map<string, KnownCall>();
  let isDropped = false;
  const contents: Content[] = [];
  let last: Message['role'] | undefined;
  for (const [at, message] of messages.entries()) {
    if (isSystem(message) && !isSystemAlone) continue;
    const parts = partsOf(message, at, names, memory, needsSignatures);
    if (hasReasoning(message) && !parts.some(isSigned)) isDropped = true;
    if (parts.length === 0) continue;
    if (message.role === last) for (const part of parts) contents.at(-1)!.parts.push(part);
    else contents.push({ role: message.role === 'assistant' ? 'model' : 'user', parts });
    last = message.role;
  }
  if (contents.length === 0)
    throw invalidField('messages', 'must have at least one message that is not empty.');
  const system = isSystemAlone ? [] : messages.filter(isSystem).flatMap(({ content }) => textParts(content));
  const systemInstruction = system.length > 0 && { systemInstruction: { parts: system } };
  return { fields: { ...systemInstruction, contents }, isDropped };
}

const isSigned = ({ thoughtSignature }: Part): boolean =>
  thoughtSignature !== undefined && thoughtSignature !== lost_signature;

const hasReasoning = ({ reasoning, reasoning_details }: Message): boolean =>
  reasoning !== undefined || reasoning_details !== undefined;

/** A call of the conversation so far, by its id: the results do not say what was called. */
interface KnownCall {
  readonly name: string;
  /** The API's own id, if it gave one. */
  readonly id?: string | undefined;
}

function partsOf(
  message: Message,
  at: number,
  known: Map<string, KnownCall>,
  memory: SignatureMemory,
  needsSignatures: boolean,
): Part[] {
  const { role, content, tool_calls = [], tool_call_id = '' } = message;
  if (role === 'tool') {
    const call = known.get(tool_call_id);
    if (!call) throw invalidField(`messages[${at}].tool_call_id`, 'must be the id of a tool call before it.');
    const images = imagesOf(content).map(imagePart);
    const response = { output: textOf(content) };
    const shown = images.length > 0 && { parts: images };
    return [{ functionResponse: { ...idOf(call.id), name: call.name, response, ...shown } }];
  }
  const texts = textParts(content);
  if (role !== 'assistant') return [...texts, ...imagesOf(content).map(imagePart)];
  const own = ownSignatures(message);
  const kept = memory.recall(tool_calls);
  const calls = tool_calls.map((call, number) => {
    const { id, signature } = kept?.calls[number] ?? {};
    known.set(call.id, { name: call.function.name, id });
    const isLost = needsSignatures && !kept && own.size === 0 && number === 0;
    return callPart(
      call,
      `messages[${at}].tool_calls[${number}].function.arguments`,
      id,
      isLost ? lost_signature : (own.get(call.id) ?? signature),
    );
  });
  const [first, ...rest] = texts;
  return [...(first ? [{ ...first, ...signedBy(own.get(undefined) ?? kept?.text) }] : []), ...rest, ...calls];
}

const callPart = (
  call: ToolCall,
  param: string,
  id: string | undefined,
  signature: string | undefined,
): Part => ({
  functionCall: { ...idOf(id), name: call.function.name, args: toolArguments(call, param) },
  ...signedBy(signature),
});

const idOf = (id: string | undefined) => (id === undefined ? {} : { id });
const signedBy = (signature: string | undefined) =>
  signature === undefined ? {} : { thoughtSignature: signature };

/** The API refuses empty texts. */
function textParts(content: Message['content']): Part[] {
  const texts =
    typeof content === 'string'
      ? [content]
      : (content ?? []).flatMap(part => (part.type === 'text' ? part.text : []));
  return texts.filter(text => text !== '').map(text => ({ text }));
}

const imagesOf = (content: Message['content']): ImagePart[] =>
  Array.isArray(content) ? content.filter(part => part.type === 'image_url') : [];

/** The image itself from a `data:` URL, or its address. */
function imagePart({ image_url: { url } }: ImagePart): Part {
  const [, mimeType] = /^data:([^;,]+);base64,/.exec(url.slice(0, 100)) ?? [];
  if (mimeType === undefined) return { fileData: { fileUri: url } };
  return { inlineData: { mimeType, data: url.slice(url.indexOf(',') + 1) } };
}
