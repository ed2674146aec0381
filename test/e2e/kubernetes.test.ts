import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { serverSchema } from '../../src/config/schema.ts';
import { runHere } from '../support/command-here.ts';
import { example, replaced } from '../support/front-proxy.ts';

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
}

interface Container {
  readonly name: string;
  readonly restartPolicy?: string;
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly resources: { readonly limits: Readonly<Record<string, string>> };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

interface Kustomization {
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly { readonly name: string; readonly files: readonly string[] }[];
}

const folder = fileURLToPath(new URL('../../examples/kubernetes/', import.meta.url));
const documents = (path: string) =>
  parseAllDocuments(example(`kubernetes/${path}`), { merge: true }).map(each => each.toJS() as unknown);

describe.each(['gateway', 'vllm'])('examples/kubernetes/%s', name => {
  const [kustomization] = documents(`${name}/kustomization.yaml`) as [Kustomization];
  const manifests = kustomization.resources.flatMap(file => documents(`${name}/${file}`)) as Manifest[];
  const ofKind = (kind: string) => manifests.filter(each => each.kind === kind);
  const deployment = ofKind('Deployment')[0]!.spec as {
    readonly selector: { readonly matchLabels: object };
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: Pod };
  };
  const { metadata, spec: pod } = deployment.template;
  const gateway = pod.containers.find(each => each.name === 'sluice')!;

  it('gives the gateway the time of a whole shutdown', () => {
    const { unready_ms, drain_ms } = serverSchema.parse({});
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThanOrEqual(unready_ms + drain_ms + 5000);
  });

  it('restarts a gateway that is dead, and only sends no traffic to one that is not ready', () => {
    const paths = [gateway.startupProbe, gateway.livenessProbe, gateway.readinessProbe];
    expect(paths.map(({ httpGet }) => httpGet)).toEqual([
      { path: '/healthz', port: 'admin' },
      { path: '/healthz', port: 'admin' },
      { path: '/readyz', port: 'admin' },
    ]);
  });

  it('runs the gateway without privileges, on a file system that it cannot write to', () => {
    expect({ ...pod.securityContext, ...gateway.securityContext }).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('selects the pods that it makes, by ports that they have', () => {
    expect(metadata.labels).toMatchObject(deployment.selector.matchLabels);
    const ports = gateway.ports!.map(port => port.name);
    for (const { spec } of ofKind('Service')) {
      expect(metadata.labels).toMatchObject(spec.selector as object);
      for (const { targetPort } of spec.ports as { targetPort: string }[])
        expect(ports).toContain(targetPort);
    }
    for (const { spec } of [...ofKind('PodDisruptionBudget'), ...ofKind('NetworkPolicy')]) {
      const { matchLabels } = (spec.selector ?? spec.podSelector) as { matchLabels: object };
      expect(metadata.labels).toMatchObject(matchLabels);
    }
  });

  it('has the admin port in no service but the headless one of Prometheus, and lets only Prometheus in', () => {
    for (const { spec } of ofKind('Service').filter(each => each.metadata.name !== 'sluice-admin'))
      expect(JSON.stringify(spec)).not.toMatch(/admin|8081/);
    for (const { spec } of ofKind('Service').filter(each => each.metadata.name === 'sluice-admin'))
      expect(spec.clusterIP).toBe('None');
    const [{ spec }] = ofKind('NetworkPolicy') as [Manifest];
    const admin = (spec.ingress as { ports: { port: string }[]; from?: object[] }[]).find(
      rule => rule.ports[0]?.port === 'admin',
    );
    expect(JSON.stringify(admin?.from)).toContain('"monitoring"');
  });

  it('mounts a configuration that sluice check accepts without a warning', async () => {
    const [{ name: generated, files }] = kustomization.configMapGenerator as [
      Kustomization['configMapGenerator'][0],
    ];
    expect(pod.volumes.map(({ configMap }) => configMap?.name)).toContain(generated);
    expect(existsSync(join(folder, name, files[0]!))).toBe(true);
    const directory = await mkdtemp(join(tmpdir(), 'sluice-kubernetes-'));
    const secrets = {
      'redis-url': 'redis://:a-password@redis:6379',
      'postgres-url': 'postgres://sluice:a-password@postgres:5432/sluice',
      'upstream-key': 'sk-upstream',
      'demo-key': 'sk-demo-0123456789',
    };
    try {
      for (const [file, text] of Object.entries(secrets)) await writeFile(join(directory, file), text);
      const config = join(directory, 'sluice.yaml');
      const text = replaced(example(`kubernetes/${name}/sluice.yaml`), [['/run/secrets/sluice', directory]]);
      await writeFile(config, text);
      const { code, stdout } = await runHere(['check', '--config', config]);
      expect([code, stdout]).toEqual([0, expect.stringContaining('ok; models: 1, providers: 1')]);
      expect(stdout).not.toContain('warning');
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe('examples/kubernetes/vllm', () => {
  it('starts vLLM before the gateway, ends it after the gateway, and lets nobody else reach it', () => {
    const [deployment] = documents('vllm/deployment.yaml') as [{ spec: { template: { spec: Pod } } }];
    const [vllm] = deployment.spec.template.spec.initContainers ?? [];
    expect(vllm).toMatchObject({ name: 'vllm', restartPolicy: 'Always' });
    expect(vllm?.args).toContain('--host=127.0.0.1');
    expect(vllm?.resources.limits).toHaveProperty(['nvidia.com/gpu'], '1');
    expect(vllm?.startupProbe).toBeDefined();
  });
});
