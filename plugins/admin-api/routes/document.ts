import { z } from 'zod';
import { openApiDocument } from '../open-api.ts';
import { defineRoute, type Route } from '../route.ts';

/** The route of the OpenAPI document, which has all routes. */
export const documentRoute = (routesOf: () => readonly Route[]): Route =>
  defineRoute({
    method: 'GET',
    path: '/openapi.json',
    name: 'getOpenApiDocument',
    summary: 'Read the OpenAPI document of this API',
    permission: 'read',
    reply: z.looseObject({ openapi: z.string() }),
    async handler() {
      return { body: openApiDocument(routesOf()) as { openapi: string } };
    },
  });
