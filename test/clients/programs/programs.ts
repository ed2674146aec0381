/** Where a program connects to. */
export interface Place {
  /** With `/v1`. */
  readonly url: string;
  readonly key: string;
}

/** A client that is installed for a run only, as it is too large or has other dependencies than this project. */
export interface Program {
  readonly client: string;
  /** Packages with their versions, the client's own first. */
  readonly packages: readonly string[];
  readonly endpoint: '/v1/chat/completions' | '/v1/responses' | '/v1/messages';
  /** Why it is not a dev dependency. */
  readonly why: string;
  /** A setting of the gateway that it needs. */
  readonly needs?: string;
  /** Not part of a run unless it is named. */
  readonly large?: true;
  /** Files of the working folder, by path; `~` is the home folder. */
  files(place: Place): Readonly<Record<string, string>>;
  environment(place: Place): Readonly<Record<string, string>>;
  /** The program in the folder of its packages, and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Its standard input; empty if not set. */
  readonly input?: string;
  /** What its output has when it has worked, if it calls no tool. */
  readonly answer?: RegExp;
  /** Without its optional packages, which others do not need. */
  readonly omits_optional?: true;
  /** A driver can be asked one question of the environment, without a tool. */
  readonly is_driver?: true;
}

/** What is asked for where a client lets one choose. */
export const model = 'aion-labs/aion-3.5';
const node = 'node';
const command = 'expr 190 + 1';

/** A prompt for which the simulated model calls this tool of the program's own, and then says what it returned. */
const calling = (tool: string, args: object): string =>
  `Add 190 and 1. [[sim:tool=${tool} args=${JSON.stringify(args)}]]`;

const codexOf = (tool: string, args: object) =>
  [
    node,
    'node_modules/@openai/codex/bin/codex.js',
    ...['exec', '--json', '--skip-git-repo-check', '--sandbox', 'danger-full-access'],
    calling(tool, args),
  ] as const;
/** OpenAI's models call the tools of Codex by way of JavaScript. */
const codexScript = `text((await tools.exec_command({ cmd: '${command}' })).output)`;

const json = (value: object): string => JSON.stringify(value, null, 2);

const driven = (name: string, api = '') => ({
  files: () => ({}),
  environment: ({ url, key }: Place) => ({
    CLIENT_URL: url,
    CLIENT_KEY: key,
    CLIENT_API: api,
    CLIENT_PROMPT: calling('add', { left: 190, right: 1 }),
  }),
  command: [node, `${name}.mjs`] as const,
  is_driver: true as const,
});

const codex = {
  packages: ['@openai/codex@0.169.0'],
  endpoint: '/v1/responses',
  why: '400 MB',
} as const;
/** As it runs against OpenAI. */
const codexOfOpenAi = {
  ...codex,
  needs: 'responses.websocket: true, aliases',
  environment: ({ key }: Place) => ({ CODEX_API_KEY: key }),
  command: codexOf('functions__exec', { input: codexScript }),
};

const strands = {
  client: 'Strands Agents',
  packages: ['@strands-agents/sdk@1.19.0', 'openai@6.49.0', 'zod@4.6.7'],
  why: 'its peers are other versions of OpenTelemetry and `openai`',
};

