/**
 * Makes an OpenAPI 3.1 document of the schemas that check the calls, so that the two cannot disagree.
 *
 * @see https://spec.openapis.org/oas/v3.1.1
 */

import { isObject } from '../json/guards.ts'
import type { TSchema } from 'typebox'
import { codes, type ErrorCode } from '../core/errors.ts'
import { ErrorBody, ValidationErrorBody } from '../../schemas/errors.ts'

/** The documentation of one endpoint. */
export interface EndpointDoc {
  /** Unique; the name of the method in generated clients. */
  readonly operationId: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** As the router writes it: `/v1/models/*model`. */
  readonly path: string
  readonly group: string
  readonly summary: string
  readonly request?: { readonly schema: TSchema, readonly mediaType?: string }
  readonly answers: readonly AnswerDoc[]
  /** Codes beside those every endpoint may answer with. */
  readonly errors?: readonly ErrorCode[]
  /** The body of its errors, those of requests of a wrong shape included, which are 400 then. Default: `ErrorBody`, or for those 422 with `ValidationErrorBody`. */
  readonly errorBody?: TSchema
  /** Parameters of the query, by name. */
  readonly query?: Readonly<Record<string, { readonly description: string, readonly type: 'string' | 'integer' | 'boolean' }>>
  /** Descriptions of headers that only answers of this endpoint have, errors included. */
  readonly headers?: Readonly<Record<string, string>>
  /** True when it answers without a key. */
  readonly open?: boolean
  /** For an endpoint of the admin API: those who may use it, instead of callers with a key. */
  readonly access?: 'open' | 'session' | 'administration'
  /** Descriptions of headers that a request may have. */
  readonly requestHeaders?: Readonly<Record<string, string>>
  /** For endpoints that route: the answer to a dry run. */
  readonly dryRun?: TSchema
  /** True when a provider may be called. Default: where there is a `dryRun`. */
  readonly routed?: boolean
}

export interface AnswerDoc {
  /** Default 200. */
  readonly status?: number
  readonly description: string
  /** Default `application/json`. For an event stream the schema is that of one message. */
  readonly mediaType?: string
  /** Absent for bytes. */
  readonly schema?: TSchema
}

export interface OpenApiOptions {
  readonly version: string
  /** Schemas that stand once, under this name, and are referred to everywhere else. */
  readonly named?: Readonly<Record<string, TSchema>>
}

/** A JSON value: the document has no other kind. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

const alwaysPossible: readonly ErrorCode[] = ['internal_error', 'overloaded', 'shutting_down']
const withKey: readonly ErrorCode[] = ['invalid_api_key', 'insufficient_permissions']
/** Statuses beside that of the table. */
const otherStatuses: Partial<Record<ErrorCode, readonly number[]>> = { invalid_provider_key: [403] }
const withBody: readonly ErrorCode[] = [
  'invalid_json', 'request_timeout', 'file_too_large', 'unsupported_media_type'
]

/** Builds the document: one operation per endpoint, in the order given. */
export function openApiDocument (
  endpoints: readonly EndpointDoc[], { version, named = {} }: OpenApiOptions
): { [key: string]: Json } {
  const components = { ...named, ErrorBody, ValidationErrorBody }
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
      headers: { ...callHeaders, ...routeHeaders, ...errorHeaders, ...retryAfter, ...limitHeaders, ...Object.assign({}, ...endpoints.map(ownHeaders)) },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        session: { type: 'apiKey', in: 'cookie', name: 'headgate_session', description: 'Over TLS the name is `__Host-headgate`.' },
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
  const { operationId, group, summary, request, open = false, access = open ? 'open' : undefined, dryRun } = endpoint
  const parameters = [...parametersOf(endpoint), ...dryRun === undefined ? [] : [dryRunHeader, ...preferenceHeaders]]
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
    // Not one of the responses: generated clients would have to distinguish it from the answer everywhere.
    ...dryRun !== undefined && { 'x-dry-run-answer': print(dryRun, names) }
  }
}

const dryRunHeader: Json = {
  name: 'X-Headgate-Dry-Run',
  in: 'header',
  required: false,
  description: 'With `true` no request is sent to a provider: the answer is 200 and a `RouteDecision` with the models that ' +
    'would be used, in which order, and why. After a call, the header `x-headgate-route` of the answer says so.',
  schema: { type: 'string', enum: ['true', 'false'] }
}

