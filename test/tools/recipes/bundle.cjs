// Makes runc's config.json that of an image: node bundle.cjs FOLDER ROOTFS NAME=VALUE…, and prints the words of its health check.
const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const [folder, rootfs, ...variables] = process.argv.slice(2);
const image = JSON.parse(readFileSync(join(folder, 'image.json'), 'utf8')).Docker.config;
const file = join(folder, 'bundle/config.json');
const { process: program, linux, mounts, ...rest } = JSON.parse(readFileSync(file, 'utf8'));
const [uid, gid] = image.User.split(':').map(Number);
const bind = (source, destination, mode) => ({
  type: 'bind',
  source: join(folder, source),
  destination,
  options: ['rbind', mode],
});
const none = { bounding: [], effective: [], permitted: [], ambient: [] };

writeFileSync(
  file,
  JSON.stringify({
    ...rest,
    root: { path: rootfs, readonly: true },
    process: {
      ...program,
      terminal: false,
      user: { uid, gid },
      cwd: image.WorkingDir,
      args: [...image.Entrypoint, ...image.Cmd],
      env: [...image.Env, ...variables],
      capabilities: none,
      noNewPrivileges: true,
    },
    // The network of this machine, so that the simulated server is at 127.0.0.1.
    linux: { ...linux, namespaces: linux.namespaces.filter(({ type }) => !/network|cgroup/.test(type)) },
    mounts: [
      ...mounts.filter(({ type, destination }) => type !== 'cgroup' && destination !== '/sys'),
      bind('etc', '/etc/sluice', 'ro'),
      bind('data', '/var/lib/sluice', 'rw'),
    ],
  }),
);
const [form, ...health] = image.Healthcheck.Test;
if (form !== 'CMD') throw new Error(`the health check is not in the exec form: ${form}`);
process.stdout.write(`${health.join('\n')}\n`);
