import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { adminHandler } from '../../src/cli/admin-listener.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { type OpenedGateway, openGateway } from '../../src/mount/gateway.ts';
import { Channel } from '../../src/mount/workers/channel.ts';
import { Workers } from '../../src/mount/workers/workers.ts';
import { post } from './chain-app.ts';
import { ask, clientKey, sumOf } from './gateway-under-test.ts';

const program = fileURLToPath(new URL('worker-program.ts', import.meta.url));

/** A worker: a process of its own, on a port of its own. */
export interface FleetWorker {
  readonly number: number;
  readonly url: string;
  readonly child: ChildProcess;
  /** Lets it close its gateway, and ends it. */
  end(): Promise<void>;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
}

/** A server of several processes: the primary is this one, with the listener for operators; its workers are real processes. */
export class WorkerFleet {
  readonly adminUrl: string;
  readonly primary: OpenedGateway;
  readonly workers: FleetWorker[] = [];
  readonly #channels: Workers;
  readonly #config: GatewayConfig;
  readonly #admin: Server;

  private constructor(config: GatewayConfig, primary: OpenedGateway, channels: Workers, admin: Server) {
    this.#config = config;
    this.primary = primary;
    this.#channels = channels;
    this.#admin = admin;
    this.adminUrl = `http://127.0.0.1:${(admin.address() as AddressInfo).port}`;
  }

  static async start(config: GatewayConfig, workers: number): Promise<WorkerFleet> {
    const channels = new Workers();
    const primary = await openGateway(config, { terminal: true }, () => ({ workers: channels }));
    const admin = createServer(adminHandler(primary));
    admin.listen(0, '127.0.0.1');
    await once(admin, 'listening');
    const fleet = new WorkerFleet(config, primary, channels, admin);
    await Promise.all(Array.from({ length: workers }, (_, at) => fleet.add(at + 1)));
    fleet.workers.sort((one, other) => one.number - other.number);
    return fleet;
  }

  /** Starts a worker with this number. */
  async add(number: number): Promise<FleetWorker> {
    const child = spawn(process.execPath, ['--conditions=sluice-source', program], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    const channel = new Channel(child);
    const listening = Promise.withResolvers<number>();
    channel.handle('test.config', () => this.#config);
    channel.handle('test.listening', port => listening.resolve(port as number));
    channel.onClosed(() => listening.reject(new Error('a worker has ended before it listened')));
    this.#channels.add(number, channel);
    const url = `http://127.0.0.1:${await listening.promise}`;
    const exited = once(child, 'exit');
    const kill = async () => {
      child.kill('SIGKILL');
      await exited;
    };
    const end = async () => {
      await channel.request('test.end');
      await kill();
    };
    const worker = { number, url, child, end, kill };
    this.workers.push(worker);
    return worker;
  }

  /** A request to a worker, by its place. */
  send(at: number, key = clientKey, body: object = ask('Hello?')): Promise<Response> {
    return post(`${this.workers[at]!.url}/v1/chat/completions`, body, { authorization: `Bearer ${key}` });
  }

  /** As many requests to all workers in turn, at once; their statuses. */
  sendMany(count: number, key?: string): Promise<number[]> {
    return Promise.all(
      Array.from({ length: count }, async (_, at) => {
        const reply = await this.send(at % this.workers.length, key);
        await reply.arrayBuffer();
        return reply.status;
      }),
    );
  }

  /** What operators read at this path. */
  async read(path: string): Promise<string> {
    return (await fetch(`${this.adminUrl}${path}`)).text();
  }

  /** The sum of a metric as it is scraped, of the samples whose line includes `part`. */
  async metric(name: string, part = ''): Promise<number> {
    const lines = (await this.read('/metrics')).split('\n').filter(line => line.includes(part));
    return sumOf(lines.join('\n'), name);
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map(({ kill }) => kill()));
    await this.primary.gateway.close(0);
    this.#admin.close();
    this.#admin.closeAllConnections();
  }
}
