import { resolve } from 'node:path';
import type { Response as ExpressResponse, Request } from 'express';
import {
  auth,
  type ChainOptions,
  errorEnvelope,
  rateLimit,
  streamRechunk,
  validation,
} from '../../src/index.ts';
import type { Answer, Exchange, Outcome } from '../../src/plugin.ts';
import answeringStage, { answerWith } from '../fixtures/stages/answering.ts';
import { ledgerOf, newBook } from '../fixtures/stages/ledger.ts';
import { chainOf, settlements } from './chain-app.ts';
import { alongside, startApp } from './express-app.ts';
import { whole } from './foreign-replies.ts';
import { clientKey, startGateway } from './gateway-under-test.ts';
import { completion } from './hostile-setting.ts';
import { startScriptedUpstream, whole as wholeReply } from './scripted-upstream.ts';

/** What is in front of the upstream or handler, with a stage that answers. */
interface AnsweringApp {
  readonly url: string;
  /** How its exchanges have ended so far. */
  outcomes(): readonly Outcome[];
  /** Number of requests that reached the upstream or handler. */
  asked(): number;
  /** Ends the gateway before `closeApps` does. */
  close(): Promise<void>;
}

interface AnsweringOptions {
  readonly non_stream_timeout_ms?: number;
  readonly max_background_ms?: number;
  readonly stream_commit_ms?: number;
}

type Answering = (exchange: Exchange) => Answer | undefined | Promise<Answer | undefined>;
const accounts = { tester: { plan: 'two', keys: [{ value: clientKey }] } };
const plans = { two: { concurrent_requests: 2 } };
const stagesDirectory = resolve(import.meta.dirname, '../fixtures/stages');
const stageFile = (name: string) => resolve(stagesDirectory, `${name}.ts`);

/** A gateway. `validation` stands behind the stage that answers, everything else before it. */
export async function answeringGateway(
  answering: Answering,
  server: AnsweringOptions = {},
): Promise<AnsweringApp> {
  const script = newBook();
  answerWith(script, answering);
  const upstream = alongside(await startScriptedUpstream(wholeReply(200, completion('From upstream.'))));
  const stages = [
    { [stageFile('ledger')]: { book: script } },
    'error-envelope',
    'auth',
    'rate-limit',
    'stream-rechunk',
    { [stageFile('answering')]: { script } },
    'validation',
  ];
  const gateway = alongside(await startGateway({ upstream, stages, server, config: { accounts, plans } }));
  return {
    url: gateway.url,
    outcomes: () => ledgerOf(script).map(({ outcome }) => outcome),
    asked: () => upstream.requests.length,
    close: () => gateway.close(),
  };
}

/** The same stages in front of a handler. */
export async function answeringChain(
  answering: Answering,
  options: AnsweringOptions & ChainOptions = {},
): Promise<AnsweringApp> {
  const script = newBook();
  answerWith(script, answering);
  const { outcomes, stage } = settlements();
  let asked = 0;
  const stages = [
    stage,
    errorEnvelope(),
    auth(),
    rateLimit(),
    streamRechunk(),
    answeringStage({ script }),
    validation(),
  ];
  const app = await startApp(app =>
    app.use(chainOf(stages, { accounts, plans, ...options }), (_: Request, response: ExpressResponse) => {
      asked++;
      response.type('application/json').send(whole);
    }),
  );
  return { url: app.url, outcomes: () => outcomes, asked: () => asked, close: () => app.close() };
}
