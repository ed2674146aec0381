import { afterEach, describe, expect, it } from '@jest/globals';
import type { Express } from 'express';
import { auth, validation } from '../../src/index.ts';
import { allStages, chainOf, post, settlements } from '../support/chain-app.ts';
import { closeApps, type RunningApp, startApp } from '../support/express-app.ts';
import { brokenStream } from '../support/foreign-replies.ts';
import { ask } from '../support/gateway-under-test.ts';
import { bothWays, expectRefusal, finished, said } from '../support/hostile-setting.ts';
import { events } from '../support/scripted-upstream.ts';

const chat = '/v1/chat/completions';

afterEach(closeApps);

/** All stages in front of a handler of the application. */
const handled = (handler: (app: Express) => unknown) =>
  startApp(async app => {
    app.use(chainOf());
    await handler(app);
  });

const askFor = (app: RunningApp, stream: boolean) => post(app.url + chat, ask('Hello?', { stream }));

describe('a handler of the application', () => {
  it.each(bothWays)(
    'that passes an error on ($way): the parent answers it, in the envelope',
    async ({ stream }) => {
      const app = await handled(app => app.use((_request, _response, next) => next(new Error('secret'))));
      const reply = await askFor(app, stream);
      const message = await expectRefusal(reply, 502, 'provider_error');
      expect(message).not.toMatch(/secret|parent error/);
      expect(app.errors).toMatchObject([{ message: 'secret' }]);
    },
  );

  it.each(bothWays)('that throws before it has replied ($way)', async ({ stream }) => {
    const app = await handled(app =>
      app.use(async () => {
        throw new Error('secret');
      }),
    );
    await expectRefusal(await askFor(app, stream), 502, 'provider_error');
  });

  it.each(bothWays)('that destroys the response before it has replied ($way)', async ({ stream }) => {
    const app = await handled(app => app.use((_request, response) => void response.destroy()));
    const message = 'The upstream provider could not be reached.';
    await expectRefusal(await askFor(app, stream), 502, 'provider_error', message);
  });

  it('that destroys the response in the middle', async () => {
    const app = await handled(app =>
      app.use((_request, response) => {
        response.type('text/event-stream').write(events(said('So far.')));
        setTimeout(() => response.destroy(), 20);
      }),
    );
    const broken = await brokenStream(await askFor(app, true));
    expect(broken).toEqual({
      content: 'So far.',
      message: 'The upstream provider closed the stream unexpectedly.',
    });
  });

  it('that throws in the middle of its stream: the connection is cut, never ended as if the stream were whole', async () => {
    const { outcomes, stage } = settlements();
    const app = await startApp(app => {
      app.use(chainOf([stage, ...allStages()]), async (_request, response) => {
        response.type('text/event-stream').write(events(said('So far.')));
        await new Promise(resolve => setTimeout(resolve, 30));
        throw new Error('secret');
      });
    });
    const reply = await askFor(app, true);
    expect(reply.status).toBe(200);
    await expect(reply.text()).rejects.toThrow();
    expect(outcomes).toMatchObject([{ status: 200, end_reason: 'client_gone' }]);
  });

  it('that begins after the status could no longer be held back may still set headers', async () => {
    const app = await startApp(app => {
      app.use(chainOf(allStages(), { stream_commit_ms: 30 }), async (_request, response) => {
        await new Promise(resolve => setTimeout(resolve, 150));
        response.set('x-late', 'yes').type('text/event-stream').status(200);
        response.write(events(said('Late.')));
        response.end(events(finished(), '[DONE]'));
      });
    });
    const reply = await askFor(app, true);
    expect(reply.headers.get('x-late')).toBeNull();
    const text = await reply.text();
    expect(text).toContain('"content":"Late."');
    expect(text).toMatch(/"finish_reason":"stop".*data: \[DONE\]\n\n$/s);
    expect(app.errors).toEqual([]);
  });

  it('that is not there: the parent says 404, in the envelope', async () => {
    await expectRefusal(await askFor(await handled(() => {}), false), 400, 'configuration_error');
  });

  it('that throws while it is called, in a plain Node server', async () => {
    const chain = chainOf();
    const app = await startApp(app =>
      app.use((request, response) =>
        chain(request, response, () => {
          throw new Error('secret');
        }),
      ),
    );
    const message = await expectRefusal(await askFor(app, false), 502, 'server_error');
    expect(message).not.toContain('secret');
  });

  it('whose reply nobody looks back at keeps its errors', async () => {
    const app = await startApp(app => {
      app.use(chainOf([auth(), validation()]));
      app.use((_request, response) => void response.status(418).send('<b>own</b>'));
    });
    const reply = await askFor(app, true);
    expect([reply.status, await reply.text()]).toEqual([418, '<b>own</b>']);
  });
});
