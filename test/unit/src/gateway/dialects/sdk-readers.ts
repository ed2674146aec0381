import Anthropic from '@anthropic-ai/sdk';
import type { Message } from '@anthropic-ai/sdk/resources';
import OpenAI from 'openai';
import type { ChatCompletion } from 'openai/resources/chat/completions';
import type { Response as SdkResponse } from 'openai/resources/responses/responses';

/** What the helpers of the official clients make of a stream, whose bytes come in pieces of this size. */

const options = (text: string, size: number) => ({
  apiKey: 'sk-test',
  baseURL: 'http://gateway.test',
  maxRetries: 0,
  fetch: async () => new Response(inPieces(text, size), { headers: { 'content-type': 'text/event-stream' } }),
});

function inPieces(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.subarray(at, (at += size)));
    },
  });
}

export const chatBySdk = (text: string, size = 4096): Promise<ChatCompletion> =>
  new OpenAI(options(text, size)).chat.completions
    .stream({ model: 'a/b', messages: [] })
    .finalChatCompletion();

/** The final response, and the texts that the helper has added up from deltas: by item and part. */
export async function responseBySdk(text: string, size = 4096) {
  const stream = new OpenAI(options(text, size)).responses.stream({ model: 'a/b', input: 'Hi' });
  const texts: Record<string, string> = {};
  stream.on('response.output_text.delta', ({ item_id, content_index, snapshot }) => {
    texts[`${item_id} ${content_index}`] = snapshot;
  });
  stream.on('response.function_call_arguments.delta', ({ item_id, snapshot }) => {
    texts[item_id] = snapshot;
  });
  const response = (await stream.finalResponse()) as SdkResponse;
  return { response, texts };
}

export async function messageBySdk(text: string, size = 4096): Promise<Message> {
  const client = new Anthropic(options(text, size));
  const stream = client.messages.stream({ model: 'a/b', max_tokens: 5, messages: [] });
  // The SDK adds fields of its own.
  const message = JSON.parse(JSON.stringify(await stream.finalMessage()));
  delete message.parsed_output;
  return message as Message;
}
