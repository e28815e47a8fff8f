/**
 * Measures the cost of the callers' dialects: a complete in-process call, to a provider of the same dialect
 * and to another.
 */

import { equal } from 'node:assert/strict'
import { CallRecord } from '../lib/core/record.ts'
import { isObject } from '../lib/json/type-guards.ts'
import { messages } from '../pipelines/messages.ts'
import { responses } from '../pipelines/responses.ts'
import { eventCount, completeText } from '../lib/load/answers.ts'
import { callerDialects } from './support/caller-dialects.ts'
import { dialects, type Dialect } from './support/dialects.ts'
import { servicesTo, textOf } from './support/services.ts'
import { benchKey } from './support/settings.ts'
import type { Call } from '../lib/core/call.ts'
import type { Scenario } from './support/scenario.ts'

const handlers = { messages, responses }

function scenariosOf (dialect: keyof typeof handlers, { kind, complete, pieces }: Dialect): Scenario[] {
  const { body, frames } = callerDialects[dialect]
  const callOf = (streamed: boolean): () => Call => {
    const text = body('json', '1 KB', streamed)
    const request: unknown = JSON.parse(text)
    if (!isObject(request)) throw new TypeError(text)
    return () => ({
      id: 'req-bench',
      headers: { authorization: `Bearer ${benchKey}` },
      params: {},
      body: async () => await Promise.resolve(request),
      callerBody: () => ({ text: () => text, print: JSON.stringify }),
      signal: new AbortController().signal,
      receivedAtMs: performance.now(),
      record: new CallRecord(dialect)
    })
  }
  const answerOf = (reads: readonly string[], streamed: boolean): () => Promise<string> => {
    const handle = handlers[dialect](servicesTo(reads.map(read => Buffer.from(read)), { kind }))
    const call = callOf(streamed)
    return async () => await textOf(await handle(call()))
  }
  // Anthropic's frames have no ping, and are passed on unchanged.
  const sent = dialect === 'messages' && kind === 'anthropic' ? frames - 1 : frames
  return [
    {
      name: `${dialect}: ${kind}, complete answer, 1 KB both ways`,
      per: 'call',
      count: 1,
      run: answerOf([complete], false),
      check: result => equal(String(result).includes(completeText), true)
    },
    {
      name: `${dialect}: ${kind}, 200 events, 8 per read`,
      per: 'event',
      count: eventCount,
      run: answerOf(pieces(8), true),
      check: result => equal(String(result).split('\n\n').length - 1, sent)
    }
  ]
}

export const scenarios: readonly Scenario[] = dialects
  .filter(({ kind }) => kind === 'openai' || kind === 'anthropic')
  .flatMap(provider => [...scenariosOf('messages', provider), ...scenariosOf('responses', provider)])
