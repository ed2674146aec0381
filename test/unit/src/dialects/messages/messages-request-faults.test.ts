import { describe, expect, it } from '@jest/globals';
import { messages, messagesCount } from '../../../../../src/dialects/messages/index.ts';
import type { GatewayError } from '../../../../../src/errors.ts';

const dialect = messages.create({ enabled: true }, { models: [] });
const count = messagesCount.create({ enabled: true }, { models: [] });
const hello = [{ role: 'user', content: 'Hi' }];

function refused(fields: object, { parse }: Pick<typeof dialect, 'parse'> = dialect): GatewayError {
  try {
    parse({ model: 'a/b', max_tokens: 2000, messages: hello, ...fields });
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error(`not refused: ${JSON.stringify(fields)}`);
}

const user = (...content: unknown[]) => ({ messages: [...hello, { role: 'user', content }] });
const image = (source: unknown) => user({ type: 'text', text: 'a' }, { type: 'image', source });
const assistant = (block: object) => ({ messages: [{ role: 'assistant', content: [block] }] });
const tool = { name: 'roll', input_schema: {} };
const search = { type: 'web_search_20250305', name: 'web_search' };

describe('the error about an invalid Messages request', () => {
  it.each<[string, object, string]>([
    ['model', { model: '' }, 'is required'],
    ['max_tokens', { max_tokens: undefined }, 'is required: an integer of at least 1'],
    ['max_tokens', { max_tokens: 0 }, 'must be an integer of at least 1, not 0'],
    ['max_tokens', { max_tokens: '5' }, 'is required: an integer of at least 1'],
    ['messages', { messages: undefined }, 'is required: an array of messages'],
    ['messages', { messages: [] }, 'must have at least one message.'],
    ['messages[1]', { messages: [...hello, 'b'] }, 'must be an object {role, content}'],
    ['messages[0].role', { messages: [{ role: 'tool', content: 'a' }] }, 'must be one of: user, assistant'],
    [
      'messages[0].content',
      { messages: [{ role: 'user' }] },
      'must be a string or an array of content blocks',
    ],
    ['messages[1].content', user(), 'must not be empty'],
    ['messages[1].content[0]', user('a'), 'must be an object {type, …}'],
    ['messages[1].content[0].text', user({ type: 'text' }), 'must be a string'],
    ['messages[1].content[0].type', user({ type: 'document' }), 'must be "text", "image" or "tool_result"'],
    ['messages[1].content[0].type', user({ type: 'tool_use' }), 'must be "text"'],
    ['messages[1].content[1].source', image('a'), 'must be an object {type, …}'],
    ['messages[1].content[1].source.type', image({ type: 'file' }), 'must be "base64" or "url"'],
    [
      'messages[1].content[1].source.url',
      image({ type: 'url', url: 'http://a.b' }),
      'must be an https: address of a public host',
    ],
    [
      'messages[1].content[1].source.url',
      image({ type: 'url', url: 'data:image/png;base64,aGk=' }),
      'must be an https: address of a public host',
    ],
    [
      'messages[1].content[1].source.media_type',
      image({ type: 'base64', media_type: 'image/tiff', data: 'aGk=' }),
      'must be one of: image/jpeg',
    ],
    [
      'messages[1].content[1].source.data',
      image({ type: 'base64', media_type: 'image/png', data: 'not base64!' }),
      'must be an image in base64',
    ],
    ['messages[1].content[0].tool_use_id', user({ type: 'tool_result' }), 'must be a string'],
    [
      'messages[1].content[0].content[0].type',
      user({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'search_result' }] }),
      'must be "text", "image" or "tool_reference"',
    ],
    [
      'messages[0].content[0].input',
      assistant({ type: 'tool_use', id: 'a', name: 'b', input: '{}' }),
      'must be an object',
    ],
    ['messages[0].content[0].data', assistant({ type: 'redacted_thinking', data: '' }), 'must not be empty'],
    ['messages[0].content[0].thinking', assistant({ type: 'thinking', signature: 'a' }), 'must be a string'],
    [
      'messages[0].content[0].type',
      assistant({ type: 'server_tool_use' }),
      'must be "text", "tool_use", "thinking" or "redacted_thinking"',
    ],
    ['system', { system: 5 }, 'must be a string or an array of text blocks'],
    ['system[0].type', { system: [{ type: 'image' }] }, 'must be "text"'],
    [
      'system[0].cache_control',
      { system: [{ type: 'text', text: 'a', cache_control: {} }] },
      'must be {type: "ephemeral"}',
    ],
    ['temperature', { temperature: 1.5 }, 'must be a number from 0 to 1'],
    ['top_k', { top_k: 1.5 }, 'must be an integer of at least 0'],
    ['stop_sequences', { stop_sequences: 'a' }, 'must be an array of non-empty strings'],
    [
      'stream_options',
      { stream_options: { continuous_usage_stats: true } },
      'is accepted only with "stream": true',
    ],
    ['metadata.user_id', { metadata: { user_id: 5 } }, 'must be a string'],
    ['tools', { tools: {} }, 'must be an array of tools'],
    ['tools[0].input_schema', { tools: [{ name: 'a' }] }, 'is required: the JSON Schema of its input'],
    ['tools[0].name', { tools: [{ input_schema: {} }] }, 'must be a string'],
    ['tool_choice.type', { tool_choice: { type: 'required' } }, 'must be one of: auto, any, tool, none'],
    ['tool_choice', { tool_choice: 'auto' }, 'must be an object {type}'],
    [
      'tool_choice.name',
      { tools: [tool], tool_choice: { type: 'tool' } },
      'is required: the name of the tool',
    ],
    [
      'tool_choice.name',
      { tools: [tool], tool_choice: { type: 'tool', name: 'toss' } },
      'must be the name of one of the tools',
    ],
    [
      'tool_choice.name',
      { tools: [tool, search], tool_choice: { type: 'tool', name: 'web_search' } },
      'must be the name of one of the tools: tools of the type web_search_20250305 are not offered here',
    ],
    ['thinking', { thinking: true }, 'must be an object {type}'],
    ['thinking.type', { thinking: { type: 'on' } }, 'must be one of: enabled, adaptive, disabled'],
    ['thinking.budget_tokens', { thinking: { type: 'enabled' } }, 'must be an integer of at least 1024'],
    [
      'thinking.budget_tokens',
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      'must be less than max_tokens',
    ],
    ['output_config.effort', { output_config: { effort: 'minimal' } }, 'must be one of: low, medium'],
    ['output_config.format.type', { output_config: { format: { type: 'text' } } }, 'must be "json_schema"'],
  ])('names %s for %j', (param, fields, message) => {
    expect(refused(fields)).toMatchObject({
      status: 400,
      param,
      message: expect.stringContaining(`${param}: ${message}`),
    });
  });

  it('is the same when tokens are counted', () => {
    expect(refused(image('a'), count).message).toBe(refused(image('a')).message);
  });

  it('comes at the first of very many faults', () => {
    const { message } = refused({ messages: Array.from({ length: 100_000 }, () => ({})) });
    expect(message).toMatch(/^messages\[0\]\.role: /);
    expect(refused(user(...Array.from({ length: 100_000 }, () => ({})))).param).toBe(
      'messages[1].content[0].type',
    );
  });
});
