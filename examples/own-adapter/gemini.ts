import { defineProvider, knownEfforts, ReasoningCache } from 'sluice/plugin';
import { z } from 'zod';
import { decodeReply, GeminiStream } from './decode.ts';
import { encodeRequest, messageFields, parameters } from './encode.ts';
import { errorMessage, errorStatus } from './errors.ts';
import type { Signatures } from './signatures.ts';

const max_age_ms = 3_600_000;

/** Google's Gemini API, `generateContent` and `streamGenerateContent` of v1beta. */
export default defineProvider({
  name: 'gemini-native',
  schema: z.strictObject({
    thinking: z
      .enum(['auto', 'level', 'budget', 'off'])
      .default('auto')
      .describe(
        "How a model is made to think: by a level, as since Gemini 3, by a number of tokens, as in 2.5, or not at all; `auto` goes by the model's name.",
      ),
    safety: z
      .record(z.string(), z.string())
      .default({})
      .describe('Thresholds by harm category, such as `HARM_CATEGORY_HARASSMENT: BLOCK_ONLY_HIGH`.'),
    remember_characters: z
      .int()
      .min(0)
      .default(16_000_000)
      .describe('How many thought signatures are kept for the next request of a tool loop; 0 keeps none.'),
  }),
  efforts: knownEfforts,
  create({ remember_characters, ...options }) {
    const memory = new ReasoningCache<Signatures>({ max_characters: remember_characters, max_age_ms });
    return {
      providerName: 'gcp.gemini',
      parameters,
      messageFields,
      credential: api_key => ({ 'x-goog-api-key': api_key }),
      encode: (request, target) => encodeRequest(request, target, options, memory),
      decodeReply: body => decodeReply(body, memory),
      openStream: () => new GeminiStream(memory),
      errorStatus,
      errorMessage,
    };
  },
});
