/** Selects the parts of an error for the log: enough to find the fault, without content of requests. */

import { redact } from './redact.ts'

export function loggableError (cause: unknown): unknown {
  if (!(cause instanceof Error)) {
    return redact(typeof cause === 'string' ? cause : (JSON.stringify(cause) ?? ''))
  }
  const code: unknown = Reflect.get(cause, 'code')
  // Not by position: a message may have several lines.
  const at = cause.stack
    ?.split('\n')
    .map(line => line.trim())
    .filter(line => /^at .*:\d+:\d+\)?$/.test(line))
    .slice(0, 3)
  // A parser quotes the text that it could not read.
  const message = cause instanceof SyntaxError ? undefined : redact(cause.message)
  return {
    name: cause.name,
    message,
    code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
    at
  }
}

/**
 * Returns the error as one sentence for people: what failed, with the cause in brackets unless the message
 * has it.
 */
export function describeError (error: unknown): string {
  if (!(error instanceof Error)) return redact(String(error))
  // its message quotes the text
  if (error instanceof SyntaxError) return 'The response cannot be read.'
  const { message, cause } = error
  const why = cause instanceof Error && !message.includes(cause.message) ? ` (${cause.message})` : ''
  return redact(message + why)
}

/** Returns true for a system error with a code, such as `ENOENT`. */
export function hasCode (error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
