/** Adds headers to replies under the names that programs written for LiteLLM read. */

import { toHeaderValue } from '../text/header-value.ts'
import type { Call } from '../core/call.ts'

/** Adds what LiteLLM reports about a call, as far as it is known, in the same form. */
export function addLitellmHeaders (
  headers: Record<string, string>,
  { id, record, receivedAtMs }: Call
): void {
  headers['x-litellm-call-id'] = id
  const { 'x-headgate-model': model, 'x-headgate-cost-usd': cost } = headers
  if (model !== undefined) {
    headers['x-litellm-model-id'] = model
    headers['x-litellm-model-group'] = toHeaderValue(record.request.requestedModel ?? model)
  }
  if (cost !== undefined) headers['x-litellm-response-cost'] = cost
  headers['x-litellm-response-duration-ms'] = (performance.now() - receivedAtMs).toFixed(2)
  headers['x-litellm-overhead-duration-ms'] = headers['x-headgate-overhead-ms'] ?? '0'
}
