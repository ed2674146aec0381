import { existsSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { builtInAdapters } from '../../config/load-adapters.ts';
import { providerBaseSchema } from '../../config/provider-schema.ts';
import { readKeyFile } from '../../gateway/upstream/http/key-file.ts';
import type { Provider } from '../../gateway/upstream/http/provider.ts';
import type { NoAnswer } from '../../mount/provider-check/ask-server.ts';
import type { DiscoveredModel } from '../../mount/provider-check/discovered-model.ts';
import { askForModels, modelsIn, providerToAsk } from '../../mount/provider-check/list-models.ts';
import { CommandMistake, programName, UsageMistake, type Voice } from '../command.ts';
import { listenAddresses } from '../listen-addresses.ts';
import { allModels, chosenModels, namedModels } from './choose-models.ts';
import { configText } from './config-text.ts';
import { nextSteps } from './next-steps.ts';
import { isVariable } from './option-values.ts';
import { type Ask, asking, type Terminal } from './questions.ts';
import { apiAddress, type ServerKind, serverKinds } from './server-kinds.ts';

/** Options of the command line. */
export interface InitOptions {
  readonly adapter?: string;
  readonly url?: string;
  readonly keyEnv?: string;
  readonly keyFile?: string;
  readonly models?: readonly string[];
  readonly yes?: boolean;
  readonly offline?: boolean;
  readonly force?: boolean;
}

/** Takes what the options say, asks for the rest if it may, and writes `file`. */
export async function writeFirstConfig(
  file: string,
  options: InitOptions,
  voice: Voice,
  terminal: Terminal,
): Promise<void> {
  if (!options.force && existsSync(file))
    throw new CommandMistake(`${file} exists already; --force replaces it, or name another file`);
  if (!existsSync(dirname(resolve(file))))
    throw new CommandMistake(`there is no folder ${dirname(resolve(file))}`);
  const isAsking = !options.yes && terminal.input.isTTY === true;
  if (!isAsking) return new Initiation(file, options, voice, undefined).run();
  await asking(terminal, ask => new Initiation(file, options, voice, ask).run());
}

interface Server {
  readonly kind: ServerKind;
  readonly base_url: string;
  readonly key_env: string | undefined;
  readonly key_file: string | undefined;
}

/** One run of the command; without `ask` it takes the defaults. */
class Initiation {
  readonly #file: string;
  readonly #options: InitOptions;
  readonly #voice: Voice;
  readonly #ask: Ask | undefined;

  constructor(file: string, options: InitOptions, voice: Voice, ask: Ask | undefined) {
    this.#file = file;
    this.#options = options;
    this.#voice = voice;
    this.#ask = ask;
  }

  async run(): Promise<void> {
    const kind = await this.#kind();
    const base_url = await this.#address(kind);
    const key = await this.#key(kind);
    const server = { kind, base_url, ...key };
    const models = await this.#models(server);
    const today = new Date().toISOString().slice(0, 10);
    const text = configText({ adapter: kind.adapter, base_url, ...key, models, today });
    // Another process may have made the file meanwhile.
    writeFileSync(this.#file, text, { flag: this.#options.force ? 'w' : 'wx' });
    await this.#finish(server);
  }

  async #kind(): Promise<ServerKind> {
    const { adapter } = this.#options;
    const given = serverKinds.find(kind => kind.adapter === adapter);
    if (given) return given;
    const ask = this.#ask;
    if (!ask)
      throw new UsageMistake(
        `without a terminal to ask on, --adapter is needed: ${serverKinds.map(kind => kind.adapter).join(', ')}`,
      );
    const rows = serverKinds.map(({ title }, at) => `${at + 1}  ${title}`).join('\n');
    this.#voice.remark(`What do your models run on?\n${rows}`);
    for (;;) {
      const answer = await ask('Number or name:', '1');
      const kind =
        serverKinds[Number(answer) - 1] ?? serverKinds.find(one => one.adapter === answer.toLowerCase());
      if (kind) return kind;
      this.#voice.remark(
        `Write a number from 1 to ${serverKinds.length}, or a name: ${serverKinds.map(({ adapter }) => adapter).join(', ')}.`,
      );
    }
  }

  async #address({ base_url }: ServerKind): Promise<string> {
    const { url } = this.#options;
    if (url !== undefined) {
      const given = apiAddress(url);
      if (given !== undefined) return given;
      throw new UsageMistake(
        '--url must be an http:// or https:// address such as http://gpu:8000/v1, without a user and password',
      );
    }
    for (;;) {
      const answer = apiAddress((await this.#ask?.('Its address:', base_url)) ?? base_url);
      if (answer !== undefined) return answer;
      this.#voice.remark(
        'Write an address with http:// or https://, such as http://gpu:8000/v1, without a user and password.',
      );
    }
  }

  async #key({ key_env }: ServerKind): Promise<Pick<Server, 'key_env' | 'key_file'>> {
    const { keyEnv, keyFile } = this.#options;
    if (keyEnv !== undefined || keyFile !== undefined) return { key_env: keyEnv, key_file: keyFile };
    if (!this.#ask) return { key_env, key_file: undefined };
    for (;;) {
      const name = await this.#ask(
        'Name of the environment variable with its key (- for a server without keys):',
        key_env ?? '-',
      );
      if (name === '-') return { key_env: undefined, key_file: undefined };
      if (isVariable(name)) return { key_env: name, key_file: undefined };
      this.#voice.remark('This is no name of a variable. The key itself is never written into the file.');
    }
  }

  async #models(server: Server): Promise<readonly DiscoveredModel[]> {
    const { models: names, offline } = this.#options;
    if (offline)
      return modelsIn({
        ...noAnswerNeeded,
        text: JSON.stringify((names ?? ['my-model']).map(id => ({ id }))),
      });
    const listed = await this.#listed(server);
    if (names) return namedModels(listed, names);
    const chat = listed.filter(({ id }) => !server.kind.no_chat?.test(id));
    if (chat.length === 0) throw new CommandMistake(`${server.base_url} lists no models: load one there`);
    return this.#ask ? chosenModels(chat, this.#ask, this.#voice.remark) : allModels(chat);
  }

  async #listed(server: Server): Promise<readonly DiscoveredModel[]> {
    const key = this.#keyOf(server);
    const provider = providerOf(server, key);
    this.#voice.remark(`asking ${server.base_url}/models …`);
    try {
      const headers = { ...provider.ownHeaders, ...provider.keys.next()?.headers };
      const { adapter } = server.kind;
      return modelsIn(await askForModels({ adapter, base_url: server.base_url, headers }), key !== undefined);
    } catch (thrown) {
      const { message, remedy } = thrown as NoAnswer;
      const hint = /^answered 40[13]/.test(message) ? this.#keyHint(server) : '';
      throw new CommandMistake(
        `${server.base_url} could not be asked for its models: ${provider.redacted(message)}\n${remedy}${hint}\nNothing was written. --offline writes the file without asking, with --models A,B.`,
      );
    } finally {
      await provider.close();
    }
  }

  #keyOf({ key_env, key_file }: Server): string | undefined {
    if (key_file === undefined) return process.env[key_env ?? ''] || undefined;
    try {
      return readKeyFile(resolve(dirname(resolve(this.#file)), key_file))[0];
    } catch (thrown) {
      const { code, message } = thrown as NodeJS.ErrnoException;
      throw new CommandMistake(
        `--key-file ${key_file}: ${code === undefined ? message : `cannot be read: ${code}`}`,
      );
    }
  }

  /** What to do when the server wants another key than it got, or one at all. */
  #keyHint(server: Server): string {
    const unset = this.#unset(server);
    if (unset !== undefined) return `\nThe variable ${unset} is not set: export ${unset}=… and try again.`;
    const hasKey = server.key_env !== undefined || server.key_file !== undefined;
    return hasKey ? '' : '\nName the environment variable that has it: --key-env NAME.';
  }

  #unset({ key_env }: Server): string | undefined {
    return key_env !== undefined && !process.env[key_env] ? key_env : undefined;
  }

  /** Checks what was written, and says how to go on: results on standard output. */
  async #finish(server: Server): Promise<void> {
    const { key_env } = server;
    const environment = { ...process.env, ...(key_env !== undefined && { [key_env]: 'checked-without-it' }) };
    const settings = await loadConfig(this.#file, environment);
    const { models } = settings;
    const unset = this.#unset(server);
    const steps = nextSteps({
      file: this.#file,
      server: listenAddresses(settings, { environment: process.env }).server,
      unset,
      model: models[0]!.id,
      program: programName(process.env),
    });
    this.#voice.remark(`wrote ${this.#file}; models: ${models.length}. Read its comments, then:\n`);
    this.#voice.print(steps);
  }
}

const noAnswerNeeded = { status: 200, elapsed_ms: 0, date_ms: undefined, certificate_ends_ms: undefined };

function providerOf({ kind, base_url }: Server, api_key: string | undefined): Provider {
  const definition = builtInAdapters.get(kind.adapter)!;
  const config = providerBaseSchema.parse({ base_url, api_key });
  return providerToAsk({ name: kind.adapter, definition, config, options: definition.schema.parse({}) });
}
