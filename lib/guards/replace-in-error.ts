import { everywhere, text, type ReplaceText } from '../json/place-table.ts'
import type { GatewayError } from '../core/errors.ts'

/** Replaces the texts of an error: providers may quote the request or their answer in it. */
export function replaceInError (error: GatewayError, replace: ReplaceText): GatewayError {
  const message = replace(error.message, text)
  const cause = replacedCause(error.cause, replace)
  const { original } = error
  const body = original === undefined ? undefined : replacedBody(original.body, replace)
  if (message === error.message && cause === error.cause && body === original?.body) return error
  return error.with({
    message,
    cause,
    ...original !== undefined && body !== undefined && { original: { ...original, body } }
  })
}

/** Adapters put the provider's message there, for the log. An `Error` has none. */
function replacedCause (cause: unknown, replace: ReplaceText): unknown {
  return cause instanceof Error ? cause : everywhere(undefined).replace(cause, replace)
}

function replacedBody (body: string, replace: ReplaceText): string {
  try {
    return everywhere(undefined).replaceIn(body, replace)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return replace(body, text)
  }
}
