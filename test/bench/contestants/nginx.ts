import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { gateway_core } from '../children.ts';
import { type Contestant, proxied, Unavailable } from './contestant.ts';

const places = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx', '/opt/homebrew/bin/nginx'];

/** `proxy_pass`: what a proxy costs that is written in C and looks at nothing. */
export const nginx: Contestant = {
  name: 'nginx',
  title: 'nginx `proxy_pass`',
  task: 'chat',
  streamed: [proxied],
  async start({ children, directory, upstream_port }) {
    const binary = places.find(existsSync);
    if (!binary) throw new Unavailable('nginx is not installed');
    const port = await freePort();
    const file = join(directory, 'nginx.conf');
    writeFileSync(file, configuration(directory, port, upstream_port));
    const { pid } = children.start(gateway_core, binary, ['-p', directory, '-c', file]);
    const version = /nginx\/(\S+)/.exec(spawnSync(binary, ['-v'], { encoding: 'utf8' }).stderr)?.[1] ?? '';
    return { port, pid, version };
  },
};

const configuration = (directory: string, port: number, upstream_port: number): string => `
daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log stderr error;
events { worker_connections 8192; }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  upstream inference {
    server 127.0.0.1:${upstream_port};
    keepalive 1024;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://inference;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