/** The headers by which a caller narrows and orders the models of a call (`lib/routing/preferences`). */
const preferenceHeaders: Json[] = [
  ['X-Headgate-Only', 'Providers or models, separated by commas: only these of the request are used.', 'string'],
  ['X-Headgate-Order', 'Providers or models, separated by commas: these of the request are tried first, in this order.', 'string'],
  ['X-Headgate-Max-Price', 'USD per million tokens, with three input tokens for each output token: no model above it is used, and none without a known price.', 'number']
].map(([name = '', description = '', type = '']) => ({ name, in: 'header', required: false, description, schema: { type } }))

/** The headers of endpoints that call a provider, which are what the limits of keys count. */
const limitHeaders: { [key: string]: Json } = Object.fromEntries(['requests', 'tokens'].flatMap(what => [
  [`x-ratelimit-limit-${what}`, { description: `Limit of ${what} per minute for this key.`, schema: { type: 'integer' } }],
  [`x-ratelimit-remaining-${what}`, { description: `Remaining ${what}.`, schema: { type: 'integer' } }],
  [`x-ratelimit-reset-${what}`, { description: 'Time until the full limit is available again: `20ms`, `1.5s`, `6m0s`.', schema: { type: 'string' } }]
]))
const retryAfter: { [key: string]: Json } = {
  'retry-after': { description: 'Seconds to wait before a retry, 1 to 60.', schema: { type: 'integer' } }
}

/** Headers of every answer. */
const callHeaders: { [key: string]: Json } = {
  'x-request-id': { description: 'Id of the call, as in the log.', schema: { type: 'string' } },
  'x-headgate-overhead-ms': { description: 'Milliseconds that Headgate itself took.', schema: { type: 'number' } }
}
/** Headers of endpoints that call a provider. */
const routeHeaders: { [key: string]: Json } = {
  'x-headgate-model': { description: 'The model that produced the answer, or was called last.', schema: { type: 'string' } },
  'x-headgate-attempts': { description: 'Number of requests to providers.', schema: { type: 'integer' } },
  'x-headgate-route': {
    description: 'Models that were tried and why each failed, then the one that succeeded and why it was chosen. ' +
      'Absent when there was one model and it succeeded.',
    schema: { type: 'string' }
  },
  'x-upstream-request-id': { description: 'The id that the provider gave the request.', schema: { type: 'string' } }
}
const errorHeaders: { [key: string]: Json } = {
  'x-should-retry': { description: '`false` where a retry cannot help.', schema: { type: 'string', enum: ['false'] } }
}

/** Headers of any answer of an endpoint, errors included. */
function headersOf (endpoint: EndpointDoc): { [key: string]: Json } {
  const { dryRun, routed = dryRun !== undefined } = endpoint
  return { ...callHeaders, ...routed && routeHeaders, ...ownHeaders(endpoint) }
}

function ownHeaders ({ headers = {} }: EndpointDoc): { [key: string]: Json } {
  return Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]))
}

