/** What of an error may be logged: enough to find the fault, nothing of what was said. */

import { scrub } from '../scrub.ts'

export function causeOf (cause: unknown): unknown {
  if (!(cause instanceof Error)) return scrub(typeof cause === 'string' ? cause : JSON.stringify(cause) ?? '')
  const code: unknown = Reflect.get(cause, 'code')
  const at = cause.stack?.split('\n').slice(1, 4).map(line => line.trim())
  // A parser quotes the text it could not read.
  const message = cause instanceof SyntaxError ? undefined : scrub(cause.message)
  return { name: cause.name, message, code, at }
}
