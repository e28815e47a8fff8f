/** Counts input tokens with the provider's API, also for callers of other dialects. */

import { GatewayError } from '../../core/errors.ts'
import { countOf, objectOf, type JsonObject } from '../../json/type-guards.ts'
import { jsonHeaders } from '../json-api.ts'
import { invalidResponse } from '../provider-failure.ts'
import { responsesBody } from './chat-request.ts'
import { readError } from './errors.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { ResultEvent } from '../../core/events.ts'
import type { Adapter, AdapterInput } from '../provider.ts'

/** Fields that the count endpoint accepts; it rejects all others. */
const counted = [
  'model',
  'input',
  'previous_response_id',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'truncation',
  'personality',
  'conversation'
]

/**
 * @throws GatewayError `unsupported_value` for requests that are too large for one piece, or that this API
 *   does not support
 */
export const responsesTokenCount: Adapter<ChatInput, ResultEvent<number>> = {
  directDialects: ['responses'],
  request: input => {
    const given = input.direct === undefined ? translated(input) : parsed(input.direct)
    const body = Object.fromEntries(
      counted.flatMap(name => (given[name] === undefined ? [] : [[name, given[name]]]))
    )
    return {
      method: 'POST',
      path: '/responses/input_tokens',
      headers: { ...jsonHeaders, ...input.direct?.headers },
      body: JSON.stringify(body)
    }
  },
  read: () => ({ as: 'json', read: value => [{ type: 'result', result: countIn(value) }] }),
  error: readError
}

function parsed ({ body }: DirectRequest): JsonObject {
  if (typeof body !== 'string') throw tooLarge()
  return objectOf(JSON.parse(body)) ?? {} // the caller's body, already parsed within limits
}

/** Drops stop sequences: they do not count, and models served by another API may have them. */
function translated (input: AdapterInput<ChatInput>): JsonObject {
  if (input.quirks.responsesApi !== true) {
    throw new GatewayError('unsupported_value', { cause: 'a server without this API' })
  }
  if (input.isLarge === true) throw tooLarge()
  const { stop: _, ...request } = input.request
  return { ...responsesBody({ ...input, request }) }
}

function tooLarge (): GatewayError {
  return new GatewayError('unsupported_value', { cause: 'an input that is printed while it is sent' })
}

function countIn (value: unknown): number {
  const count = countOf(objectOf(value)?.['input_tokens'])
  if (count === undefined) throw invalidResponse('no count')
  return count
}