function refer (headers: { [key: string]: Json }): { [key: string]: Json } {
  return Object.fromEntries(Object.keys(headers).map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

function streamEnd ({ errorBody }: EndpointDoc): string {
  return errorBody === undefined
    ? 'The last message is `[DONE]`, or an event named `error` with an `ErrorBody`.'
    : 'An answer that breaks off ends with an event that says so.'
}

/** Returns whether the limits of keys count its calls. */
function isLimited ({ request, access }: EndpointDoc): boolean {
  return request !== undefined && access === undefined
}

/** Lists the responses by status; one that may be an answer and an error has either body. */
function responsesOf (endpoint: EndpointDoc, names: Names): { [key: string]: Json } {
  const [errors, answers] = [errorsOf(endpoint, names), answersOf(endpoint, names)]
  const either = Object.entries(answers).map(([status, answer]) => [status, answerOrError(answer, errors[status])])
  return { ...errors, ...Object.fromEntries(either) }
}

interface Response extends Readonly<Record<string, Json>> {
  description: string
  headers: { [key: string]: Json }
  content: { [key: string]: { schema?: Json } }
}

function answerOrError (answer: Response, error: Response | undefined): Response {
  if (error === undefined) return answer
  const schemas = [answer, error].flatMap(({ content }) => content[json]?.schema ?? [])
  return {
    description: `${answer.description}\n\n${error.description}`,
    headers: { ...answer.headers, ...error.headers },
    content: { ...answer.content, [json]: { schema: { anyOf: schemas } } }
  }
}

const json = 'application/json'

/** Answers of one status are one response with several media types. */
function answersOf (endpoint: EndpointDoc, names: Names): Record<string, Response> {
  const statuses = new Map<number, AnswerDoc[]>()
  for (const answer of endpoint.answers) {
    const { status = 200 } = answer
    statuses.set(status, [...statuses.get(status) ?? [], answer])
  }
  return Object.fromEntries([...statuses].map(([status, answers]) => [status, {
    description: answers.map(({ description, mediaType }) => (
      mediaType === 'text/event-stream' ? `${description} ${streamEnd(endpoint)}` : description
    )).join(' '),
    headers: refer({
      ...headersOf(endpoint), ...isLimited(endpoint) && limitHeaders, ...(status === 202 || status === 503) && retryAfter
    }),
    content: Object.fromEntries(answers.map(({ mediaType = json, schema }) => [
      mediaType, schema === undefined ? {} : { schema: print(schema, names) }
    ]))
  }]))
}

/** Codes of one status are one response that lists them. */
function errorsOf (endpoint: EndpointDoc, names: Names): Record<string, Response> {
  const { request, errors = [], open = false, errorBody } = endpoint
  const possible = new Set([
    ...(open ? [] : withKey), ...(request === undefined ? [] : withBody), ...errors, ...alwaysPossible
  ])
  const statuses = new Map<number, ErrorCode[]>()
  for (const code of possible) {
    for (const status of [codes[code].status, ...otherStatuses[code] ?? []]) {
      statuses.set(status, [...statuses.get(status) ?? [], code])
    }
  }
  const content = { [json]: { schema: print(errorBody ?? ErrorBody, names) } }
  const headers = { ...headersOf(endpoint), ...errorHeaders, ...isLimited(endpoint) && limitHeaders }
  const responses: Record<string, Response> = Object.fromEntries([...statuses].map(([status, codesOfIt]) => [status, {
    description: codesOfIt.map(code => `\`${code}\`: ${codes[code].message}`).join('\n\n'),
    headers: refer({
      ...(status === 429 || status === 503) && retryAfter,
      ...headers,
      ...status === 503 && endpoint.access === undefined && limitHeaders
    }),
    content
  }]))
  responses['4XX'] = { description: otherRefusals(endpoint), headers: refer(headers), content }
  if (request === undefined || errorBody !== undefined) return responses
  return {
    ...responses,
    422: {
      description: 'A field of the request is missing or has a wrong value.',
      headers: refer(headersOf(endpoint)),
      content: { [json]: { schema: print(ValidationErrorBody, names) } }
    }
  }
}

/** Describes the statuses that come from HTTP itself or from the provider, and are too many to list. */
function otherRefusals ({ errors = [] }: EndpointDoc): string {
  const ofHttp = '`invalid_value`: An unknown expectation (417) or the host name of another service (421).'
  if (!errors.includes('upstream_invalid_request')) return ofHttp
  return ['`upstream_invalid_request`: The provider refused the request, with a status that the gateway passes on.', ofHttp].join('\n\n')
}

const parameter = /[:*](\w+)/g

function templateOf (path: string): string {
  return path.replace(parameter, '{$1}')
}

function parametersOf ({ path, query = {}, requestHeaders = {} }: EndpointDoc): Json[] {
  return [
    ...[...path.matchAll(parameter)].map(([, name = '']): Json => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query).map(([name, { description, type }]): Json => ({ name, in: 'query', required: false, description, schema: { type } })),
    ...Object.entries(requestHeaders).map(([name, description]): Json => ({ name, in: 'header', required: false, description, schema: { type: 'string' } }))
  ]
}

type Names = ReadonlyMap<unknown, string>

/** Returns a schema as JSON; a named one, wherever it stands, as a reference. */
function print (value: unknown, names: Names): Json {
  const name = names.get(value)
  return name === undefined ? inner(value, names) : { $ref: `#/components/schemas/${name}` }
}

/** Returns the same, but for the schema itself, which stands here under its name. */
function inner (value: unknown, names: Names): Json {
  if (Array.isArray(value)) return value.map(item => print(item, names))
  if (isObject(value)) return mapValues(value, item => print(item, names))
  // Schemas are JSON; what TypeBox keeps beside it is not enumerable.
  return value as Json
}

function mapValues (from: object, to: (value: unknown) => Json): { [key: string]: Json } {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, to(value)]))
}
