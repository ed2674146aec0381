import type { AdapterContract, AdapterErrorFixture, AdapterFixture } from 'sluice/testing';

/**
 * What the Gemini API sends, written down by hand from public sources: the shapes, keys and orders are the API's, the words and figures are
 * our own. From googleapis/js-genai `src/types.ts` and `src/_api_client.ts` (2026-08), google-gemini/cookbook `quickstarts/rest` and
 * `Get_started_thinking_REST` (2026-08), and ai.google.dev on thought signatures and thinking (2026-11).
 */

/** A stream as the API writes it. */
export const streamOf = (...replies: readonly object[]): string =>
  replies.map(reply => `data: ${JSON.stringify(reply)}\r\n\r\n`).join('');

const about = { modelVersion: 'gemini-3-flash-preview', responseId: 'kq8haYb2' };

/** A reply of one candidate with these parts. `more` are fields of the candidate. */
const reply = (parts: readonly object[], usageMetadata: object, more: object = {}): object => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
  usageMetadata,
  ...about,
});

const prompt = { promptTokenCount: 24, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 24 }] };
const stop = { finishReason: 'STOP' };

const answer: AdapterFixture = {
  name: 'answer',
  stream: streamOf(
    reply([{ text: 'Short question. ', thought: true }], {
      ...prompt,
      totalTokenCount: 28,
      thoughtsTokenCount: 4,
    }),
    reply([{ text: 'Name erosion.', thought: true }], {
      ...prompt,
      totalTokenCount: 33,
      thoughtsTokenCount: 9,
    }),
    reply([{ text: 'Water cuts the outer bank' }], {
      ...prompt,
      candidatesTokenCount: 6,
      totalTokenCount: 39,
      thoughtsTokenCount: 9,
    }),
    reply(
      [{ text: ' — slowly. 🏞️', thoughtSignature: 'c2lnbmVkLXRleHQ=' }],
      {
        ...prompt,
        candidatesTokenCount: 17,
        totalTokenCount: 50,
        thoughtsTokenCount: 9,
        cachedContentTokenCount: 16,
      },
      stop,
    ),
  ),
  reply: reply(
    [
      { text: 'Short question. Name erosion.', thought: true },
      { text: 'Water cuts the outer bank — slowly. 🏞️', thoughtSignature: 'c2lnbmVkLXRleHQ=' },
    ],
    {
      ...prompt,
      candidatesTokenCount: 17,
      totalTokenCount: 50,
      thoughtsTokenCount: 9,
      cachedContentTokenCount: 16,
    },
    { ...stop, avgLogprobs: -0.2 },
  ),
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'Water cuts the outer bank — slowly. 🏞️',
        reasoning: 'Short question. Name erosion.',
      },
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: 24,
    // 17 of the answer and 9 of its thoughts.
    completion_tokens: 26,
    total_tokens: 50,
    prompt_tokens_details: { cached_tokens: 16 },
    completion_tokens_details: { reasoning_tokens: 9 },
  },
};

const rolls = [
  {
    functionCall: { name: 'roll', args: { sides: 20 }, id: 'fjyd5vpl' },
    thoughtSignature: 'c2lnbmVkLWNhbGw=',
  },
  { functionCall: { name: 'roll', args: { sides: 6 }, id: 'k2m9x7qa' } },
];
const rollUsage = {
  promptTokenCount: 131,
  candidatesTokenCount: 30,
  totalTokenCount: 172,
  thoughtsTokenCount: 11,
};

