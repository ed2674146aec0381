import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { isPretty } from '../../src/telemetry/log.ts';
import { post as postTo } from '../support/chain-app.ts';
import { ask } from '../support/gateway-under-test.ts';
import { PrintingProcess } from '../support/printing-process.ts';
import { configFile, sidecarConfig } from '../support/sidecar-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const serving = /listening on (http:\/\/\S+) \(admin:/;

/** What the log itself writes to be coloured; all other sequences are a client's. */
const colours = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g');

/** Lets SIGUSR2 warn as Node does, and the second one throw where nothing catches. */
const misbehave = `let count = 0; process.on('SIGUSR2', () => {
  if (count++ > 0) throw new Error('nothing catches this');
  process.emitWarning('the weather gets worse', 'DeprecationWarning', 'DEP_TEST');
});`;
const misbehaving = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(misbehave)}` };

let simulator: Simulator;
let started: PrintingProcess | undefined;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());
afterEach(async () => {
  if (!started) return;
  for (const pid of childrenOf(started)) process.kill(pid, 'SIGKILL');
  started.signal('SIGKILL');
  await started.exited;
});

/** What `script` has started, which would outlive it. */
function childrenOf({ pid, hasEnded }: PrintingProcess): number[] {
  if (hasEnded()) return [];
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

/** `sluice` with these arguments; by `script` on a pseudo-terminal. */
function start(
  args: readonly string[],
  environment: Record<string, string> = {},
  isTerminal = false,
  cleanUp?: () => Promise<void>,
): PrintingProcess {
  // Nothing else is inherited: Node finds in NO_COLOR, CI and a dozen more whether to colour.
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const command = [process.execPath, '--conditions=sluice-source', 'src/cli/sidecar.ts', ...args];
  const [name = '', ...rest] = isTerminal
    ? ['script', '-qefc', `exec ${command.join(' ')}`, '/dev/null']
    : command;
  const env = { PATH, NODE_COMPILE_CACHE, TERM: 'xterm-256color', ...environment };
  started = new PrintingProcess(name, rest, { cwd: root, env }, cleanUp);
  return started;
}

async function served(
  log: GatewayConfig['log'],
  environment: Record<string, string> = {},
  isTerminal = false,
): Promise<{ running: PrintingProcess; post(headers?: Record<string, string>): Promise<Response> }> {
  const { file, remove } = await configFile(stringify(sidecarConfig(simulator.url, { log })));
  const running = start(['--config', file], environment, isTerminal, remove);
  const [, url] = await running.printed(serving);
  const post = (headers = {}) => postTo(`${url}/v1/chat/completions`, ask('Hello?'), headers);
  return { running, post };
}

const linesOf = ({ stdout }: PrintingProcess): string[] => stdout.split('\n').slice(0, -1);

describe('a terminal', () => {
  it('shows one coloured line each, which nothing that a client sends can break or control', async () => {
    const { running, post } = await served({ level: 'debug' }, {}, true);
    await post({ 'x-request-id': 'req-tty' });
    await running.printed(/INFO .*POST \/v1\/chat\/completions 200.*req-tty.*\r\n/);
    expect(running.stdout).toContain('\u001b[32mINFO \u001b[39m');
    const before = running.stdout.length;
    await post({ 'content-type': 'text/\u009b2Jplain' });
    await running.printed(/POST \/v1\/chat\/completions 400.*\r\n/);
    const shown = running.stdout.slice(before).replaceAll(colours, '').split('\r\n');
    expect(shown.slice(0, -1).filter(line => !/^\d\d:\d\d:\d\d\.\d{3} (DEBUG|INFO|WARN)/.test(line))).toEqual(
      [],
    );
    expect(shown.join('').match(/\p{Cc}|\p{Cf}/gu)).toBeNull();
    expect(shown.join('')).toContain('\\u009b2jplain');
  });

  it('shows JSON when the configuration says so', () => {
    const { isTTY } = process.stdout;
    process.stdout.isTTY = true;
    expect([isPretty('auto'), isPretty('json'), isPretty('pretty')]).toEqual([true, false, true]);
    process.stdout.isTTY = isTTY;
  });

  it('shows the demo what to try, and no colours with NO_COLOR', async () => {
    const running = start(['--port', '0', '--admin-port', '0'], { NO_COLOR: '1' }, true);
    const [, url, key] = await running.printed(/curl -N (\S+) .*?Bearer (sk-demo-\S+)'.*Ctrl-C/s);
    const reply = await fetch(url!, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask('Hello?')),
    });
    expect(reply.status).toBe(200);
    expect(running.stdout).toMatch(/^Next: open \S+\/dashboard\/ \(name demo, password [\w-]+\), or paste/m);
    expect(running.stdout).not.toContain('\u001b');
  });

  it('shows the demo below its log line what it shows on standard error elsewhere', async () => {
    const demo = ['--port', '0', '--admin-port', '0'];
    const onTerminal = start(demo, { NO_COLOR: '1' }, true);
    await onTerminal.printed(/Ctrl-C stops it\.\r\n\r\n/);
    const elsewhere = new PrintingProcess(process.execPath, [
      '--conditions=sluice-source',
      'src/cli/sidecar.ts',
      ...demo,
    ]);
    await elsewhere.printed(/Ctrl-C stops it\.\n\n/);
    elsewhere.signal('SIGINT');
    await elsewhere.exited;
    const [line = '', ...text] = onTerminal.stdout.split('\r\n');
    expect(line).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}sluice is listening on http:\S+ \(admin: http:\S+\)$/,
    );
    expect(alike(text.join('\n'))).toBe(alike(elsewhere.stderr));
    // Programs read all of it in the line.
    const logged = elsewhere.stdout.trim().split('\n');
    expect(logged).toEqual([expect.stringMatching(/^\{.*"key":"sk-demo-.*"msg":"sluice is listening on /)]);
  });
});

/** What the demo says, without what is new in each run. */
const alike = (text: string) =>
  text
    .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')
    .replaceAll(/sk-demo-[\w-]+/g, 'KEY')
    .replace(/password [\w-]+/, 'password');

describe('standard output that is no terminal', () => {
  it('is JSON line by line, with warnings of Node, an error that nothing catches and a collector that is down', async () => {
    const dead = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      OTEL_LOG_LEVEL: 'info',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    };
    const { running, post } = await served({ level: 'info' }, { ...misbehaving, ...dead });
    expect((await post()).status).toBe(200);
    await running.printed(/ECONNREFUSED/);
    running.signal('SIGUSR2');
    await running.printed(/the weather gets worse/);
    running.signal('SIGUSR2');
    expect(await running.exited).toBe(1);
    const lines = linesOf(running).map(line => JSON.parse(line));
    for (const line of lines)
      expect(line).toMatchObject({
        level: expect.any(Number),
        time: expect.any(String),
        msg: expect.any(String),
      });
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          msg: expect.stringMatching(serving),
          url: expect.stringContaining('http'),
        }),
        expect.objectContaining({ msg: 'POST /v1/chat/completions 200', account: 'tester' }),
        expect.objectContaining({ level: 40, diagnostic: expect.objectContaining({ code: 'ECONNREFUSED' }) }),
        expect.objectContaining({
          level: 40,
          msg: 'Node warns: the weather gets worse',
          err: expect.objectContaining({ code: 'DEP_TEST' }),
        }),
        expect.objectContaining({
          level: 60,
          origin: 'uncaughtException',
          err: expect.objectContaining({
            message: 'nothing catches this',
            stack: expect.stringContaining('at '),
          }),
        }),
      ]),
    );
    expect(running.stderr).toBe('');
  });

  it('has the address alone at level silent, and standard error what nothing catches, even if it cannot be read', async () => {
    const odd = "process.on('SIGUSR2', () => { throw Object.create(null); })";
    const import_odd = `--import=data:text/javascript,${encodeURIComponent(odd)}`;
    const { running, post } = await served({ level: 'silent' }, { NODE_OPTIONS: import_odd });
    await post();
    running.signal('SIGUSR2');
    expect(await running.exited).toBe(1);
    expect(linesOf(running).map(line => JSON.parse(line).msg)).toEqual([expect.stringMatching(serving)]);
    expect(running.stderr).toBe('an error that cannot be read\n');
  });

  it('is for people when the configuration says so, without colours, and without lines of success that log.sample leaves out', async () => {
    const { running, post } = await served({ level: 'info', format: 'pretty', sample: 0 });
    await post({ 'x-request-id': 'req-success' });
    await post({ 'x-request-id': 'req-refused', authorization: 'Bearer wrong' });
    await simulator.close();
    await post({ 'x-request-id': 'req-failure' });
    await running.printed(/ \w+ +POST \/v1\/chat\/completions 502 .*request_id=req-failure .*\n/);
    for (const none of ['req-success', 'req-refused', '\u001b']) expect(running.stdout).not.toContain(none);
  });
});
