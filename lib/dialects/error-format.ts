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
  if (isWithin(responsesPath, path)) return responsesErrors
  return isWithin(messagesPath, path) || headers['anthropic-version'] !== undefined
    ? messagesErrors
    : chatCompletionsErrors
}

const messagesPath = '/v1/messages'
const responsesPath = '/v1/responses'

function isWithin (root: string, path: string): boolean {
  return path === root || path.startsWith(`${root}/`)
}