/** Only the first of parallel calls is signed. */
export const tools: AdapterFixture = {
  name: 'tools',
  stream: streamOf(
    reply([{ text: 'Two dice.', thought: true }], {
      promptTokenCount: 131,
      totalTokenCount: 142,
      thoughtsTokenCount: 11,
    }),
    reply(rolls, rollUsage),
    reply([{ text: '' }], rollUsage, stop),
  ),
  reply: reply([{ text: 'Two dice.', thought: true }, ...rolls], rollUsage, stop),
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        reasoning: 'Two dice.',
        reasoning_details: [
          {
            type: 'reasoning.encrypted',
            id: 'fjyd5vpl',
            data: 'c2lnbmVkLWNhbGw=',
            format: 'google-gemini-v1',
            index: 0,
          },
        ],
        tool_calls: [
          { id: 'fjyd5vpl', type: 'function', function: { name: 'roll', arguments: '{"sides":20}' } },
          { id: 'k2m9x7qa', type: 'function', function: { name: 'roll', arguments: '{"sides":6}' } },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: {
    prompt_tokens: 131,
    completion_tokens: 41,
    total_tokens: 172,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 11 },
  },
};

const usage = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
  prompt_tokens_details: { cached_tokens: 0 },
});

/** Models before Gemini 3 give calls no id, and say nothing of calls without arguments. */
const older: AdapterFixture = {
  name: 'older-call',
  stream: streamOf(
    reply(
      [{ text: 'Rolling.' }, { functionCall: { name: 'roll' } }],
      {
        promptTokenCount: 60,
        candidatesTokenCount: 12,
        totalTokenCount: 72,
      },
      stop,
    ),
  ),
  reply: reply(
    [{ text: 'Rolling.' }, { functionCall: { name: 'roll' } }],
    {
      promptTokenCount: 60,
      candidatesTokenCount: 12,
      totalTokenCount: 72,
    },
    stop,
  ),
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'Rolling.',
        tool_calls: [{ type: 'function', function: { name: 'roll', arguments: '{}' } }],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: usage(60, 12),
};

/** The cap was reached in the thoughts: there is no content at all. */
const length: AdapterFixture = {
  name: 'length',
  stream: streamOf({
    candidates: [{ content: { role: 'model' }, finishReason: 'MAX_TOKENS', index: 0 }],
    usageMetadata: { promptTokenCount: 24, totalTokenCount: 32, thoughtsTokenCount: 8 },
  }),
  reply: {
    candidates: [{ content: { role: 'model' }, finishReason: 'MAX_TOKENS', index: 0 }],
    usageMetadata: { promptTokenCount: 24, totalTokenCount: 32, thoughtsTokenCount: 8 },
  },
  choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'length' }],
  usage: { ...usage(24, 8), completion_tokens_details: { reasoning_tokens: 8 } },
};

const filteredUsage = { promptTokenCount: 24, candidatesTokenCount: 2, totalTokenCount: 26 };
const filteredEnd = { finishReason: 'SAFETY', finishMessage: 'The answer was unsafe.', safetyRatings: [] };

/** The filter ended the answer. */
const filtered: AdapterFixture = {
  name: 'filtered',
  stream: streamOf(reply([{ text: 'First' }], filteredUsage), {
    candidates: [{ index: 0, ...filteredEnd }],
    usageMetadata: filteredUsage,
  }),
  reply: reply([{ text: 'First' }], filteredUsage, filteredEnd),
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'First', refusal: 'The answer was unsafe.' },
      finish_reason: 'content_filter',
    },
  ],
  usage: usage(24, 2),
};

const blockedReply = {
  promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
  usageMetadata: { promptTokenCount: 24, totalTokenCount: 24 },
};

/** The prompt was blocked: there are no candidates. */
const blocked: AdapterFixture = {
  name: 'blocked-prompt',
  stream: streamOf(blockedReply),
  reply: blockedReply,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: '', refusal: 'The prompt was blocked: PROHIBITED_CONTENT.' },
      finish_reason: 'content_filter',
    },
  ],
  usage: usage(24, 0),
};

const candidate = (index: number, text: string, more: object = {}) => ({
  content: { parts: [{ text }], role: 'model' },
  index,
  ...more,
});
const twoUsage = { promptTokenCount: 24, candidatesTokenCount: 4, totalTokenCount: 28 };

