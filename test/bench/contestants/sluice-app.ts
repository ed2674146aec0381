/** sluice mounted in Express as a process. The argument is its configuration. */
import { createServer } from 'node:http';
import express from 'express';
import { createGateway } from '../../../src/index.ts';
import { announce } from './announce.ts';

const app = express();
app.use(await createGateway(process.argv[2]!));
announce(createServer(app));
