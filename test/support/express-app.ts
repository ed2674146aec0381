import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type ErrorRequestHandler, type Express } from 'express';

/** An Express application that listens on a free port. */
export interface RunningApp {
  readonly url: string;
  readonly server: Server;
  /** What has reached the application's own error handler. */
  readonly errors: readonly unknown[];
  close(): Promise<void>;
}

const running: RunningApp[] = [];

/** Starts an application. After what `build` adds it has an error handler that remembers, and answers 500 `parent error`. */
export async function startApp(build: (app: Express) => unknown): Promise<RunningApp> {
  const app = express();
  const errors: unknown[] = [];
  await build(app);
  const remember: ErrorRequestHandler = (error, _request, response, next) => {
    errors.push(error);
    if (response.headersSent) return next(error);
    response.status(500).send('parent error');
  };
  // What the application would print of an error otherwise has nothing to do with the tests.
  app.set('env', 'test');
  app.use(remember);
  const server = createServer(app);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const started: RunningApp = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    errors,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  running.push(started);
  return started;
}

const others: { close(): unknown }[] = [];

/** Something that `closeApps` closes as well, after the applications. */
export function alongside<T extends { close(): unknown }>(one: T): T {
  others.push(one);
  return one;
}

/** For afterEach. */
export async function closeApps(): Promise<void> {
  await Promise.all(running.splice(0).map(app => app.close()));
  await Promise.all(others.splice(0).map(one => one.close()));
}