/** Usage counts all candidates; one of them ends earlier. */
const candidates: AdapterFixture = {
  name: 'candidates',
  stream: streamOf(
    { candidates: [candidate(0, 'Water'), candidate(1, 'It')] },
    { candidates: [candidate(1, ' erodes.', stop)] },
    { candidates: [candidate(0, ' cuts.', stop)], usageMetadata: twoUsage },
  ),
  reply: {
    candidates: [candidate(0, 'Water cuts.', stop), candidate(1, 'It erodes.', stop)],
    usageMetadata: twoUsage,
  },
  choices: [
    { index: 0, message: { role: 'assistant', content: 'Water cuts.' }, finish_reason: 'stop' },
    { index: 1, message: { role: 'assistant', content: 'It erodes.' }, finish_reason: 'stop' },
  ],
  usage: usage(24, 4),
};

/** Servers that count thoughts among the candidates' tokens: prompt and candidates are the total. */
const inclusive: AdapterFixture = {
  name: 'inclusive-count',
  reply: reply(
    [{ text: 'Water.' }],
    { promptTokenCount: 24, candidatesTokenCount: 10, totalTokenCount: 34, thoughtsTokenCount: 8 },
    stop,
  ),
  choices: [{ index: 0, message: { role: 'assistant', content: 'Water.' }, finish_reason: 'stop' }],
  usage: { ...usage(24, 10), completion_tokens_details: { reasoning_tokens: 8 } },
};

const error = (code: number, status: string, message: string) => ({ error: { code, message, status } });
const failed = { status: 502, type: 'provider_error' };
const misconfigured = { status: 400, type: 'configuration_error' };
const refused = (message: string) => ({ status: 400, type: 'invalid_request_error', message });

const temperature = "Invalid value at 'generation_config.temperature'";
const errors: readonly AdapterErrorFixture[] = [
  {
    name: 'a request that is wrong',
    status: 400,
    body: error(400, 'INVALID_ARGUMENT', temperature),
    shown: refused(temperature),
  },
  {
    name: 'a request that is wrong, in an array',
    status: 400,
    body: [error(400, 'INVALID_ARGUMENT', temperature)],
    shown: refused(temperature),
  },
  {
    name: 'a bad key',
    status: 400,
    body: error(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'),
    shown: misconfigured,
  },
  {
    name: 'a country that is not served',
    status: 400,
    body: error(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.'),
    shown: misconfigured,
  },
  {
    name: 'a key that may not',
    status: 403,
    body: error(403, 'PERMISSION_DENIED', 'Forbidden.'),
    shown: misconfigured,
  },
  {
    name: 'a model that is not there',
    status: 404,
    body: error(404, 'NOT_FOUND', 'models/x is not found for API version v1beta'),
    shown: misconfigured,
  },
  {
    name: 'its rate limit',
    status: 429,
    body: error(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.'),
    shown: failed,
  },
  {
    name: 'overload',
    status: 503,
    body: error(503, 'UNAVAILABLE', 'The model is overloaded.'),
    shown: failed,
  },
  { name: 'a page', status: 502, body: '<html>Bad gateway</html>', shown: failed },
  { name: 'an error inside a 200', body: error(503, 'UNAVAILABLE', 'Overloaded.'), shown: failed },
  {
    name: 'an array inside a 200',
    body: [error(400, 'INVALID_ARGUMENT', 'Too long.')],
    shown: refused('Too long.'),
  },
  {
    name: 'an error in the stream',
    stream: streamOf(reply([{ text: 'Water' }], prompt), error(503, 'UNAVAILABLE', 'Overloaded.')),
    shown: failed,
  },
  {
    name: 'a call that the model got wrong',
    body: {
      candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: 'Malformed.', index: 0 }],
    },
    shown: failed,
  },
  {
    name: 'the same in a stream',
    stream: streamOf({ candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }] }),
    shown: failed,
  },
];

/** All of it, for `checkAdapter`. */
export const contract: AdapterContract = {
  fixtures: [answer, tools, older, length, filtered, blocked, candidates, inclusive],
  errors,
};
