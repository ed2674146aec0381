/** The calls that are passed through: embeddings of one passage and of many, as OpenAI's SDK asks for them, 1024 dimensions in base64. */

const passage =
  'A river bends because water on the outside of a slight curve runs faster and carries soil away, while on the inside it slows ' +
  'down and drops it. So every small curve grows, until the river cuts through its neck and leaves a lake behind.';

/** As many texts as an index of documents is made with at a time. */
export const batch = 32;

const bodyOf = (input: string | readonly string[]): string =>
  JSON.stringify({ model: 'bge-large-en-v1.5', input, encoding_format: 'base64' });

export const embeddingsBody = bodyOf(passage);
export const batchBody = bodyOf(Array.from({ length: batch }, (_, at) => `${at + 1}. ${passage}`));

function textOf(texts: number): string {
  const data = Array.from({ length: texts }, (_, index) => {
    const vector = Float32Array.from({ length: 1024 }, (_, at) => Math.sin((index + 1) * at * 12.9898) / 32);
    const embedding = Buffer.from(vector.buffer).toString('base64');
    return `{"index":${index},"object":"embedding","embedding":"${embedding}"}`;
  });
  const tokens = 52 * texts;
  return (
    '{"id":"embd-5f0c6c1e9d7b4a3f8e2d1c0b9a887766","object":"list","created":1795132800,"model":"bge-large-en-v1.5",' +
    `"data":[${data.join(',')}],"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens},"completion_tokens":0,` +
    '"prompt_tokens_details":null}}'
  );
}

export const embeddingsText = textOf(1);
export const batchText = textOf(batch);