/** All programs, by the name that the script takes. */
export const programs: Readonly<Record<string, Program>> = {
  codex: {
    ...codex,
    client: 'Codex CLI',
    files: ({ url }) => ({
      '~/.codex/config.toml': `model = "${model}"
model_provider = "sluice"
[model_providers.sluice]
name = "sluice"
base_url = "${url}"
env_key = "SLUICE_KEY"
wire_api = "responses"
`,
    }),
    environment: ({ key }) => ({ SLUICE_KEY: key }),
    command: codexOf('exec_command', { cmd: command }),
  },
  'codex-openai': {
    ...codexOfOpenAi,
    client: 'Codex CLI as for OpenAI',
    files: ({ url }) => ({ '~/.codex/config.toml': `openai_base_url = "${url}"\n` }),
  },
  'codex-compacting': {
    ...codexOfOpenAi,
    client: 'Codex CLI that compacts',
    files: ({ url }) => ({
      '~/.codex/config.toml': `openai_base_url = "${url}"\nmodel_auto_compact_token_limit = 5000\n`,
    }),
    // The simulated model says what it was asked last.
    answer: /Summary of the conversation/,
  },
  'claude-code': {
    client: 'Claude Code',
    packages: ['@anthropic-ai/claude-code@2.1.332'],
    endpoint: '/v1/messages',
    why: '380 MB',
    needs: 'messages.enabled: true',
    files: () => ({}),
    environment: ({ url, key }) => ({
      ANTHROPIC_BASE_URL: url.replace(/\/v1$/, ''),
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_SMALL_FAST_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    command: [
      `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
      ...['--print', '--verbose', '--output-format', 'stream-json', '--allowed-tools', 'Bash'],
    ],
    input: calling('Bash', { command, description: 'Adds.' }),
  },
  qwen: {
    client: 'Qwen Code',
    packages: ['@qwen-code/qwen-code@0.24.4'],
    endpoint: '/v1/chat/completions',
    why: 'a program',
    files: () => ({}),
    environment: ({ url, key }) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: key, OPENAI_MODEL: model }),
    command: [
      node,
      'node_modules/@qwen-code/qwen-code/cli.js',
      ...['--auth-type', 'openai', '--yolo', '--output-format', 'json', '--prompt'],
      calling('run_shell_command', { command, is_background: false, description: 'Adds.' }),
    ],
  },
  opencode: {
    client: 'opencode',
    packages: ['opencode-ai@1.18.33'],
    endpoint: '/v1/chat/completions',
    why: '350 MB',
    files: ({ url, key }) => ({
      'opencode.json': json({
        model: `sluice/${model}`,
        small_model: `sluice/${model}`,
        autoupdate: false,
        share: 'disabled',
        provider: {
          sluice: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: url, apiKey: key },
            models: { [model]: { name: 'Aion 3.5', reasoning: true, tool_call: true } },
          },
        },
      }),
    }),
    environment: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' }),
    command: [
      `node_modules/opencode-${process.platform}-${process.arch}/bin/opencode`,
      ...['run', '--format', 'json', '--thinking'],
    ],
    // It escapes the quotes of a prompt that is an argument.
    input: calling('bash', { command, description: 'Adds.' }),
  },
  continue: {
    client: 'Continue CLI',
    packages: ['@continuedev/cli@1.5.47'],
    endpoint: '/v1/chat/completions',
    why: '80 MB',
    files: ({ url, key }) => ({
      'config.yaml': `name: sluice
version: 1.0.0
schema: v1
models:
  - name: aion
    provider: openai
    model: ${model}
    apiBase: ${url}
    apiKey: ${key}
    roles: [chat]
    capabilities: [tool_use]
`,
    }),
    environment: () => ({ CONTINUE_TELEMETRY_ENABLED: '0' }),
    command: [
      node,
      'node_modules/@continuedev/cli/dist/cn.js',
      ...['--config', 'config.yaml', '--auto', '--print'],
      calling('Bash', { command }),
    ],
  },
  promptfoo: {
    client: 'promptfoo',
    packages: ['promptfoo@0.123.1'],
    endpoint: '/v1/chat/completions',
    why: '1.9 GB',
    large: true,
    files: ({ url, key }) => ({
      'promptfooconfig.yaml': json({
        prompts: ['Hello [[sim:say=Rivers bend.]]'],
        providers: [{ id: `openai:chat:${model}`, config: { apiBaseUrl: url, apiKey: key } }],
        tests: [{ assert: [{ type: 'contains', value: 'Rivers bend.' }] }],
      }),
    }),
    environment: () => ({ PROMPTFOO_DISABLE_TELEMETRY: '1', PROMPTFOO_DISABLE_UPDATE: '1' }),
    command: [
      node,
      'node_modules/promptfoo/dist/src/entrypoint.js',
      ...['eval', '--no-cache', '--no-progress-bar'],
    ],
    answer: /Rivers bend\./,
  },
  'openai-4': {
    client: 'OpenAI SDK, two versions back',
    packages: ['openai@4.104.0'],
    endpoint: '/v1/chat/completions',
    why: 'its dependencies are of other versions',
    ...driven('openai-4'),
  },
  'strands-chat': { ...strands, endpoint: '/v1/chat/completions', ...driven('strands', 'chat') },
  'strands-responses': { ...strands, endpoint: '/v1/responses', ...driven('strands', 'responses') },
  genkit: {
    client: 'Genkit',
    packages: ['genkit@1.42.0', '@genkit-ai/compat-oai@1.42.0', '@cfworker/json-schema@4.1.6'],
    endpoint: '/v1/chat/completions',
    why: '700 MB with its optional packages, 100 MB without',
    omits_optional: true,
    ...driven('genkit'),
  },
  mastra: {
    client: 'Mastra',
    packages: ['@mastra/core@1.71.0', 'zod@4.6.7'],
    endpoint: '/v1/chat/completions',
    why: '140 MB',
    ...driven('mastra'),
  },
  llamaindex: {
    client: 'LlamaIndex',
    packages: [
      '@llamaindex/openai@0.4.23',
      '@llamaindex/core@0.6.23',
      '@llamaindex/env@0.1.31',
      '@llamaindex/workflow@1.1.25',
    ],
    endpoint: '/v1/chat/completions',
    why: 'its packages are deprecated and name no licence',
    ...driven('llamaindex'),
  },
};
