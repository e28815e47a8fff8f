/** Describes the headers of requests and answers in the OpenAPI document. */

import type { Json } from './openapi-schemas.ts'
import type { EndpointDoc } from './endpoint-doc.ts'

export const dryRunHeader: Json = {
  name: 'X-Headgate-Dry-Run',
  in: 'header',
  required: false,
  description:
    'With `true` no request is sent to a provider: the answer is 200 and a `RouteDecision` with the models that ' +
    'would be used, in which order, and why. After a call, the header `x-headgate-route` of the answer says so.',
  schema: { type: 'string', enum: ['true', 'false'] }
}

/** Headers that say on whose behalf a call is made (`lib/validation/attribution`). */
export const attributionHeaders = requestHeaders([
  ['X-Headgate-Tags', 'Tags of the call, separated by commas: at most 20, each truncated to 64 characters.'],
  ['X-Litellm-Tags', 'The same.'],
  ['X-Litellm-End-User-Id', 'The end user; overrides `safety_identifier`, `user` and `metadata.user_id`.'],
  [
    'X-Session-Id',
    'The session of the call. The session headers of Claude Code, Codex and OpenCode are accepted too.'
  ]
])

/** Headers with which a caller restricts and orders the models of a call (`lib/routing/provider-choice`). */
export const preferenceHeaders = requestHeaders([
  [
    'X-Headgate-Only',
    'Providers or models, separated by commas: only these of the requested models are used.'
  ],
  [
    'X-Headgate-Order',
    'Providers or models, separated by commas: these of the requested models are tried first, in this order.'
  ],
  [
    'X-Headgate-Max-Price',
    'Maximum price in USD per million tokens, three input tokens to one output token. Models without a known price are not used.',
    'number'
  ]
])

const ownKey = 'A key of the caller at the provider, used instead of the key of the gateway.'

/** For endpoints that only fetch or delete objects at a provider. */
export const ownKeyHeader = { 'X-Provider-Key': ownKey }

/** Headers with which a caller selects the provider (`lib/routing/provider-choice`). */
export const providerHeaders = requestHeaders([
  ['X-Provider-Key', ownKey],
  ['X-Provider', 'The provider to use. Default: the provider of the model.'],
  ['X-Provider-Model', 'The model name at the provider; overrides the model in the body.']
])

/** Headers of endpoints that call a provider, which count towards the limits of keys. */
export const limitHeaders: { [key: string]: Json } = Object.fromEntries(
  ['requests', 'tokens'].flatMap(what => [
    [
      `x-ratelimit-limit-${what}`,
      { description: `Limit of ${what} per minute for this key.`, schema: { type: 'integer' } }
    ],
    [`x-ratelimit-remaining-${what}`, { description: `Remaining ${what}.`, schema: { type: 'integer' } }],
    [
      `x-ratelimit-reset-${what}`,
      {
        description: 'Time until the full limit is available again: `20ms`, `1.5s`, `6m0s`.',
        schema: { type: 'string' }
      }
    ]
  ])
)

export const retryAfter: { [key: string]: Json } = {
  'retry-after': { description: 'Seconds to wait before a retry.', schema: { type: 'integer' } }
}

/** Headers of calls whose budget is exhausted. */
export const budgetHeaders: { [key: string]: Json } = {
  'x-headgate-budget-reset': {
    description: 'When the budget resets, in Unix seconds. Absent if it never resets.',
    schema: { type: 'integer' }
  }
}

/** Headers of every reply. */
const callHeaders: { [key: string]: Json } = {
  'x-request-id': { description: 'Id of the call, as in the log.', schema: { type: 'string' } },
  'x-headgate-overhead-ms': {
    description: 'Milliseconds spent in Headgate itself.',
    schema: { type: 'number' }
  },
  'x-headgate-trace-id': {
    description:
      'Trace id of the call: from `traceparent`, or a new one. Absent if tracing is off.',
    schema: { type: 'string' }
  },
  'x-headgate-ignored': {
    description: 'Fields of the request that had no effect. Absent if there are none.',
    schema: { type: 'string' }
  }
}

