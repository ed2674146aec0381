import { afterEach, expect, it } from '@jest/globals';
import { createChain, createGateway, defineStage } from '../../src/index.ts';
import { closed } from '../fixtures/stages/answering.ts';
import { answeringGateway } from '../support/answering.ts';
import { post } from '../support/chain-app.ts';
import { closeApps } from '../support/express-app.ts';
import { ask } from '../support/gateway-under-test.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

it('closes the stages of a gateway once, after its last exchange', async () => {
  // Of other files: the stage is one module for all of them.
  closed.length = 0;
  let finish = () => {};
  let isAsked = false;
  const app = await answeringGateway(() => {
    isAsked = true;
    return new Promise(resolve => (finish = () => resolve(undefined)));
  });
  const reply = post(`${app.url}/v1/chat/completions`, ask('Hello?'));
  await until(() => isAsked);
  const closing = app.close();
  expect(closed).toEqual([]);
  finish();
  expect((await reply).status).toBe(200);
  await closing;
  expect(closed).toHaveLength(1);
});

it('closes the stages of a chain once', async () => {
  let closes = 0;
  const counting = defineStage({ name: 'counting', create: () => ({ close: () => void closes++ }) });
  const chain = createChain([counting()]);
  await chain.close();
  await chain.close();
  expect(closes).toBe(1);
});

it.each([
  ['throws', () => Promise.reject(new Error('the file is locked'))],
  [
    'throws at once',
    () => {
      throw new Error('the file is locked');
    },
  ],
])('rejects the close of a gateway with the name of a stage whose close %s', async (_, close) => {
  const hoarding = defineStage({ name: 'hoarding', create: () => ({ close }) });
  const config = sidecarConfig('http://127.0.0.1:1', { log: { level: 'silent' } });
  const gateway = await createGateway(config, { stages: ['auth', hoarding()] });
  await expect(gateway.close()).rejects.toThrow('the stage hoarding failed to close: the file is locked');
});
