import { z } from 'zod';
import {
  seed,
  sharedFields,
  sharedParameters,
  tokens,
} from '../gateway/dialects/request-schema/shared-fields.ts';

const { temperature, reasoning_effort } = sharedFields;
const { top_p, presence_penalty, frequency_penalty, parallel_tool_calls } = sharedParameters;

/** Takes the absence and the null, which clients may send, from a field of requests. */
const given = <T extends z.ZodType>(field: z.ZodOptional<z.ZodNullable<T>>): T => field.unwrap().unwrap();

/** What requests of a model have where their client has left it out, by the schemas of the fields in a request. */
export const modelDefaultsSchema = z.strictObject({
  temperature: given(temperature).optional().describe('Sampling temperature.'),
  top_p: given(top_p).optional().describe('Share of the probability that is sampled from.'),
  max_tokens: given(tokens).optional().describe('The most tokens to generate.'),
  stop: z.array(z.string().min(1)).min(1).optional().describe('Texts at which generation ends.'),
  reasoning_effort: given(reasoning_effort)
    .optional()
    .describe('The same as `reasoning_effort.default`, which clients are shown.'),
  presence_penalty: given(presence_penalty).optional().describe('Penalty for tokens that have occurred.'),
  frequency_penalty: given(frequency_penalty).optional().describe('Penalty by how often.'),
  parallel_tool_calls: given(parallel_tool_calls)
    .optional()
    .describe('Whether several tools are called at once.'),
  seed: given(seed).optional().describe('Seed of the sampling.'),
});
