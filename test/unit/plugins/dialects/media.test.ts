import { describe, expect, it } from '@jest/globals';
import { validation } from '../../../../plugins/stages/validation/index.ts';
import type { ChatRequest, Message } from '../../../../src/gateway/exchange/canonical.ts';
import type { MessageField } from '../../../../src/gateway/upstream/attempt/fit-messages.ts';
import { fitted } from '../../../../src/gateway/upstream/attempt/fit-request.ts';
import { adapterOf, type ProviderName } from '../../../support/provider-fixtures.ts';
import { sampleExchange } from '../../sample-exchange.ts';
import { sampleSetup } from '../../sample-setup.ts';
import { chatOf, messageFormat, responsesOf } from '../../src/gateway/dialects/renderings.ts';

const context = { path: '/', headers: {}, account_id: undefined };
const pdf = 'data:application/pdf;base64,aGk=';
const filename = 'report.pdf';
const file = { type: 'file', file: { filename, file_data: pdf } };
const input_audio = { data: 'aGk=', format: 'wav' };

const asked: Readonly<Record<string, (...parts: object[]) => ChatRequest>> = {
  chat: (...content) => chatOf().parse({ model: 'a/b', messages: [{ role: 'user', content }] }),
  responses: (...content) =>
    responsesOf().parse({ model: 'a/b', input: [{ role: 'user', content }] }, context),
  messages: (...content) =>
    messageFormat.parse({ model: 'a/b', max_tokens: 9, messages: [{ role: 'user', content }] }),
};
const files: Readonly<Record<string, object>> = {
  chat: file,
  responses: { type: 'input_file', filename, file_data: pdf },
  messages: {
    type: 'document',
    title: filename,
    source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' },
  },
};
const formats = Object.keys(files);
const contentOf = (request: ChatRequest) => request.messages[0]!.content;

/** The content of the first message as an upstream gets it. */
function sentBy(name: ProviderName, request: ChatRequest): unknown {
  const adapter = adapterOf(name);
  const messages = {
    fields: adapter.messageFields as ReadonlySet<MessageField>,
    send_reasoning: 'never' as const,
  };
  const fit = fitted(request, { parameters: adapter.parameters, drop: [], extra: [], messages });
  const { body } = adapter.encode(fit.request, { model: 'm', effortMap: {}, extraParameters: [] });
  return (body.messages as Message[])[0]!.content;
}

describe('a file or a sound among the parts of a message', () => {
  it.each(formats)('reaches servers that speak the format of OpenAI in their form: %s', format => {
    const said = { type: format === 'responses' ? 'input_text' : 'text', text: 'Sum up.' };
    for (const name of ['openai', 'openrouter', 'vllm', 'sglang'] as const)
      expect(sentBy(name, asked[format]!(files[format]!, said))).toEqual([
        file,
        { type: 'text', text: 'Sum up.' },
      ]);
  });

  it.each(formats)('is a document for Anthropic: %s', format => {
    const source = { type: 'base64', media_type: 'application/pdf', data: 'aGk=' };
    expect(sentBy('anthropic', asked[format]!(files[format]!))).toEqual([
      { type: 'document', source, title: filename },
    ]);
  });

  it('may be at an address, or be plain text', () => {
    const url = 'https://example.com/a.pdf';
    const [responses] = [asked.responses!({ type: 'input_file', file_url: url })];
    expect(sentBy('anthropic', responses)).toEqual([{ type: 'document', source: { type: 'url', url } }]);
    expect(sentBy('openai', responses)).toEqual([{ type: 'file', file: { file_data: url } }]);
    const note = asked.chat!({ type: 'file', file: { file_data: 'data:text/csv;base64,YSxi' } });
    const source = { type: 'text', media_type: 'text/plain', data: 'a,b' };
    expect(sentBy('anthropic', note)).toEqual([{ type: 'document', source }]);
  });

  it('is audio in chat completions and responses', () => {
    for (const format of ['chat', 'responses'])
      expect(sentBy('openai', asked[format]!({ type: 'input_audio', input_audio }))).toEqual([
        { type: 'input_audio', input_audio },
      ]);
  });

  it('is the text that a client has, of documents and search results of messages', () => {
    const cache_control = { type: 'ephemeral' };
    const request = asked.messages!(
      { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: 'Silt.' } },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Sand.' }] } },
      {
        type: 'search_result',
        source: 'https://r.example/',
        title: 'R',
        content: [{ type: 'text', text: 'Clay.' }],
        cache_control,
      },
    );
    expect(contentOf(request)).toEqual([
      { type: 'text', text: 'Notes\nSilt.' },
      { type: 'text', text: 'Sand.' },
      { type: 'text', text: 'R (https://r.example/)\nClay.', cache_control },
    ]);
  });

  it('is refused by an upstream whose adapter cannot send it', () => {
    const accepted = {
      parameters: new Set<string>(),
      drop: [],
      extra: [],
      messages: { fields: new Set<MessageField>(['native']), send_reasoning: 'never' as const },
    };
    expect(fitted(asked.chat!(file), accepted).request.messages[0]!.content).toHaveLength(1);
    const none = { ...accepted, messages: { ...accepted.messages, fields: new Set<MessageField>() } };
    expect(() => fitted(asked.chat!(file), none)).toThrow(/files and audio are not accepted/);
  });

  it('is refused for a model that does not take it, or replaced by a note', () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const parts = [image, file, { type: 'input_audio', input_audio }];
    const checked = (modality: string, unseen_media: 'refuse' | 'note', ...given: object[]) => {
      const exchange = sampleExchange({
        model: { architecture: { modality } },
        request: asked.chat!(...given),
      });
      validation({ unseen_media }).plan.create(sampleSetup()).onRequest!(exchange);
      return contentOf(exchange.request);
    };
    expect(() => checked('text->text', 'refuse', file)).toThrow(
      /files are not accepted by .*, whose modality is text->text/,
    );
    for (const part of parts) expect(() => checked('text->text', 'refuse', part)).toThrow(/not accepted by/);
    expect(checked('text->text', 'note', ...parts)).toEqual([
      { type: 'text', text: '[image]' },
      { type: 'text', text: '[file: report.pdf]' },
      { type: 'text', text: '[audio]' },
    ]);
    expect(checked('text+image+file+audio->text', 'refuse', ...parts)).toEqual(
      contentOf(asked.chat!(...parts)),
    );
    expect(checked('text+file->text', 'note', ...parts)).toMatchObject([
      { text: '[image]' },
      { native: { item: file } },
      { text: '[audio]' },
    ]);
  });
});
