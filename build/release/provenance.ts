import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { manifest, repository } from '../package/pack.ts';

/**
 * The provenance of a tarball as an in-toto statement with SLSA's predicate: what it is, and of which commit it was made by what.
 * It is not signed: only npm in a workflow of GitHub or GitLab has the identity for that, and writes its own.
 */
export function provenanceOf(tarball: string): object {
  const sha512 = createHash('sha512').update(readFileSync(tarball)).digest('hex');
  const gitCommit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: `pkg:npm/${manifest.name}@${manifest.version}`, digest: { sha512 } }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${repository}/blob/v${manifest.version}/build/release/run.ts`,
        externalParameters: { repository, ref: `refs/tags/v${manifest.version}` },
        internalParameters: { node: process.version, platform: `${process.platform}-${process.arch}` },
        resolvedDependencies: [
          { uri: `git+${repository}@refs/tags/v${manifest.version}`, digest: { gitCommit } },
        ],
      },
      runDetails: {
        builder: { id: `${repository}/blob/v${manifest.version}/CONTRIBUTING.md#release` },
        metadata: { finishedOn: new Date().toISOString() },
      },
    },
  };
}
