import { jsonReplyHeaders } from '../../core/reply.ts'
import type { ErrorFormat } from '../dialect.ts'

/** Writes an error in OpenAI's format: `{ error }`, or `{ detail }` for an invalid request body. */
export const chatCompletionsErrors: ErrorFormat = failure => ({
  status: failure.status,
  headers: { ...jsonReplyHeaders, ...failure.headers() },
  body: JSON.stringify(failure.toBody())
})
