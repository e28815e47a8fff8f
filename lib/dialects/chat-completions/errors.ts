import { jsonReplyHeaders } from '../../core/reply.ts'
import type { ErrorFormat } from '../dialect.ts'

/**
 * Writes an error as OpenAI's clients read it: `{ error }`, or `{ detail }` for a request of the wrong shape.
 */
export const chatCompletionsErrors: ErrorFormat = failure => ({
  status: failure.status,
  headers: { ...jsonReplyHeaders, ...failure.headers() },
  body: JSON.stringify(failure.toBody())
})
