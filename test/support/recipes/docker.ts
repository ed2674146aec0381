/** `docker` in a recipe: it refuses what the image, its container or Compose could not work with, and runs the gateway. */
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  check,
  containerOf,
  documentsOf,
  execute,
  home,
  keep,
  optionsOf,
  place,
  start,
  state,
} from './containers.ts';

interface ComposeFile {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly build?: string;
        readonly volumes: readonly string[];
        readonly secrets?: readonly string[];
        readonly extra_hosts?: readonly string[];
      }
    >
  >;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const [verb, ...words] = process.argv.slice(2);
const commands: Readonly<Record<string, () => void>> = {
  build,
  run,
  exec: () => execute(words[0]!, words.slice(1)),
  rm: remove,
  compose,
};
check(commands[verb ?? ''], `unknown command ${verb}`);
commands[verb!]!();

function build(): void {
  const { all, rest } = optionsOf(words, [], ['tag', 'build-arg']);
  const copied = readFileSync(join(rest[0]!, 'Dockerfile'), 'utf8').matchAll(/^COPY (?!--)(.*) \S+$/gm);
  for (const source of [...copied].flatMap(([, list = '']) => list.split(' ')))
    check(existsSync(join(rest[0]!, source)), `COPY ${source}: no such file`);
  state.images.push(...all('tag'));
  keep();
}

function run(): void {
  const valued = ['name', 'cap-drop', 'stop-timeout', 'publish', 'volume', 'add-host'];
  const { all, rest } = optionsOf(words, ['detach', 'read-only'], valued);
  const [image = '', ...args] = rest;
  check(state.images.includes(image), `no image ${image}`);
  check(all('read-only').length > 0 && all('cap-drop').includes('ALL'), 'the container has rights in excess');
  for (const port of all('publish'))
    check(port.startsWith('127.0.0.1:'), `${port} is published to every network`);
  const mounted = new Map(
    all('volume').map(text => text.split(':').slice(0, 2).reverse() as [string, string]),
  );
  const configuration = mounted.get('/etc/sluice/sluice.yaml') ?? '';
  check(existsSync(configuration), 'the configuration is not mounted');
  const text = readFileSync(configuration, 'utf8');
  check(text.includes('sqlite:/var/lib/sluice/'), 'the records are on a file system that is read-only');
  check(mounted.has('/var/lib/sluice'), 'the records end with the container');
  check(!/base_url: http:\/\/(?:127|localhost)/.test(text), 'that loopback address is the own one');
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  const wordsOf = (name: string) =>
    JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, 'm').exec(dockerfile)![1]!) as string[];
  const folder = join(home, 'container');
  place(configuration, folder);
  start(all('name')[0]!, folder, [...wordsOf('ENTRYPOINT'), ...(args.length > 0 ? args : wordsOf('CMD'))]);
}

function remove(): void {
  process.kill(containerOf(words[1]!).pid, 'SIGKILL');
  delete state.containers[words[1]!];
  keep();
}

/** Checks the file of Compose and what it mounts. One of its gateways then runs in the place of the proxy in front of both. */
function compose(): void {
  const [command, ...rest] = words;
  if (command === 'exec') execute(rest[0]!, rest.slice(1));
  check(command === 'up', `unknown command compose ${command}`);
  optionsOf(rest, ['detach', 'wait', 'no-deps'], []);
  const [file] = documentsOf<ComposeFile>('compose.yaml') as [ComposeFile];
  for (const [, name] of readFileSync('compose.yaml', 'utf8').matchAll(/\$\{(\w+):\?/g))
    check(process.env[name!], `${name} is not set`);
  for (const secret of Object.values(file.secrets))
    check(existsSync(secret.file), `there is no ${secret.file}`);
  for (const service of Object.values(file.services)) {
    if (service.build)
      check(existsSync(join(service.build, 'Dockerfile')), `no Dockerfile in ${service.build}`);
    for (const path of service.volumes.filter(each => each.startsWith('.')).map(each => each.split(':')[0]!))
      check(existsSync(path), `there is no ${path}`);
    for (const secret of service.secrets ?? []) check(file.secrets[secret], `no secret ${secret}`);
  }
  const { host, hostname } = new URL(process.env.UPSTREAM_URL!);
  const reached = file.services['gateway-1']!.extra_hosts ?? [];
  check(/^\d/.test(host) || reached.includes(`${hostname}:host-gateway`), `no container reaches ${hostname}`);
  const folder = join(home, 'composed');
  place('sluice.yaml', folder);
  cpSync('secrets', join(folder, 'secrets'), { recursive: true });
  start('gateway-1', folder, ['sluice', 'serve', '--config', '/etc/sluice/sluice.yaml']);
}
