/**
 * Gemini failures, from a status and body or from an error inside a stream. The body is a `google.rpc.Status`
 * under `error`, sometimes in a list of one; proxies send HTML.
 *
 * @see https://ai.google.dev/gemini-api/docs/troubleshooting
 */

import { clampSeconds, retryAfterSeconds } from '../retry-after.ts'
import { numberOf, objectOf, objectsOf } from '../../json/type-guards.ts'
import type { ErrorStatus } from './wire.ts'
import type { Failure, FailureKind } from '../provider-failure.ts'
import type { UpstreamFailure } from '../provider.ts'

/** Characters of a message that are searched. */
const maxMessageLength = 8000

const statuses: ReadonlyMap<unknown, number> = new Map([
  ['INVALID_ARGUMENT', 400],
  ['FAILED_PRECONDITION', 400],
  ['OUT_OF_RANGE', 400],
  ['UNAUTHENTICATED', 401],
  ['PERMISSION_DENIED', 403],
  ['NOT_FOUND', 404],
  ['ALREADY_EXISTS', 409],
  ['ABORTED', 409],
  ['RESOURCE_EXHAUSTED', 429],
  ['CANCELLED', 499],
  ['INTERNAL', 500],
  ['UNKNOWN', 500],
  ['DATA_LOSS', 500],
  ['UNIMPLEMENTED', 501],
  ['UNAVAILABLE', 503],
  ['DEADLINE_EXCEEDED', 504]
])

/** Interprets a non-2xx response. */
export function readError ({ status, headers, body }: UpstreamFailure): Failure {
  const said = statusIn(body)
  return classify(status, said, retryAfterSeconds(headers) ?? retryDelay(said))
}

/** Reads an error sent instead of a response, if there is one. */
export function inBandError (wire: Record<string, unknown>): Failure | undefined {
  if (wire['error'] === undefined || wire['error'] === null) return undefined
  const said = statusIn(wire)
  const code = numberOf(said.code)
  const status = code !== undefined && code >= 400 ? code : (statuses.get(said.status) ?? 500)
  return classify(status, said, retryDelay(said))
}

function statusIn (body: unknown): ErrorStatus {
  const outer = objectOf(Array.isArray(body) ? body[0] : body)
  return objectOf(outer?.['error']) ?? {}
}

function classify (status: number, said: ErrorStatus, retryAfterSeconds: number | undefined): Failure {
  const message =
    typeof said.message === 'string' && said.message !== '' ? withoutProjects(said.message) : undefined
  const fact = (kind: FailureKind, more: Partial<Failure> = {}): Failure => ({
    kind,
    message,
    cause: { status, said: said.status },
    ...more
  })

  if (isCredentialProblem(status, said, message)) return fact('credential', { status })
  if (status === 402) return fact('quota')
  if (status === 400 && isTooLong(message)) return fact('context_length', { param: 'messages' })
  switch (status) {
    case 404:
      return fact('model', { param: 'model' })
    case 413:
      return fact('too_large')
    case 429:
      return fact('rate_limit', { retryAfterSeconds })
    case 503:
      return fact('overloaded', { retryAfterSeconds })
    case 408:
    case 504:
      return fact('timeout')
    // A conflicting operation or a proxy timeout: not the caller's fault.
    case 409:
    case 499:
      return fact('error')
    default:
      return status >= 400 && status < 500 ? fact('invalid_request', { status }) : fact('error')
  }
}

/** Searches only the beginning: the phrase is short, a hostile message may be long. */
function isTooLong (message = ''): boolean {
  return /token count.{0,200}exceeds|exceeds the (?:maximum|limit).{0,200}tokens/i.test(
    message.slice(0, 2000)
  )
}

/** Status 400 also means a wrong key, an account without billing, or an unsupported region. */
function isCredentialProblem (
  status: number,
  { status: name, details }: ErrorStatus,
  message = ''
): boolean {
  if (status === 401 || status === 403) return true
  if (status !== 400) return false
  return (
    objectsOf(details).some(({ reason }) => reason === 'API_KEY_INVALID' || reason === 'API_KEY_EXPIRED') ||
    /api key (?:not valid|expired)/i.test(message) ||
    (name === 'FAILED_PRECONDITION' && /enable billing|location is not supported/i.test(message))
  )
}

/** Reads `RetryInfo.retryDelay`, a duration such as `34.4s`, in seconds from 1 to 60. */
function retryDelay ({ details }: ErrorStatus): number | undefined {
  for (const { retryDelay: delay } of objectsOf(details)) {
    const seconds = typeof delay === 'string' ? /^([\d.]+)s$/.exec(delay)?.[1] : undefined
    if (seconds !== undefined && Number.isFinite(Number(seconds))) return clampSeconds(Number(seconds))
  }
  return undefined
}

/** Removes project numbers. */
function withoutProjects (text: string): string {
  return text
    .slice(0, maxMessageLength)
    .replace(/(\bprojects?(?:_number)?[:/ =]{1,4})[\w-]{0,40}\d[\w-]{0,40}/gi, '$1[redacted]')
}
