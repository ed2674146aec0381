import { execFile } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { exitCodeOf } from '../../src/cli/command.ts';
import { initCommand } from '../../src/cli/init-command.ts';
import { throwMistakes } from '../../src/cli/program.ts';
import { loadConfig } from '../../src/config/load.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { freePort } from '../support/free-port.ts';
import { pathOf } from '../support/programs.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

const key = 'sk-canary-of-the-provider';
const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;
let file: string;
let simulator: Simulator;
const upstreams: ScriptedUpstream[] = [];

beforeAll(async () => {
  simulator = await startSimulator({ api_key: key, models: ['Qwen/Qwen3-8B', 'plain'] });
  process.env.INIT_TEST_KEY = key;
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-init-'));
  file = join(folder, 'sluice.yaml');
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await Promise.all(upstreams.splice(0).map(upstream => upstream.close()));
});
afterAll(async () => {
  delete process.env.INIT_TEST_KEY;
  await simulator.close();
});

interface Done {
  readonly code: number;
  readonly message: string;
  readonly printed: string;
  /** Remarks and questions. */
  readonly shown: string;
}

/** Runs the command; with `answers` on a terminal, which ends after the last of them. */
async function init(args: readonly string[], answers?: readonly string[]): Promise<Done> {
  const [printed, shown]: [string[], string[]] = [[], []];
  const voice = {
    print: (text: string) => void printed.push(text),
    remark: (text: string) => void shown.push(text),
  };
  const input = Object.assign(new PassThrough(), { isTTY: answers !== undefined });
  const left = [...(answers ?? [])];
  const output = new PassThrough().on('data', question => {
    shown.push(String(question));
    const answer = left.shift();
    if (answer === undefined) input.end();
    else input.write(`${answer}\n`);
  });
  const command = initCommand(voice, { input, output });
  throwMistakes(command, voice.print);
  const done = (code: number, message = '') => ({
    code,
    message,
    printed: printed.join('\n'),
    shown: shown.join('\n'),
  });
  return command.parseAsync([file, ...args], { from: 'user' }).then(
    () => done(0),
    (thrown: Error) => done(exitCodeOf(thrown), thrown.message),
  );
}

const byOptions = () => ['--adapter', 'vllm', '--url', simulator.url, '--key-env', 'INIT_TEST_KEY'];

/** A server with these models. */
async function listing(data: readonly object[]): Promise<string> {
  const upstream = await startScriptedUpstream(whole(200, { object: 'list', data }));
  upstreams.push(upstream);
  return upstream.url;
}

const modelsIn = async () => (await loadConfig(file)).models;

