import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  simulator = await startSimulator({ recorded_requests: 1 });
  gateway = await startGateway({ upstream: simulator });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

const call = { id: 'call_1', type: 'function', function: { name: 'roll', arguments: '{"d":20}' } };
const asked = { role: 'user', content: 'Roll' };
const called = { role: 'assistant', content: null, tool_calls: [call] };
const part = { type: 'text', text: 'Hello' };

const post = (messages: unknown) => gateway.post({ model: 'aion-labs/aion-3.5', messages });

describe('valid messages', () => {
  it.each<[string, unknown[]]>([
    ['of every role', [{ role: 'system', content: 'Be brief.' }, asked, called, { ...asked, role: 'user' }]],
    ['of the role developer', [{ role: 'developer', content: 'Be brief.' }, asked]],
    ['as an array of parts', [{ role: 'user', content: [part, part] }]],
    [
      'as parts, from every role',
      [
        { role: 'system', content: [part] },
        { ...asked, content: [part] },
      ],
    ],
    ['with a name', [{ ...asked, name: 'ann' }]],
    ['with nulls for what is optional', [{ ...asked, name: null, tool_calls: null, tool_call_id: null }]],
    [
      'with calls and their results',
      [asked, called, { role: 'tool', tool_call_id: 'call_1', content: '17' }],
    ],
    ['with results in parts', [asked, called, { role: 'tool', tool_call_id: 'call_1', content: [part] }]],
    ['with calls and no content', [asked, { role: 'assistant', tool_calls: [call] }]],
    ['with calls and content', [asked, { ...called, content: 'I roll.' }]],
    ['with an empty text', [{ role: 'user', content: '' }]],
    ['with fields that nobody knows', [{ ...asked, id: 'msg_1', reasoning: 'Hm.', audio: null }]],
  ])('are accepted %s', async (_, messages) => {
    const reply = await post(messages);
    expect({ status: reply.status, text: reply.ok || (await reply.text()) }).toEqual({
      status: 200,
      text: true,
    });
    await reply.text();
  });
});

/** What is sent, the field that must be named, and what must be said of it. */
const refused: [string, unknown, RegExp][] = [
  ['no messages', undefined, /^messages: .*array of messages/],
  ['null', null, /^messages: .*array of messages/],
  ['a text', 'Hello', /^messages: .*array of messages/],
  ['an object', { 0: asked }, /^messages: .*array of messages/],
  ['an empty array', [], /^messages: .*at least one/],
  ['a message that is null', [null], /^messages\[0\]: .*role/],
  ['a message that is a text', [asked, 'Hello'], /^messages\[1\]: .*role/],
  ['a message that is an array', [[asked]], /^messages\[0\]: .*role/],
  ['no role', [{ content: 'Hello' }], /^messages\[0\]\.role: .*system, user, assistant, tool/],
  ['an unknown role', [asked, { role: 'function', content: '' }], /^messages\[1\]\.role: .*assistant/],
  ['a role in another case', [{ role: 'User', content: '' }], /^messages\[0\]\.role: .*user/],
  ['a role that is a number', [{ role: 1, content: '' }], /^messages\[0\]\.role: .*user/],
  ...['user', 'system', 'assistant', 'developer'].flatMap((role): [string, unknown, RegExp][] => [
    [`no content from ${role}`, [{ role }], /^messages\[0\]\.content: .*string.*array/],
    [`content null from ${role}`, [{ role, content: null }], /^messages\[0\]\.content: .*string.*array/],
  ]),
  [
    'no content and no calls',
    [{ role: 'assistant', tool_calls: [] }],
    /^messages\[0\]\.content: .*string.*array/,
  ],
  ['content that is a number', [{ ...asked, content: 5 }], /^messages\[0\]\.content: .*string.*array/],
  ['content that is an object', [{ ...asked, content: part }], /^messages\[0\]\.content: .*string.*array/],
  ['no parts', [{ ...asked, content: [] }], /^messages\[0\]\.content: .*empty/],
  ['a part that is a text', [{ ...asked, content: ['a'] }], /^messages\[0\]\.content\[0\]: .*"text"/],
  [
    'an image',
    [{ ...asked, content: [part, { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] }],
    /^messages\[0\]\.content\[1\]\.type: images are not accepted by .*, whose modality is text->text/,
  ],
  [
    'sound',
    [{ ...asked, content: [{ type: 'input_audio' }] }],
    /^messages\[0\]\.content\[0\]\.type: .*"text"/,
  ],
  ['a part without its type', [{ ...asked, content: [{ text: 'a' }] }], /content\[0\]\.type: .*"text"/],
  ['a part without its text', [{ ...asked, content: [{ type: 'text' }] }], /content\[0\]\.text: .*string/],
  [
    'a part whose text is none',
    [{ ...asked, content: [{ ...part, text: 5 }] }],
    /content\[0\]\.text: .*string/,
  ],
  [
    'a result without its call',
    [asked, { role: 'tool', content: '17' }],
    /^messages\[1\]\.tool_call_id: .*required/,
  ],
  [
    'a result of an empty call',
    [asked, { role: 'tool', content: '17', tool_call_id: '' }],
    /^messages\[1\]\.tool_call_id: .*required/,
  ],
  [
    'a result of a number',
    [asked, { role: 'tool', content: '17', tool_call_id: 1 }],
    /^messages\[1\]\.tool_call_id: .*string/,
  ],
  [
    'a result without content',
    [asked, called, { role: 'tool', tool_call_id: 'call_1' }],
    /^messages\[2\]\.content: /,
  ],
  [
    'calls that are no array',
    [asked, { ...called, tool_calls: call }],
    /^messages\[1\]\.tool_calls: .*array/,
  ],
  [
    'a call without an id',
    [asked, { ...called, tool_calls: [{ ...call, id: undefined }] }],
    /calls\[0\]\.id: /,
  ],
  [
    'a call of another type',
    [asked, { ...called, tool_calls: [{ ...call, type: 'custom' }] }],
    /^messages\[1\]\.tool_calls\[0\]\.type: .*"function"/,
  ],
  [
    'arguments that are no text',
    [asked, { ...called, tool_calls: [{ ...call, function: { name: 'roll', arguments: { d: 20 } } }] }],
    /^messages\[1\]\.tool_calls\[0\]\.function\.arguments: .*string/,
  ],
  [
    'a call without a name',
    [asked, { ...called, tool_calls: [{ ...call, function: { arguments: '{}' } }] }],
    /^messages\[1\]\.tool_calls\[0\]\.function\.name: /,
  ],
  ['a name that is a number', [{ ...asked, name: 5 }], /^messages\[0\]\.name: .*string/],
];

describe('invalid messages', () => {
  it.each(refused)('are refused with %s', async (_, messages, says) => {
    const { requests } = simulator.stats;
    const reply = await post(messages);
    const { error } = (await reply.json()) as { error: { message: string; type: string } };
    expect(reply.status).toBe(400);
    expect(error.type).toBe('invalid_request_error');
    expect(error.message).toMatch(says);
    expect(simulator.stats.requests).toBe(requests);
  });
});
