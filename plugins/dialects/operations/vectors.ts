import { isObject } from '../../../src/plugin.ts';
import { invalid } from './replies.ts';

/** An embedding as servers send it: its numbers, or their 32-bit floats in base64. */
export type Vector = readonly number[] | string;

/** Forms in which clients get embeddings. */
export const encodings = ['float', 'base64'] as const;

/** The embeddings in a reply, in the order of the inputs. Throws `provider_invalid` unless there is one for each. */
export function vectorsIn(body: unknown, inputs: number): Vector[] {
  const data = isObject(body) && Array.isArray(body.data) ? body.data : [];
  if (data.length !== inputs) throw invalid(`${data.length} embeddings of ${inputs} inputs`);
  const vectors: Vector[] = [];
  for (const [place, one] of data.entries()) {
    const { index = place, embedding } = (isObject(one) ? one : {}) as {
      index?: number;
      embedding?: unknown;
    };
    if (!isVector(embedding)) throw invalid('an embedding that is none');
    if (!Number.isInteger(index) || index < 0 || index >= inputs || vectors[index])
      throw invalid('an index of no input');
    vectors[index] = embedding;
  }
  return vectors;
}

const isVector = (value: unknown): value is Vector =>
  typeof value === 'string'
    ? value !== ''
    : Array.isArray(value) && value.length > 0 && value.every(number => typeof number === 'number');

/** `vector` as the client has asked for it: some servers do not know `encoding_format`. */
export function encoded(vector: Vector, encoding: (typeof encodings)[number]): Vector {
  if (encoding === 'base64')
    return typeof vector === 'string'
      ? vector
      : Buffer.from(Float32Array.from(vector).buffer).toString('base64');
  if (typeof vector !== 'string') return vector;
  const bytes = Uint8Array.from(Buffer.from(vector, 'base64'));
  return Array.from(new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4)));
}
