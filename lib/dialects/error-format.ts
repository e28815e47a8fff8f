import { chatCompletionsErrors } from './chat-completions/errors.ts'
import { messagesErrors } from './messages/errors.ts'
import { responsesErrors } from './responses/errors.ts'
import type { ErrorFormat } from './dialect.ts'

/**
 * Returns how errors are written to a caller, also where no endpoint answers.
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

/** Matches the paths of `/v1/messages` and `/v1/responses`, and of their aliases. */
const ofDialect = /^(?:\/openai|\/anthropic)?(?:\/v1)?\/(messages|responses)(?:\/|$)/i
