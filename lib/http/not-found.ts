import { GatewayError } from '../core/errors.ts'

/** Paths of the providers' APIs that clients know and the gateway has not, with what serves instead. The first match counts. */
const elsewhere: ReadonlyArray<readonly [path: RegExp, sentence: string]> = [
  [/^\/v1\/(?:messages\/)?batches\b/, 'Batches are not available. Send each request by itself, or with `deferred: true` to POST /v1/chat/completions.'],
  [/^\/v1\/(?:files|uploads)\b/, 'Files are not stored here. Send documents and images within the request, as base64.'],
  [/^\/v1\/(?:assistants|threads|conversations|chatkit)\b/, 'Conversations are kept as responses: use `previous_response_id` of POST /v1/responses.'],
  [/^\/v1\/vector_stores\b/, 'Vector stores are not available. POST /v1/embeddings makes the vectors for one of your own.'],
  [/^\/v1\/realtime\b/, 'Realtime sessions are not available. Use POST /v1/audio/speech and POST /v1/audio/transcriptions.'],
  [/^\/v1\/(?:skills|containers|fine_tuning|evals|moderations|videos)\b/, 'This part of the API is not available. GET /openapi.json lists what is.'],
  [/^\/v1\/complete\b/, 'Text completions of this form are not available. Use POST /v1/messages.']
]

/** Returns the error for a path that no endpoint serves, with what to use instead where clients are known to ask for it. */
export function notFound (path: string): GatewayError {
  return new GatewayError('not_found', { message: elsewhere.find(([pattern]) => pattern.test(path))?.[1] })
}
