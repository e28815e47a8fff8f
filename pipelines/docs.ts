/** Documentation shared by several endpoints. */

import type { EndpointDoc } from '../lib/wire/endpoint-doc.ts'

/** The documentation of an endpoint that is not in its row of the table. */
export type Docs = Omit<EndpointDoc, 'method' | 'path'>

/** Errors of endpoints that call a provider. */
export const providerErrors = [
  'model_not_found',
  'unknown_provider',
  'context_length_exceeded',
  'content_policy_violation',
  'content_refused',
  'upstream_invalid_request',
  'rate_limit_exceeded',
  'insufficient_quota',
  'invalid_provider_key',
  'upstream_error',
  'upstream_unreachable',
  'upstream_invalid_response',
  'upstream_stream_interrupted',
  'upstream_auth_failed',
  'upstream_quota_exhausted',
  'stage_unavailable',
  'upstream_overloaded',
  'upstream_timeout',
  'upstream_too_slow',
  'timeout'
] as const