describe('sluice init', () => {
  it('writes a configuration by options alone that passes the check, with what the server reports', async () => {
    const { code, printed, shown } = await init([...byOptions(), '--yes']);
    expect(code).toBe(0);
    expect((await modelsIn()).map(({ id, context_length }) => [id, context_length])).toEqual([
      ['Qwen/Qwen3-8B', 262_144],
      ['vllm/plain', 262_144],
    ]);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('api_key: ${INIT_TEST_KEY}');
    expect(text).toContain('# not reported by the server: nothing is charged until these are set');
    expect(text + printed + shown).not.toContain('canary');
    expect(printed).not.toContain('export INIT_TEST_KEY');
  });

  it('prints commands that lead to a streamed reply when they are pasted', async () => {
    pathOf('curl');
    const { printed } = await init([...byOptions(), '--models', 'plain', '--yes']);
    const port = await freePort();
    appendFileSync(file, `\nserver: { port: ${port} }\nadmin: { port: 0 }\n`);
    const program = `#!/bin/sh\nexec '${process.execPath}' --conditions=sluice-source ${root}src/cli/sidecar.ts "$@"\n`;
    writeFileSync(join(folder, 'sluice'), program, { mode: 0o700 });
    const commands = `${printed.replace(':8080/', `:${port}/`)}\nkill $!; wait`;
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
    const { stdout } = await promisify(execFile)('bash', ['-c', commands], { cwd: folder, env });
    expect(stdout).toContain('"object":"chat.completion.chunk"');
    expect(stdout).toContain('data: [DONE]');
  });

  it('asks on a terminal for what the options do not say', async () => {
    const { code, shown } = await init([], ['vllm', simulator.url.replace('/v1', ''), 'INIT_TEST_KEY', '2']);
    expect({ code, shown }).toMatchObject({ code: 0, shown: expect.stringMatching(/ 1 {2}vLLM|1 {2}vLLM/) });
    expect((await modelsIn()).map(({ id }) => id)).toEqual(['vllm/plain']);
  });

  it('asks again for an answer that it cannot use, and writes nothing when the terminal ends', async () => {
    const { code, message, shown } = await init([], ['99', 'vllm', 'nowhere', simulator.url, key]);
    expect({ code, message }).toEqual({ code: 1, message: '\nended without an answer; nothing was written' });
    expect(shown).toContain('Write a number from 1 to 16, or a name: vllm, sglang,');
    expect(shown).toContain('Write an address with http:// or https://');
    expect(shown).toContain('is no name of a variable');
    expect(existsSync(file)).toBe(false);
  });

  it('lets people search a server of hundreds of models, and wants names without a terminal', async () => {
    const data = Array.from({ length: 300 }, (_, at) => ({ id: `maker${at % 10}/model-${at}` }));
    const url = await listing(data);
    const options = ['--adapter', 'openrouter', '--url', url, '--key-env', 'INIT_TEST_KEY'];
    expect(await init([...options, '--yes'])).toMatchObject({
      code: 1,
      message: expect.stringMatching(/lists 300 models; name those that you want: --models A,B/),
    });
    const { shown } = await init(options, ['no such', 'maker7', '2,maker3/model-3']);
    expect(shown).toMatch(/300 models:[\s\S]*and 280 more[\s\S]*30 of 300 models:/);
    expect((await modelsIn()).map(({ id }) => id)).toEqual(['maker7/model-17', 'maker3/model-3']);
    expect(await init([...options, '--force', '--models', 'maker7/modal-299'])).toMatchObject({
      code: 1,
      message: expect.stringContaining("no model 'maker7/modal-299'; did you mean"),
    });
  });

  it('takes the prices and lengths that OpenRouter reports', async () => {
    const model = {
      id: 'maker/large',
      name: 'Maker: Large',
      created: 1_750_000_000,
      context_length: 131_072,
      top_provider: { max_completion_tokens: 32_768 },
      pricing: { prompt: '0.0000002', completion: '0.0000006' },
      supported_parameters: ['tools'],
    };
    const url = await listing([model]);
    await init(['--adapter', 'openrouter', '--url', url, '--key-env', 'INIT_TEST_KEY', '--yes']);
    expect(await modelsIn()).toMatchObject([
      {
        id: 'maker/large',
        name: 'Maker: Large',
        context_length: 131_072,
        max_completion_tokens: 32_768,
        pricing: { prompt: '0.0000002', completion: '0.0000006' },
        tool_calls: true,
      },
    ]);
  });

  it('takes names of a server as they are, whatever they would mean in a configuration, and none with control characters', async () => {
    process.env.INIT_TEST_SECRET = 'canary of the environment';
    const url = await listing([
      { id: '${INIT_TEST_SECRET}' },
      { id: 'v/x', name: '${file:/etc/hostname}' },
      { id: '/models/a b.gguf' },
      { id: 'v/\u001b[2J' },
      { id: 'v/y', name: 'key: [' },
      { id: '/other/a-b.gguf' },
    ]);
    const { shown, code, message } = await init(
      ['--adapter', 'llama-cpp', '--url', url, '--key-env', 'INIT_TEST_KEY'],
      ['all'],
    );
    delete process.env.INIT_TEST_SECRET;
    expect([code, message]).toEqual([0, '']);
    expect(shown).not.toContain('\u001b');
    expect((await modelsIn()).map(({ id, name, upstreams }) => [id, name, upstreams[0]!.model])).toEqual([
      ['llama-cpp/${INIT_TEST_SECRET}', '${INIT_TEST_SECRET}', '${INIT_TEST_SECRET}'],
      ['v/x', '${file:/etc/hostname}', 'v/x'],
      ['llama-cpp/a-b.gguf', 'a b.gguf', '/models/a b.gguf'],
      ['v/y', 'key: [', 'v/y'],
      ['llama-cpp/a-b.gguf-2', 'a-b.gguf', '/other/a-b.gguf'],
    ]);
  });

  it('says why a server cannot be asked and writes nothing, unless it is told not to ask', async () => {
    const refused = await init([
      '--adapter',
      'vllm',
      '--url',
      simulator.url,
      '--key-env',
      'INIT_TEST_UNSET',
      '--yes',
    ]);
    expect(refused).toMatchObject({
      code: 1,
      message: expect.stringMatching(/answered 401[\s\S]*INIT_TEST_UNSET=/),
    });
    expect((await init(['--adapter', 'vllm', '--url', simulator.url, '--yes'])).message).toMatch(
      /none was sent: give it one\n.*--key-env NAME/,
    );
    const nowhere = ['--adapter', 'vllm', '--url', 'http://127.0.0.1:1', '--yes'];
    const { code, message } = await init(nowhere);
    expect(code).toBe(1);
    expect(message).toMatch(
      /127\.0\.0\.1:1\/v1 could not be asked for its models: nothing listens[\s\S]*--offline/,
    );
    expect(existsSync(file)).toBe(false);
    expect((await init([...nowhere, '--offline', '--models', 'a,b'])).code).toBe(0);
    expect((await modelsIn()).map(({ id }) => id)).toEqual(['vllm/a', 'vllm/b']);
  });

  it('replaces no file without --force', async () => {
    writeFileSync(file, 'mine\n');
    expect(await init([...byOptions(), '--yes'])).toMatchObject({
      code: 1,
      message: expect.stringContaining('exists already; --force replaces it'),
    });
    expect(readFileSync(file, 'utf8')).toBe('mine\n');
    expect((await init([...byOptions(), '--yes', '--force'])).code).toBe(0);
    expect(await modelsIn()).toHaveLength(2);
  });

  it('asks at the port that PORT of the environment gives the gateway', async () => {
    process.env.PORT = '9123';
    const { printed } = await init(['--adapter', 'vllm', '--offline', '--yes']);
    delete process.env.PORT;
    expect(printed).toContain('http://127.0.0.1:9123/v1/chat/completions');
  });

  it('takes another port than a llama.cpp that has the usual one', async () => {
    const { printed } = await init(['--adapter', 'llama-cpp', '--offline', '--yes']);
    expect((await loadConfig(file)).server.port).toBe(8090);
    expect(printed).toContain('http://127.0.0.1:8090/v1/chat/completions');
  });

  it.each<[string, string[], RegExp]>([
    [
      'no adapter where it cannot ask',
      ['--yes'],
      /--adapter is needed: vllm, sglang, llama-cpp, openrouter, openai, anthropic/,
    ],
    ['an unknown adapter', ['--adapter', 'vlm'], /Allowed choices are vllm,/],
    [
      'an address with a password',
      ['--adapter', 'vllm', '--url', 'http://u:canary@h/', '--yes'],
      /--url must be/,
    ],
    [
      'a key in the place of its variable',
      ['--adapter', 'vllm', '--key-env', key],
      /--key-env must be the name/,
    ],
    ['no names', ['--adapter', 'vllm', '--models', ','], /--models must be names/],
  ])('ends with the code 2 for %s, which it does not repeat', async (_, args, says) => {
    const { code, message } = await init(args);
    expect({ code, message }).toEqual({ code: 2, message: expect.stringMatching(says) });
    expect(message).not.toContain('canary');
  });
});
