/** The call that is passed through: embeddings of one passage, as OpenAI's SDK asks for them, 1024 dimensions in base64. */

const passage =
  'A river bends because water on the outside of a slight curve runs faster and carries soil away, while on the inside it slows ' +
  'down and drops it. So every small curve grows, until the river cuts through its neck and leaves a lake behind.';

export const embeddingsBody = JSON.stringify({
  model: 'bge-large-en-v1.5',
  input: passage,
  encoding_format: 'base64',
});

const vector = Float32Array.from({ length: 1024 }, (_, at) => Math.sin(at * 12.9898) / 32);

export const embeddingsText =
  '{"id":"embd-5f0c6c1e9d7b4a3f8e2d1c0b9a887766","object":"list","created":1795132800,"model":"bge-large-en-v1.5","data":[{"index":0,' +
  `"object":"embedding","embedding":"${Buffer.from(vector.buffer).toString('base64')}"}],` +
  '"usage":{"prompt_tokens":52,"total_tokens":52,"completion_tokens":0,"prompt_tokens_details":null}}';
