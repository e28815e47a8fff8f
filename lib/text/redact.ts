import { GatewayError } from '../core/errors.ts'
import type { Secret } from '../core/secret.ts'

/**
 * Takes out of a provider's words what is nobody's business: keys and pieces of keys,
 * organisations, projects, teams, e-mail addresses.
 */
const secrets: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(?:sk|pk|rk|hg|xai|gsk|fw|key|Bearer)[-_ ][\w*.-]{6,}/gi, '[redacted]'],
  [/\bAIza[\w-]{10,}/g, '[redacted]'],
  [/\b(?:org|proj|user|team|acct)[-_][\w-]{6,}/gi, '[redacted]'],
  [/\b(Team|API key ID|organization|project):?\s+[0-9a-f]{8}-[0-9a-f-]{27}\b/gi, '$1 [redacted]'],
  [/\b[\w.+-]{1,256}@[\w-]+\.[\w.-]+\b/g, '[redacted]']
]
const maxLength = 2000

export function redact (text: string): string {
  let clean = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  for (const [pattern, replacement] of secrets) clean = clean.replace(pattern, replacement)
  return clean
}

/**
 * A provider's error as this caller may read it: of their own key if it was used, else of the
 * gateway's, and without the secrets themselves, wherever the provider quoted them: patterns only
 * know keys of the usual shapes.
 *
 * @param own the caller's own key at the provider
 */
export function forCaller (error: GatewayError, secrets?: readonly Secret[], own?: Secret): GatewayError
export function forCaller (error: unknown, secrets?: readonly Secret[], own?: Secret): unknown
export function forCaller (thrown: unknown, secrets: readonly Secret[] = [], own?: Secret): unknown {
  if (!(thrown instanceof GatewayError)) return thrown
  const error = own === undefined ? thrown : thrown.withOwnKey ?? thrown
  const texts = [...secrets, ...own === undefined ? [] : [own]].map(secret => secret.reveal()).filter(text => text.length > 3)
  const told = `${error.message} ${printed(error.cause)}`
  if (!texts.some(text => told.includes(text))) return error
  const without = (text: string): string => texts.reduce((left, secret) => left.replaceAll(secret, '[redacted]'), text)
  return error.with({ message: without(error.message), cause: without(printed(error.cause)) })
}

function printed (cause: unknown): string {
  if (cause instanceof Error) return cause.message
  return typeof cause === 'string' ? cause : JSON.stringify(cause) ?? ''
}
