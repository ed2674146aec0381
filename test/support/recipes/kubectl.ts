/** `kubectl` in a recipe: it refuses pods that lack a namespace, a secret or a key of one, and runs the gateway. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
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

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

interface Service extends Manifest {
  readonly spec: { readonly ports: readonly { readonly port: number }[] };
}

interface Deployment extends Manifest {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
        }[];
        readonly volumes: readonly {
          readonly name: string;
          readonly configMap?: { readonly name: string };
          readonly secret?: { readonly secretName: string };
        }[];
      };
    };
  };
}

interface Kustomization {
  readonly namespace: string;
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly { readonly name: string; readonly files: readonly string[] }[];
}

const [verb, ...words] = process.argv.slice(2);
if (verb === 'create') create();
else if (verb === 'apply') apply();
else ask();

function create(): void {
  const [kind, name = '', ...rest] = words[0] === 'secret' ? words.toSpliced(1, 1) : words;
  if (kind === 'namespace') state.namespaces.push(name);
  else {
    check(kind === 'secret' && words[1] === 'generic', `unknown: ${words.join(' ')}`);
    const { all } = optionsOf(rest, [], ['namespace', 'from-literal']);
    const [namespace = ''] = all('namespace');
    check(state.namespaces.includes(namespace), `no namespace ${namespace}`);
    const pairs = all('from-literal').map(text => text.split(/=(.*)/s).slice(0, 2) as [string, string]);
    state.secrets[`${namespace}/${name}`] = Object.fromEntries(pairs);
  }
  keep();
}

function apply(): void {
  const [flag, path = ''] = words;
  if (flag === '-k') return applyKustomization(resolve(path));
  check(flag === '-f', `unknown: ${words.join(' ')}`);
  for (const { kind, metadata } of documentsOf<Manifest>(path))
    if (kind === 'Namespace') state.namespaces.push(metadata.name);
  keep();
}

function applyKustomization(source: string): void {
  const [file] = documentsOf<Kustomization>(join(source, 'kustomization.yaml')) as [Kustomization];
  const { namespace, resources, configMapGenerator } = file;
  check(state.namespaces.includes(namespace), `no namespace ${namespace}`);
  const manifests = resources.flatMap(name => documentsOf<Manifest>(join(source, name)));
  const deployment = manifests.find(({ kind }) => kind === 'Deployment') as Deployment;
  const { volumes, containers } = deployment.spec.template.spec;
  const folder = join(home, 'pod', namespace);
  for (const { mountPath, name } of containers[0]!.volumeMounts) {
    const { secret, configMap } = volumes.find(volume => volume.name === name)!;
    const generated = configMapGenerator.find(each => each.name === configMap?.name);
    if (secret) mountSecret(`${namespace}/${secret.secretName}`, mountPath, source, folder);
    else place(join(source, generated!.files[0]!), folder);
  }
  writeFileSync(
    join(folder, 'services.json'),
    JSON.stringify(manifests.filter(({ kind }) => kind === 'Service')),
  );
  const command = ['sluice', 'serve', '--config', '/etc/sluice/sluice.yaml'];
  start(`${namespace}/deploy/${deployment.metadata.name}`, folder, command);
}

/** Puts the keys of a secret where the configuration reads them, which must have all that it names. */
function mountSecret(name: string, mountPath: string, source: string, folder: string): void {
  const keys = state.secrets[name];
  check(keys, `no secret ${name}`);
  const text = readFileSync(join(source, 'sluice.yaml'), 'utf8');
  for (const [, key] of text.matchAll(new RegExp(`\\$\\{file:${mountPath}/([\\w-]+)`, 'g')))
    check(keys[key!], `the secret has no ${key}`);
  const mounted = join(folder, 'secrets/sluice');
  mkdirSync(mounted, { recursive: true });
  for (const [key, value] of Object.entries(keys)) writeFileSync(join(mounted, key), value);
}

/** Commands about what runs in a namespace: `exec`, `rollout status`, `port-forward`. */
function ask(): void {
  const at = words.indexOf('--namespace');
  const namespace = words[at + 1];
  check(at !== -1 && namespace !== undefined, 'no namespace is given');
  const [first = '', second = '', ...rest] = words.toSpliced(at, 2);
  if (verb === 'exec') {
    check(second === '--', 'the command stands behind --');
    execute(`${namespace}/${first}`, rest);
  }
  if (verb === 'rollout') return void containerOf(`${namespace}/${second}`);
  check(verb === 'port-forward', `unknown command ${verb}`);
  const { folder } = containerOf(`${namespace}/${first.replace('service/', 'deploy/')}`);
  const services = JSON.parse(readFileSync(join(folder, 'services.json'), 'utf8')) as Service[];
  const service = services.find(({ metadata }) => `service/${metadata.name}` === first);
  check(service?.spec.ports[0]?.port === Number(second.split(':')[1]), `${first} has no port ${second}`);
}
