import { isObject, type Json } from '../common/json-object.ts';
import { Refusal } from './error-body.ts';
import { inputsIn } from './inputs.ts';
import { Dice, hashText } from './seed.ts';
import { countTokens } from './tokens.ts';

const default_dimensions = 256;
const max_dimensions = 4_096;

/** The reply of `POST /v1/embeddings`: vectors of length 1, the same for the same text, and near to each other for texts that share words. */
export function embeddingsReply(body: Json, model: string): object {
  const { input, dimensions = default_dimensions, encoding_format } = body;
  if (!Number.isInteger(dimensions) || Number(dimensions) < 1 || Number(dimensions) > max_dimensions)
    throw new Refusal(400, `dimensions must be an integer from 1 to ${max_dimensions}.`, 'dimensions');
  const texts = inputsIn(input, 'input');
  const data = texts.map((text, index) => {
    const vector = vectorOf(text, Number(dimensions));
    const embedding =
      encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : Array.from(vector);
    return { index, object: 'embedding', embedding };
  });
  return { object: 'list', data, model, usage: usageOf(texts) };
}

/** The reply of `POST /v1/rerank`: by the likeness of their embeddings, from 0 to 1. */
export function rerankReply({ query, documents, top_n }: Json, model: string): object {
  if (typeof query !== 'string') throw new Refusal(400, 'query must be a string.', 'query');
  const given = Array.isArray(documents) ? documents.map(one => (isObject(one) ? one.text : one)) : documents;
  const texts = inputsIn(given, 'documents');
  const asked = vectorOf(query, default_dimensions);
  const results = texts
    .map((text, index) => {
      const relevance_score = (1 + likeness(asked, vectorOf(text, default_dimensions))) / 2;
      return { index, document: { text }, relevance_score };
    })
    .sort((one, other) => other.relevance_score - one.relevance_score)
    .slice(0, typeof top_n === 'number' && top_n > 0 ? top_n : texts.length);
  return { model, results, usage: usageOf([query, ...texts]) };
}

function usageOf(texts: readonly string[]): object {
  const prompt_tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
  return { prompt_tokens, total_tokens: prompt_tokens };
}

/** The sum of the vectors of its words, which point anywhere. */
function vectorOf(text: string, dimensions: number): Float32Array {
  const sum = new Float32Array(dimensions);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    const dice = new Dice(hashText(word));
    for (let at = 0; at < dimensions; at++) sum[at]! += dice.roll() - 0.5;
  }
  const length = Math.hypot(...sum) || 1;
  return sum.map(part => part / length);
}

const likeness = (one: Float32Array, other: Float32Array): number =>
  Math.max(
    -1,
    Math.min(
      1,
      one.reduce((sum, part, at) => sum + part * other[at]!, 0),
    ),
  );
