import { chatCompletionsErrors } from './chat-completions/errors.ts'
import { messagesErrors } from './messages/errors.ts'
import { responsesErrors } from './responses/errors.ts'
import type { ErrorFormat } from './dialect.ts'

/**
 * Returns the error format for a caller, even if no endpoint matches.
 *
 * @param path of the request, without its query
 */
export function errorFormatOf (path: string, headers: Readonly<Record<string, unknown>>): ErrorFormat {
  const dialect = ofDialect.exec(path)?.[1]?.toLowerCase()
  if (dialect === 'responses') return responsesErrors
  return dialect === 'messages' || headers['anthropic-version'] !== undefined
    ? messagesErrors
    : chatCompletionsErrors
}

/** Matches `/v1/messages`, `/v1/responses` and their aliases. */
const ofDialect = /^(?:\/openai|\/anthropic)?(?:\/v1)?\/(messages|responses)(?:\/|$)/i
