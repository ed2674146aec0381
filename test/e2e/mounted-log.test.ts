import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/config/example-models.ts';
import { auth, createChain, type Logger, validation } from '../../src/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { type CapturedLog, capturedLog } from '../support/captured-log.ts';
import { post } from '../support/chain-app.ts';
import { startApp } from '../support/express-app.ts';
import { ask } from '../support/gateway-under-test.ts';
import { closeMounted, mountable } from '../support/mounted-gateway.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator();
});
afterEach(async () => {
  await closeMounted();
  await simulator.close();
});

/** winston's argument order. */
interface MessageFirst {
  log(level: string, message: string, fields: object): void;
  isLevelEnabled(level: string): boolean;
}

/** As docs/reference/in-code.md has it in a line, with the level asked first. */
const wrapped = (winston: MessageFirst) => {
  const at = (level: string) => (fields: object, message: string) => winston.log(level, message, fields);
  const levels = { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
  return { ...levels, isLevelEnabled: (level: string) => winston.isLevelEnabled(level) };
};

it('logs to a logger that takes the message first, through a wrapper', async () => {
  const lines: unknown[] = [];
  const winston: MessageFirst = {
    log: (level, message, fields) => void lines.push([level, message, fields]),
    isLevelEnabled: level => level !== 'debug',
  };
  const gateway = await mountable(simulator, {}, { log: wrapped(winston) });
  const app = await startApp(app => app.set('trust proxy', true).use(gateway));
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  await (await post(`${app.url}/v1/chat/completions`, ask('Hello?'), headers)).text();
  expect(lines).toContainEqual([
    'info',
    'POST /v1/chat/completions 200',
    expect.objectContaining({
      request_id: expect.stringMatching(/^req_/),
      status: 200,
      account: 'tester',
      // By Express's own setting.
      client_address: '203.0.113.9',
    }),
  ]);
});

it('answers while the logger of the application throws', async () => {
  const thrower = () => {
    throw new Error('the disk is full');
  };
  const log = { error: thrower, warn: thrower, info: thrower, debug: thrower };
  const gateway = await mountable(simulator, {}, { log });
  const app = await startApp(app => app.use(gateway));
  const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?'));
  expect([reply.status, await reply.json()]).toMatchObject([200, { object: 'chat.completion' }]);
  await gateway.close();
});

it('rejects a logger whose children cannot be used before anything starts', async () => {
  const log = { ...console, child: () => null };
  const message =
    /log: must have a method child that returns a logger; an object is needed, not null in what/;
  await expect(mountable(simulator, {}, { log } as never)).rejects.toThrow(message);
  expect(() => createChain([auth()], { log } as never)).toThrow(message);
});

describe('a share of the lines of successful and refused exchanges', () => {
  /** Ids of the exchanges that have a line, after one that succeeds, one that is refused and one that fails. */
  async function logged(url: string, { lines }: CapturedLog): Promise<unknown[]> {
    const path = `${url}/v1/chat/completions`;
    await (await post(path, ask('Hello?'), { 'x-request-id': 'success' })).text();
    await (await post(path, ask('Hello?', { max_tokens: 0 }), { 'x-request-id': 'refused' })).text();
    await (await post(path, ask('Hello [[sim:status=503]]'), { 'x-request-id': 'failure' })).text();
    const ids = () => lines.filter(line => 'end_reason' in line).map(({ request_id }) => request_id);
    await until(() => ids().includes('failure'));
    return ids();
  }

  it("is written to the application's logger by a gateway with log.sample", async () => {
    const captured = capturedLog();
    const gateway = await mountable(simulator, { log: { sample: 0 } }, { log: captured.log as Logger });
    const app = await startApp(app => app.use(gateway));
    expect(await logged(app.url, captured)).toEqual(['failure']);
  });

  it.each([
    [0, ['failure']],
    [1, ['success', 'refused', 'failure']],
  ])('is written by a chain with log_sample: %d', async (log_sample, expected) => {
    const captured = capturedLog();
    const app = await startApp(app => {
      const options = { models: defaultModels('handler'), log: captured.log as Logger, log_sample };
      app.use(createChain([validation()], options), (request, response) => {
        response.status(request.headers['x-request-id'] === 'failure' ? 503 : 200).json({ choices: [] });
      });
    });
    expect(await logged(app.url, captured)).toEqual(expected);
  });
});