/** Headers of endpoints that call a provider. */
const routeHeaders: { [key: string]: Json } = {
  'x-headgate-model': {
    description: 'The model that produced the answer, or was called last.',
    schema: { type: 'string' }
  },
  'x-headgate-max-tokens': {
    description:
      'The token limit of the answer, if the request allowed more than the model supports or the budget covers.',
    schema: { type: 'integer' }
  },
  'x-headgate-attempts': { description: 'Number of requests to providers.', schema: { type: 'integer' } },
  'x-headgate-route': {
    description:
      'The failed models with their errors, then the successful model and why it was chosen. ' +
      'Absent if the only model succeeded.',
    schema: { type: 'string' }
  },
  'x-headgate-cost-usd': {
    description:
      'Cost of the call in USD, as in its usage record; only for complete answers. ' +
      'Absent if no price is known or `usage.expose_cost` is off.',
    schema: { type: 'number' }
  },
  'x-headgate-budget-remaining-usd': {
    description:
      'Remaining USD of the tightest budget: after a complete answer with a known cost, else when the call was admitted. ' +
      'Absent without a budget or if `usage.expose_cost` is off.',
    schema: { type: 'number' }
  },
  'x-headgate-cost-status': {
    description: '`estimated`: the cost is an estimate. `unpriced`: no price is known. Absent otherwise.',
    schema: { type: 'string', enum: ['estimated', 'unpriced'] }
  },
  'x-headgate-cache': {
    description:
      'If caching is on: `hit` for a cached answer, `miss` for a new one, `bypass` if the cache was not used.',
    schema: { type: 'string', enum: ['hit', 'miss', 'bypass'] }
  },
  'x-headgate-stages': {
    description:
      'The guards that inspect the texts of the call, in order. Absent if there are none or `server.expose_stages` is off.',
    schema: { type: 'string' }
  },
  'x-upstream-request-id': {
    description: 'Request id from the provider.',
    schema: { type: 'string' }
  }
}

export const errorHeaders: { [key: string]: Json } = {
  'x-should-retry': {
    description: '`false` if a retry cannot help.',
    schema: { type: 'string', enum: ['false'] }
  }
}

/** Returns the headers of all replies of an endpoint, errors included. */
export function headersOf (endpoint: EndpointDoc): { [key: string]: Json } {
  const { dryRun, routed = dryRun !== undefined } = endpoint
  return { ...callHeaders, ...routed && routeHeaders, ...ownHeaders(endpoint) }
}

function ownHeaders ({ headers = {} }: EndpointDoc): { [key: string]: Json } {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }])
  )
}

/** Returns references to the document's headers. */
export function refer (headers: { [key: string]: Json }): { [key: string]: Json } {
  return Object.fromEntries(
    Object.keys(headers).map(name => [name, { $ref: `#/components/headers/${name}` }])
  )
}

/** Returns true if its calls count towards the limits of keys. */
export function isLimited ({ request, access }: EndpointDoc): boolean {
  return request !== undefined && access === undefined
}

/** Returns every reply header of these endpoints, each once. */
export function componentHeaders (endpoints: readonly EndpointDoc[]): { [key: string]: Json } {
  return {
    ...callHeaders,
    ...routeHeaders,
    ...errorHeaders,
    ...retryAfter,
    ...budgetHeaders,
    ...limitHeaders,
    ...Object.assign({}, ...endpoints.map(ownHeaders))
  }
}

/** Describes optional headers of a request. Default type: `string`. */
export function requestHeaders (
  rows: ReadonlyArray<readonly [name: string, description: string, type?: string]>
): Json[] {
  return rows.map(([name, description, type = 'string']) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type }
  }))
}
