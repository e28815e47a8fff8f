import { chatCompletionsErrors } from './chat-completions/errors.ts'
import type { ErrorFormat } from './dialect.ts'

/**
 * Returns how errors are written to a caller, also where no endpoint answers.
 *
 * @param path of the request, without its query
 */
export function errorFormatOf (_path: string, _headers: Readonly<Record<string, unknown>>): ErrorFormat {
  return chatCompletionsErrors
}
