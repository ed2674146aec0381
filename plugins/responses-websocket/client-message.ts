import {
  type GatewayError,
  invalidField,
  isObject,
  type Json,
  jsonSizeOf,
  mayExceed,
  refusal,
} from '../../src/plugin.ts';

/** Bounds of a message, those of a request body. */
export interface MessageLimits {
  readonly max_body_values: number;
  readonly max_body_keys: number;
}

/** A request for a response: the body of a POST, and whether one is to be generated. */
export interface CreateMessage {
  readonly body: Json;
  /** False to have it prepared and remembered only. */
  readonly generate: boolean;
}

/** Fields that say how a response is transported, which is decided here. */
const transport = [
  'type',
  'event_id',
  'generate',
  'stream',
  'stream_options',
  'stream_id',
  'background',
  'response',
];

/**
 * A message of the client; undefined for one that asks for nothing. Fields of a request stand beside `type`, or in `response`. Throws a
 * GatewayError for any other message.
 */
export function createMessageOf(text: Buffer, limits: MessageLimits): CreateMessage | undefined {
  const message = parsed(text, limits);
  // Codex tells when it has processed a response.
  if (message.type === 'response.processed') return undefined;
  if (message.type !== 'response.create')
    throw invalidField('type', 'is not known; a message must be of the type response.create.');
  const fields = isObject(message.response) ? { ...message, ...message.response } : message;
  if (fields.background === true) throw invalidField('background', 'is not offered over WebSocket.');
  if (fields.stream_id != null)
    throw invalidField('stream_id', 'is not offered; a connection has one response at a time.');
  const body = Object.fromEntries(Object.entries(fields).filter(([name]) => !transport.includes(name)));
  return { body: { ...body, stream: true }, generate: fields.generate !== false };
}

function parsed(text: Buffer, { max_body_values: values, max_body_keys: keys }: MessageLimits): Json {
  const limits = { values, keys };
  if (mayExceed(text.length, limits)) {
    const size = jsonSizeOf(text, limits);
    if (size.values > values || size.keys > keys)
      throw malformed(`The message has more than ${values} values or ${keys} keys.`);
  }
  let message: unknown;
  try {
    message = JSON.parse(text.toString());
  } catch {
    throw malformed('The message is not valid JSON.');
  }
  if (!isObject(message)) throw malformed('The message must be a JSON object.');
  return message;
}

const malformed = (message: string): GatewayError => refusal('invalid_request', { message });
