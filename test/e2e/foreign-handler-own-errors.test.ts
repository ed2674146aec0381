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

describe('an application handler', () => {
  it.each(bothWays)(
    'that calls next with an error ($way) causes a 502 in the OpenAI error format',
    async ({ stream }) => {
      const app = await handled(app => app.use((_request, _response, next) => next(new Error('secret'))));
      const reply = await askFor(app, stream);
      const message = await expectRefusal(reply, 502, 'provider_error');
      expect(message).not.toMatch(/secret|parent error/);
      expect(app.errors).toMatchObject([{ message: 'secret' }]);
    },
  );

  it.each(bothWays)('that throws before it has replied ($way) causes a 502', async ({ stream }) => {
    const app = await handled(app =>
      app.use(async () => {
        throw new Error('secret');
      }),
    );
    await expectRefusal(await askFor(app, stream), 502, 'provider_error');
  });

  it.each(bothWays)(
    'that destroys the response before it has replied ($way) causes a 502',
    async ({ stream }) => {
      const app = await handled(app => app.use((_request, response) => void response.destroy()));
      const message = 'The upstream provider could not be reached.';
      await expectRefusal(await askFor(app, stream), 502, 'provider_error', message);
    },
  );

  it('that destroys the response in the middle of a stream causes an error event', async () => {
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

  it('that throws in the middle of its stream causes a closed connection, not a stream that looks complete', async () => {
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

  it('that replies after stream_commit_ms may still set headers', async () => {
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

  it('that is missing causes a configuration error in place of the 404 of the parent', async () => {
    await expectRefusal(await askFor(await handled(() => {}), false), 400, 'configuration_error');
  });

  it.each([false, true])(
    'that throws synchronously in a plain Node server causes a 502 (stream: %s)',
    async stream => {
      const chain = chainOf();
      const app = await startApp(app =>
        app.use((request, response) =>
          chain(request, response, () => {
            throw new Error('secret');
          }),
        ),
      );
      const message = await expectRefusal(await askFor(app, stream), 502, 'server_error');
      expect(message).not.toContain('secret');
    },
  );

  it('keeps its own errors when no stage transforms the reply', async () => {
    const app = await startApp(app => {
      app.use(chainOf([auth(), validation()]));
      app.use((_request, response) => void response.status(418).send('<b>own</b>'));
    });
    const reply = await askFor(app, true);
    expect([reply.status, await reply.text()]).toEqual([418, '<b>own</b>']);
  });
});
