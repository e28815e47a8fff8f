import { explainRoute } from '../core/explain-route.ts'
import { hadChoiceOfRoutes } from '../core/record.ts'
import { toHeaderValue } from '../text/header-value.ts'
import type { Call } from '../core/call.ts'
import type { Reply } from '../core/reply.ts'

/** Adds headers of a call to those of its reply. */
export type AddHeaders = (headers: Record<string, string>, call: Call) => void

/** Returns all headers of a reply: those of the record, of the reply and of the configuration. */
export function replyHeaders (
  reply: Reply,
  { call, addHeaders }: { readonly call: Call, readonly addHeaders?: AddHeaders | undefined }
): Record<string, string> {
  const { id, record } = call
  const { request, routing, guards } = record
  const headers: Record<string, string> = {
    'x-request-id': id,
    'x-headgate-overhead-ms': (record.times.overheadMs ?? 0).toFixed(2)
  }
  if (record.trace !== undefined) headers['x-headgate-trace-id'] = record.trace.traceId
  if (routing.modelId !== undefined) headers['x-headgate-model'] = toHeaderValue(routing.modelId)
  if (routing.requestCount > 0) headers['x-headgate-attempts'] = String(routing.requestCount)
  if (routing.cache !== undefined) headers['x-headgate-cache'] = routing.cache
  if (guards.names !== undefined) headers['x-headgate-stages'] = guards.names.join(', ')
  if (hadChoiceOfRoutes(routing)) headers['x-headgate-route'] = explainRoute(record)
  if (request.ignoredFields !== undefined) {
    headers['x-headgate-ignored'] = toHeaderValue(request.ignoredFields.join(', '))
  }
  if (request.maxTokens !== undefined) headers['x-headgate-max-tokens'] = String(request.maxTokens)
  if (routing.upstreamRequestId !== undefined) {
    headers['x-upstream-request-id'] = toHeaderValue(routing.upstreamRequestId)
  }
  Object.assign(headers, reply.headers, record.limits.headers, record.cost.headers)
  addHeaders?.(headers, call)
  return headers
}
