import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import type { PageResponse } from './page-response.ts';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The library of charts: in a built package a copy among the assets, otherwise in the development dependency. */
const chart_library = 'uPlot.iife.min.js';

/** Loads styles and scripts, by their paths below the dashboard: `assets/style.css`. Read once; no other file can be requested. */
export function loadAssets(): ReadonlyMap<string, PageResponse> {
  const folder = new URL('./assets/', import.meta.url);
  const files = readdirSync(folder)
    .filter(name => extname(name) in types)
    .map(name => new URL(name, folder));
  if (!existsSync(new URL(chart_library, folder))) files.push(...installedLibrary());
  return new Map(
    files.map(file => {
      const name = basename(file.pathname);
      return [`assets/${name}`, assetResponse(types[extname(name)]!, file)];
    }),
  );
}

/** Nothing where sources run without development dependencies: pages then have the tables of their charts. */
function installedLibrary(): URL[] {
  try {
    return [new URL(chart_library, import.meta.resolve('uplot'))].filter(file => existsSync(file));
  } catch {
    return [];
  }
}

/** A static file; browsers ask each time whether it has changed. */
function assetResponse(type: string, file: URL): PageResponse {
  const body = readFileSync(file);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { status: 200, headers: { 'content-type': type, 'cache-control': 'no-cache', etag }, body };
}
