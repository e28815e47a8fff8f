/**
 * Removes from a provider's text what the caller must not read: keys and parts of keys, organisations,
 * projects, teams, email addresses.
 *
 * Known secrets are replaced first, by value, so that no pattern can leave a part of one. Patterns require a
 * digit, a capital or an asterisk where an ordinary identifier has none: a caller who sent `user_location`
 * must be able to read that name in the error.
 */

import type { GatewayError } from '../core/errors.ts'

export const mark = '[redacted]'
const maxLength = 2000

/** A pattern and its replacement. Each is bounded, so that it takes time linear in the text. */
type Replacement = readonly [pattern: RegExp, replacement: string]

/** Patterns of keys anywhere in a text. */
export const keyPatterns: readonly Replacement[] = [
  [/\bsk[-_][\w*.-]{6,200}/gi, mark],
  [/\b(?:pk|rk|hg|xai|gsk|fw|key)[-_](?=[\w*.-]{0,40}[\dA-Z*])[\w*.-]{6,200}/g, mark],
  [/\b[Bb]earer\s{1,4}(?=[a-z_.~+/=-]{0,40}[\dA-Z*])[\w*.~+/=-]{6,400}/g, mark],
  [
    /\b(api[ _-]?key|key|token)( provided| given)?([:=]\s{0,4}["'`]?)(?=[A-Za-z_.~+/-]{0,40}[\d*])[\w*.~+/-]{6,400}/gi,
    `$1$2$3${mark}`
  ],
  [/\bAIza[\w-]{10,100}/g, mark]
]

const patterns: readonly Replacement[] = [
  ...keyPatterns,
  // A key with its middle hidden.
  [/[\w-]{0,40}\*{3,100}[\w-]{0,40}/g, mark],
  [/\borg[-_][A-Za-z0-9]{8,64}\b/g, mark],
  [/\b(?:proj|user|team|acct)[-_](?=[A-Za-z]{0,32}\d)[A-Za-z0-9]{12,64}\b/g, mark],
  [/\b(Team|API key ID|organization|project):?\s{1,4}[0-9a-f]{8}-[0-9a-f-]{27}\b/gi, `$1 ${mark}`],
  [/\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g, mark]
]

/**
 * Returns the text without secrets, at most 2000 characters.
 *
 * @param secrets values to be removed; those of three characters or fewer are not treated as secrets
 */
export function redact (text: string, secrets: readonly string[] = []): string {
  const open = withoutValues(text, secrets)
  let clean = open.length > maxLength ? `${open.slice(0, maxLength)}…` : open
  for (const [pattern, replacement] of patterns) clean = clean.replace(pattern, replacement)
  return clean
}

/** Returns the error without the secrets that its message or its cause quotes. */
export function redactError (error: GatewayError, secrets: readonly string[]): GatewayError {
  const cause = causeText(error.cause)
  const shown = `${error.message} ${cause}`
  if (!secrets.some(secret => secret.length > 3 && shown.includes(secret))) return error
  return error.with({ message: withoutValues(error.message, secrets), cause: withoutValues(cause, secrets) })
}

/** Returns the text without these values. Values of three characters or fewer stay. */
export function withoutValues (text: string, secrets: readonly string[]): string {
  return secrets.reduce((left, secret) => secret.length > 3 ? left.replaceAll(secret, mark) : left, text)
}

function causeText (cause: unknown): string {
  if (cause instanceof Error) return cause.message
  return typeof cause === 'string' ? cause : JSON.stringify(cause) ?? ''
}
