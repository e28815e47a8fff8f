import { objectOf } from '../json/type-guards.ts'
import { readObjectText, replaceFields } from '../json/object-text.ts'
import { redact } from '../text/redact.ts'
import type { OriginalError } from '../core/errors.ts'

/** The format of organisation ids, which identify the owner of a credential. */
const uuid = /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi

/**
 * Returns a provider's own error without secrets. The rest stays verbatim because clients match on the
 * wording.
 *
 * @param isOwnKey true if the caller's own key was used: its organisation is then not secret
 */
export function redactOriginal (
  original: OriginalError,
  secrets: readonly string[],
  isOwnKey: boolean
): OriginalError {
  const body = secrets.reduce(
    (text, secret) => (secret.length > 3 ? text.replaceAll(secret, '[redacted]') : text),
    original.body
  )
  const error = readObjectText(body)
  const range = error?.fields.get('error')
  if (error === undefined || range === undefined) return { ...original, body }
  const text = body.slice(range.start, range.end)
  const message = objectOf(objectOf(JSON.parse(body))?.['error'])?.['message'] // one field is read
  const fields = readObjectText(text)
  if (typeof message !== 'string' || fields === undefined) return { ...original, body }
  const shown = redact(isOwnKey ? message : message.replace(uuid, '[redacted]'))
  if (shown === message) return { ...original, body }
  const clean = replaceFields(text, fields, new Map([['message', JSON.stringify(shown)]]))
  return { ...original, body: replaceFields(body, error, new Map([['error', clean]])) }
}
