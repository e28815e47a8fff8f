import { chatCompletionsErrors } from './chat-completions/errors.ts'
import { responsesErrors } from './responses/errors.ts'
import type { ErrorFormat } from './dialect.ts'

/**
 * Returns how errors are written to a caller, also where no endpoint answers.
 *
 * @param path of the request, without its query
 */
export function errorFormatOf (path: string, _headers: Readonly<Record<string, unknown>>): ErrorFormat {
  return path === responsesPath || path.startsWith(`${responsesPath}/`) ? responsesErrors : chatCompletionsErrors
}

const responsesPath = '/v1/responses'
