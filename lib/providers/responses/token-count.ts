/** Has the tokens of an input counted by the provider, for callers who speak this API themselves. */

import { GatewayError } from '../../core/errors.ts'
import { numberOf, objectOf } from '../../json/guards.ts'
import { jsonHeaders } from '../json-headers.ts'
import { invalidResponse } from '../provider-failure.ts'
import { readError } from './errors.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ResultEvent } from '../../core/events.ts'
import type { Adapter } from '../provider.ts'

/** The fields of a request that are counted; all others are refused there. */
const counted = [
  'model', 'input', 'previous_response_id', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'text', 'reasoning', 'truncation',
  'personality', 'conversation'
]

/** @throws GatewayError `unsupported_value` for requests that have been translated, and for those too large to be in one piece */
export const responsesTokenCount: Adapter<ChatInput, ResultEvent<number>> = {
  directDialects: ['responses'],
  request: ({ direct }) => {
    if (typeof direct?.body !== 'string') throw new GatewayError('unsupported_value', { cause: 'no input of this API in one piece' })
    const given = objectOf(JSON.parse(direct.body)) ?? {}
    const body = Object.fromEntries(counted.flatMap(name => given[name] === undefined ? [] : [[name, given[name]]]))
    return { method: 'POST', path: '/responses/input_tokens', headers: { ...jsonHeaders, ...direct.headers }, body: JSON.stringify(body) }
  },
  read: () => ({ as: 'json', read: value => [{ type: 'result', result: countIn(value) }] }),
  error: readError
}

function countIn (value: unknown): number {
  const count = numberOf(objectOf(value)?.['input_tokens'])
  if (count === undefined) throw invalidResponse('no count')
  return count
}
