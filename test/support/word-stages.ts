/** A guard for tests: replaces one word in every text it inspects. */

import { GatewayError } from '../../lib/core/errors.ts'
import { createEndpoints } from '../../pipelines/index.ts'
import type { GatewayOptions } from '../../lib/gateway.ts'
import type { TextGuards } from '../../lib/guards/text-guards.ts'
import type { TextEdit, TextFilter } from '../../lib/guards/text-filter.ts'
import type { GuardPoint } from '../../schemas/config/guards.ts'

export const word = 'Zanzibar'
export const replacement = '(an island)'

/** Returns the filter that replaces a word. */
export function wordFilter (found: string = word, reach = found.length + 1): TextFilter {
  return {
    reach,
    alters: true,
    find: (text, from, until) => {
      const edits: TextEdit[] = []
      for (
        let start = text.indexOf(found, from);
        start !== -1 && start < until;
        start = text.indexOf(found, start + found.length)
      ) {
        edits.push({ start, end: start + found.length, replacement })
      }
      return edits
    },
    refusal: () => new GatewayError('content_policy_violation', { message: 'A word is not allowed here.' })
  }
}

/** Returns guards that replace a word at these points. */
export function wordStages (
  points: readonly GuardPoint[] = ['request', 'answer', 'tool_call', 'tool_result'],
  found = word
): TextGuards {
  const filter = wordFilter(found)
  return {
    layers: [
      {
        kind: 'filters',
        filter: (_call, wanted) => wanted.some(point => points.includes(point)) ? filter : undefined
      }
    ]
  }
}

/** Returns the gateway parts for such guards. */
export function withStages (textGuards: TextGuards): Pick<GatewayOptions, 'endpoints'> {
  return { endpoints: services => createEndpoints({ ...services, textGuards }) }
}
