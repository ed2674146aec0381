import { invalidField, isObject, type UpstreamRequest } from '../../../src/plugin.ts';
import { BedrockStream, bedrockReply } from './bedrock.ts';
import { googleMessage, googleStatus } from './google.ts';
import { forMistral, mistralMessage } from './mistral.ts';
import type { Parameter, Preset } from './preset.ts';

const penalties = ['presence_penalty', 'frequency_penalty'] as const;
const logprobs = ['logprobs', 'top_logprobs'] as const;
const usual = ['top_p', 'response_format', 'tool_choice'] as const;
/** What OpenAI's own API takes. */
const all: readonly Parameter[] = [
  ...usual,
  ...penalties,
  ...logprobs,
  'parallel_tool_calls',
  'user',
  'prompt_cache_key',
  'seed',
  'logit_bias',
];

/** Efforts as most servers with open models know them. */
const fewEfforts = ['none', 'low', 'medium', 'high'] as const;

/** A request without `tool_choice`, for a server that ignores it: without tools none is called, and none can be forced. */
function withoutToolChoice(encoded: UpstreamRequest): UpstreamRequest {
  const { tool_choice: choice, tools, ...body } = encoded.body;
  if (choice !== undefined && choice !== 'auto' && choice !== 'none')
    throw invalidField('tool_choice', 'must be auto or none for this model.');
  return { ...encoded, body: tools === undefined || choice === 'none' ? body : { ...body, tools } };
}

