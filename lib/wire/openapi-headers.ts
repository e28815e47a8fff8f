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
  ['X-Headgate-Tags', 'Tags of the call, separated by commas: at most 20, cut at 64 characters.'],
  ['X-Litellm-Tags', 'The same.'],
  ['X-Litellm-End-User-Id', 'The end user, in place of `safety_identifier`, `user` and `metadata.user_id`.'],
  ['X-Session-Id', 'The session of the call. The headers of Claude Code, Codex and OpenCode count as well.']
])

/** Headers with which a caller restricts and orders the models of a call (`lib/routing/provider-choice`). */
export const preferenceHeaders = requestHeaders([
  [
    'X-Headgate-Only',
    'Providers or models, separated by commas: only these of the request are used.'
  ],
  [
    'X-Headgate-Order',
    'Providers or models, separated by commas: these of the request are tried first, in this order.'
  ],
  [
    'X-Headgate-Max-Price',
    'USD per million tokens, with three input tokens for each output token: no model above it is used, and none without a known price.',
    'number'
  ]
])

const ownKey = 'A key of the caller at the provider, used in place of the one of the gateway.'

/** For endpoints that only fetch or delete objects at a provider. */
export const ownKeyHeader = { 'X-Provider-Key': ownKey }

/** Headers with which a caller selects the provider (`lib/routing/provider-choice`). */
export const providerHeaders = requestHeaders([
  ['X-Provider-Key', ownKey],
  ['X-Provider', 'The provider that answers. Default: that of the model.'],
  ['X-Provider-Model', 'The model at the provider, in place of the one in the body.']
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
    description: 'When the window of the budget ends, in Unix seconds. Absent for one without an end.',
    schema: { type: 'integer' }
  }
}

/** Headers of every reply. */
const callHeaders: { [key: string]: Json } = {
  'x-request-id': { description: 'Id of the call, as in the log.', schema: { type: 'string' } },
  'x-headgate-overhead-ms': {
    description: 'Milliseconds that Headgate itself took.',
    schema: { type: 'number' }
  },
  'x-headgate-trace-id': {
    description:
      'Id of the trace of the call: that of `traceparent`, or a new one. Absent where no traces are sent.',
    schema: { type: 'string' }
  },
  'x-headgate-ignored': {
    description: 'Fields of the request that had no effect. Absent when there are none.',
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
      'The limit of the answer in tokens, where the request allowed more than the model can write or than the budget of the key pays for.',
    schema: { type: 'integer' }
  },
  'x-headgate-attempts': { description: 'Number of requests to providers.', schema: { type: 'integer' } },
  'x-headgate-route': {
    description:
      'Models that were tried and why each failed, then the one that succeeded and why it was chosen. ' +
      'Absent when there was one model and it succeeded.',
    schema: { type: 'string' }
  },
  'x-headgate-cost-usd': {
    description:
      'What the call costs in USD, as its usage record has it: of complete answers. ' +
      'Absent where no price is known, and where `usage.expose_cost` is off.',
    schema: { type: 'number' }
  },
  'x-headgate-budget-remaining-usd': {
    description:
      'What is left in USD of the budget that has the least left: after a complete answer with a known cost, else when the call was admitted. ' +
      'Absent without a budget, and where `usage.expose_cost` is off.',
    schema: { type: 'number' }
  },
  'x-headgate-cost-status': {
    description: '`estimated`: the cost is an estimate. `unpriced`: no price is known. Absent for others.',
    schema: { type: 'string', enum: ['estimated', 'unpriced'] }
  },
  'x-headgate-cache': {
    description:
      'Where the gateway keeps answers: `hit` for the answer of an equal call, `miss` for a new one, `bypass` for a call that the cache has no part in.',
    schema: { type: 'string', enum: ['hit', 'miss', 'bypass'] }
  },
  'x-headgate-stages': {
    description:
      'The stages of the configuration that look at the texts of the call, in their order. Absent where there are none, and where `server.expose_stages` is off.',
    schema: { type: 'string' }
  },
  'x-upstream-request-id': {
    description: 'The id that the provider gave the request.',
    schema: { type: 'string' }
  }
}

export const errorHeaders: { [key: string]: Json } = {
  'x-should-retry': {
    description: '`false` where a retry cannot help.',
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
