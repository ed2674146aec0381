import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { PageResponse } from './page-response.ts';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Loads styles and scripts, by their paths below the dashboard: `assets/style.css`. Read once; no other file can be requested. */
export function loadAssets(): ReadonlyMap<string, PageResponse> {
  const folder = new URL('./assets/', import.meta.url);
  const files = readdirSync(folder).filter(name => extname(name) in types);
  return new Map(
    files.map(name => [`assets/${name}`, assetResponse(types[extname(name)]!, new URL(name, folder))]),
  );
}

/** A static file; browsers ask each time whether it has changed. */
function assetResponse(type: string, file: URL): PageResponse {
  const body = readFileSync(file);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { status: 200, headers: { 'content-type': type, 'cache-control': 'no-cache', etag }, body };
}