/** Servers that speak OpenAI's chat completions, by their documents as of November 2026. */
export const presets: readonly Preset[] = [
  {
    name: 'azure',
    title: 'Azure OpenAI',
    source: 'https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle',
    address: 'https://RESOURCE.openai.azure.com/openai/v1',
    key_env: 'AZURE_OPENAI_API_KEY',
    providerName: 'azure.ai.openai',
    takes: all,
    extra_parameters: ['verbosity', 'prediction'],
    // A deployment's name does not say whether its model rejects `max_tokens`; no OpenAI model rejects the other.
    usesCompletionCap: true,
    // Tokens of Entra ID are JSON Web Tokens, keys of a resource are not.
    credential: key => (key.startsWith('eyJ') ? { authorization: `Bearer ${key}` } : { 'api-key': key }),
  },
  {
    name: 'gemini',
    title: 'Gemini API',
    source: 'https://ai.google.dev/gemini-api/docs/openai',
    base_url: 'https://generativelanguage.googleapis.com/v1beta/openai',
    key_env: 'GEMINI_API_KEY',
    providerName: 'gcp.gemini',
    // Any other is 400 `Unknown name`.
    takes: usual,
    signsCalls: true,
    errorStatus: googleStatus,
    errorMessage: googleMessage,
  },
  {
    name: 'vertex',
    title: 'Vertex AI',
    source:
      'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/call-gemini-using-openai-library',
    address:
      'https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/endpoints/openapi',
    providerName: 'gcp.vertex_ai',
    takes: [...usual, ...penalties, 'seed'],
    signsCalls: true,
    errorStatus: googleStatus,
    errorMessage: googleMessage,
  },
  {
    name: 'bedrock',
    title: 'Amazon Bedrock',
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html',
    address: 'https://bedrock-runtime.REGION.amazonaws.com/openai/v1',
    key_env: 'AWS_BEARER_TOKEN_BEDROCK',
    providerName: 'aws.bedrock',
    takes: [...usual, ...penalties, ...logprobs, 'parallel_tool_calls', 'seed', 'logit_bias', 'user'],
    usesCompletionCap: true,
    decodeReply: bedrockReply,
    openStream: () => new BedrockStream(),
  },
  {
    name: 'mistral',
    title: 'Mistral',
    source: 'https://docs.mistral.ai/api/endpoint/chat',
    base_url: 'https://api.mistral.ai/v1',
    key_env: 'MISTRAL_API_KEY',
    providerName: 'mistral_ai',
    takes: [...usual, ...penalties, 'parallel_tool_calls', 'seed'],
    extra_parameters: ['prediction'],
    efforts: fewEfforts,
    reasoningName: 'reasoning_content',
    adjust: forMistral,
    errorMessage: mistralMessage,
  },
  {
    name: 'deepseek',
    title: 'DeepSeek',
    source: 'https://api-docs.deepseek.com/guides/thinking_mode',
    base_url: 'https://api.deepseek.com',
    key_env: 'DEEPSEEK_API_KEY',
    takes: [...usual, ...penalties, ...logprobs],
    isSingle: true,
    lacksFormat: 'json_schema',
    reasoningName: 'reasoning_content',
    effort: effort =>
      effort === 'none'
        ? { thinking: { type: 'disabled' } }
        : { thinking: { type: 'enabled' }, reasoning_effort: effort },
  },
  {
    name: 'groq',
    title: 'Groq',
    source: 'https://console.groq.com/docs/openai',
    base_url: 'https://api.groq.com/openai/v1',
    key_env: 'GROQ_API_KEY',
    takes: [...usual, ...penalties, 'parallel_tool_calls', 'user', 'seed'],
    isSingle: true,
    reasoningName: 'reasoning',
  },
  {
    name: 'together',
    title: 'Together AI',
    source: 'https://docs.together.ai/reference/chat-completions',
    base_url: 'https://api.together.xyz/v1',
    key_env: 'TOGETHER_API_KEY',
    // Its `logprobs` is a number, and its reply has them in another form.
    takes: [...usual, ...penalties, 'seed', 'logit_bias'],
    efforts: fewEfforts,
    reasoningName: 'reasoning',
    effort: effort => (effort === 'none' ? { reasoning: { enabled: false } } : { reasoning_effort: effort }),
  },
  {
    name: 'fireworks',
    title: 'Fireworks AI',
    source: 'https://docs.fireworks.ai/api-reference/post-chatcompletions',
    base_url: 'https://api.fireworks.ai/inference/v1',
    key_env: 'FIREWORKS_API_KEY',
    takes: [...usual, ...penalties, ...logprobs, 'parallel_tool_calls', 'user', 'seed', 'logit_bias'],
    extra_parameters: ['prediction'],
    reasoningName: 'reasoning_content',
  },
  {
    name: 'xai',
    title: 'xAI',
    source: 'https://docs.x.ai/docs/guides/reasoning',
    base_url: 'https://api.x.ai/v1',
    key_env: 'XAI_API_KEY',
    providerName: 'x_ai',
    // Its reasoning models refuse penalties and stop sequences.
    takes: [...usual, ...logprobs, 'parallel_tool_calls', 'user', 'seed'],
    adjust: encoded => {
      const { stop, ...body } = encoded.body;
      return stop === undefined ? encoded : { ...encoded, body, ignored: ['stop'] };
    },
    // A wrong key is a 400 here.
    errorStatus: (status, body) => {
      const error = isObject(body) ? body.error : undefined;
      return status === 400 && typeof error === 'string' && /incorrect api key/i.test(error) ? 401 : status;
    },
  },
  {
    name: 'cerebras',
    title: 'Cerebras',
    source: 'https://inference-docs.cerebras.ai/resources/openai',
    base_url: 'https://api.cerebras.ai/v1',
    key_env: 'CEREBRAS_API_KEY',
    // It refuses reasoning in messages.
    takes: [...usual, ...logprobs, 'user', 'seed'],
    isSingle: true,
    usesCompletionCap: true,
  },
  {
    name: 'ollama',
    title: 'Ollama',
    source: 'https://github.com/ollama/ollama/blob/main/docs/api/openai-compatibility.mdx',
    base_url: 'http://127.0.0.1:11434/v1',
    takes: [...usual, ...penalties, 'seed'],
    isSingle: true,
    adjust: withoutToolChoice,
    efforts: fewEfforts,
    reasoningName: 'reasoning',
  },
  {
    name: 'lm-studio',
    title: 'LM Studio',
    source: 'https://lmstudio.ai/docs/developer/openai-compat/chat-completions',
    base_url: 'http://127.0.0.1:1234/v1',
    takes: [...usual, ...penalties, 'seed', 'logit_bias'],
    isSingle: true,
    lacksFormat: 'json_object',
    reasoningName: 'reasoning_content',
  },
  {
    name: 'tgi',
    title: "Hugging Face's Text Generation Inference",
    source: 'https://huggingface.co/docs/text-generation-inference/reference/api_reference',
    address: 'http://127.0.0.1:3000/v1',
    takes: [...usual, ...penalties, ...logprobs, 'seed'],
    isSingle: true,
    efforts: [],
    // A generation that failed is a 424.
    errorStatus: status => (status === 424 ? 500 : status),
  },
];
