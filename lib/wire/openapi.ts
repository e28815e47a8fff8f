/**
 * Generates an OpenAPI 3.1 document from the schemas that validate calls, so that both agree.
 *
 * @see https://spec.openapis.org/oas/v3.1.1
 */

import type { TSchema } from 'typebox'
import { ErrorBody, ValidationErrorBody } from '../../schemas/errors.ts'
import {
  attributionHeaders,
  componentHeaders,
  dryRunHeader,
  isLimited,
  preferenceHeaders,
  providerHeaders,
  requestHeaders
} from './openapi-headers.ts'
import { responsesOf } from './openapi-responses.ts'
import { inner, json, mapValues, print, type Json, type Names } from './openapi-schemas.ts'
import type { EndpointDoc } from './endpoint-doc.ts'

export interface OpenApiOptions {
  readonly version: string
  /** Schemas of several endpoints, listed once under this name and referenced elsewhere. */
  readonly named?: Readonly<Record<string, TSchema>>
}

/** Builds the document: one operation per endpoint, in the given order. */
export function openApiDocument (
  endpoints: readonly EndpointDoc[], { version, named = {} }: OpenApiOptions
): { [key: string]: Json } {
  const components: Record<string, TSchema> = { ...named, ErrorBody, ValidationErrorBody }
  for (const endpoint of endpoints) Object.assign(components, endpoint.named)
  const names = new Map<unknown, string>(Object.entries(components).map(([name, schema]) => [schema, name]))
  const paths: Record<string, Record<string, Json>> = {}
  for (const endpoint of endpoints) {
    const path = templateOf(endpoint.path)
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operationOf(endpoint, names) }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Headgate',
      version,
      description: 'One address and one key in front of every model provider.',
      license: { name: 'MIT', identifier: 'MIT' }
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [...new Set(endpoints.map(({ group }) => group))].map(name => ({ name })),
    paths,
    components: {
      headers: componentHeaders(endpoints),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'With both headers, one valid key is enough; if both are valid, the bearer key wins.'
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'headgate_session',
          description: 'Over TLS the name is `__Host-headgate`.'
        },
        adminKey: { type: 'http', scheme: 'bearer', description: 'A key of the admin API, `hga_…`.' }
      },
      schemas: mapValues(components, schema => inner(schema, names))
    }
  }
}

const securityOf: Readonly<Record<NonNullable<EndpointDoc['access']>, Json>> = {
  open: [], session: [{ session: [] }], administration: [{ session: [] }, { adminKey: [] }]
}

function operationOf (endpoint: EndpointDoc, names: Names): Json {
  const {
    operationId,
    group,
    summary,
    request,
    open = false,
    access = open ? 'open' : undefined,
    dryRun
  } = endpoint
  const parameters = [
    ...parametersOf(endpoint),
    ...(dryRun === undefined ? [] : [dryRunHeader]),
    ...(isLimited(endpoint) ? [...providerHeaders, ...preferenceHeaders, ...attributionHeaders] : [])
  ]
  return {
    operationId,
    tags: [group],
    summary,
    ...access !== undefined && { security: securityOf[access] },
    ...parameters.length > 0 && { parameters },
    ...request !== undefined && {
      requestBody: {
        required: true,
        content: { [request.mediaType ?? json]: { schema: print(request.schema, names) } }
      }
    },
    responses: responsesOf(endpoint, names),
    // Not a response: generated clients would have to distinguish it from the answer everywhere.
    ...dryRun !== undefined && { 'x-dry-run-answer': print(dryRun, names) }
  }
}

const parameter = /[:*](\w+)/g

function templateOf (path: string): string {
  return path.replace(parameter, '{$1}')
}

function parametersOf ({ path, query = {}, requestHeaders: headers = {} }: EndpointDoc): Json[] {
  return [
    ...[...path.matchAll(parameter)].map(([, name = '']): Json => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' }
    })),
    ...Object.entries(query).map(([name, { description, type }]): Json => ({
      name,
      in: 'query',
      required: false,
      description,
      schema: { type }
    })),
    ...requestHeaders(Object.entries(headers))
  ]
}
