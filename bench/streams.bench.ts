/** Measures the cost of one stream event: bytes, messages, events, text; and the fold. */

import { equal } from 'node:assert/strict'
import { pipe } from 'it-pipe'
import { toCompletion, type Completion } from '../lib/dialects/chat-completions/complete.ts'
import { chatRequest } from '../lib/providers/chat-completions/chat-request.ts'
import { readResponse } from '../lib/providers/chat-completions/chat-response.ts'
import { readStream } from '../lib/providers/chat-completions/chat-stream.ts'
import { sseDecoder } from '../lib/wire/sse-decoder.ts'
import { normalise } from '../lib/stages/normalise.ts'
import { sseEncode } from '../lib/stages/sse-encode.ts'
import { batches, each, routedCall } from './stages.bench.ts'
import {
  eventCount,
  frameCount,
  streamPieces,
  texts,
  completeAnswer,
  completeText
} from '../lib/load/answers.ts'
import type { Batch } from '../lib/core/call.ts'
import type { ChatInput } from '../lib/chat/input.ts'
import type { ChatEvent } from '../lib/core/events.ts'
import type { Scenario } from './support/scenario.ts'

const call = await routedCall(true)
const [route] = call.routes
const ask = { request: call.request, route, quirks: {}, streamed: true }
const expectedText = texts.join('')
const perRead = [1, 8, 200] as const

const readers = perRead.map((count): Scenario => {
  const pieces = streamPieces(count).map(piece => Buffer.from(piece))
  return {
    name: `sse read: 200 events, ${count} per read`,
    per: 'event',
    count: eventCount,
    run: () => {
      const reader = sseDecoder(1_000_000)
      let messages = 0
      for (const piece of pieces) messages += reader.push(piece).length
      return messages
    },
    check: result => equal(result, frameCount(eventCount))
  }
})

/** A stream of text, or one whose chunks cannot take the fast path. */
function adapterRead (name: string, change: (frame: string, index: number) => string): Scenario {
  const sse = sseDecoder(1_000_000)
  const changed = streamPieces(1).map(change).join('')
  const messages = sse.push(Buffer.from(changed))
  return {
    name: `adapter read: chat-completions, 200 events, ${name}`,
    per: 'event',
    count: eventCount,
    run: () => {
      const reader = readStream(ask)
      const events: ChatEvent[] = []
      for (const message of messages) reader.read(message, events)
      return events
    },
    check: result => equal(answerText(result as ChatEvent[]), expectedText)
  }
}

function answerText (events: readonly ChatEvent[]): string {
  return events.map(event => event.type === 'text-delta' ? event.text : '').join('')
}

const encoders = perRead.map((count): Scenario => {
  const given = batches(count, call)
  return {
    name: `normalise and encode: 200 events, ${count} per read`,
    per: 'event',
    count: eventCount,
    run: async () => await joined(pipe(each(given), normalise(), sseEncode())),
    check: checkText
  }
})

async function joined (source: AsyncIterable<string | Uint8Array>): Promise<string> {
  let text = ''
  for await (const piece of source) text += typeof piece === 'string' ? piece : Buffer.from(piece).toString()
  return text
}

function checkText (result: unknown): void {
  equal(String(result).split('\n\n').length - 1, frameCount(eventCount))
}

const through = perRead.map((count): Scenario => {
  const pieces = streamPieces(count).map(piece => Buffer.from(piece))
  const read = async function * (): AsyncGenerator<Batch<ChatInput, ChatEvent>> {
    const sse = sseDecoder(1_000_000)
    const reader = readStream(ask)
    for (const piece of pieces) {
      const events: ChatEvent[] = []
      for (const message of sse.push(piece)) reader.read(message, events)
      yield { call, route, events }
    }
  }
  return {
    name: `bytes to bytes: 200 events, ${count} per read`,
    per: 'event',
    count: eventCount,
    run: async () => await joined(pipe(read(), normalise(), sseEncode())),
    check: checkText
  }
})

const normalised: Array<Batch<ChatInput, ChatEvent>> = []
for await (const batch of normalise()(each(batches(8, call)))) normalised.push(batch)

export const scenarios: readonly Scenario[] = [
  ...readers,
  adapterRead('text only', frame => frame),
  adapterRead('none alike', (frame, index) => frame.replace('fp_0123456789', `fp_${index}`)),
  ...encoders,
  ...through,
  {
    name: 'fold: 200 events',
    per: 'event',
    count: eventCount,
    run: () => toCompletion(normalised),
    check: result => equal((result as Completion).choices[0]?.message.content, expectedText)
  },
  {
    name: 'complete answer: parse, read, normalise, fold, print',
    per: 'call',
    count: 1,
    run: async () => {
      const events = readResponse(JSON.parse(completeAnswer), ask)
      const all: Array<Batch<ChatInput, ChatEvent>> = []
      for await (const batch of normalise()(each([{ call, route, events }]))) all.push(batch)
      return JSON.stringify(toCompletion(all))
    },
    check: result => equal(String(result).includes(completeText), true)
  },
  {
    name: 'upstream request: 1 KB',
    per: 'call',
    count: 1,
    run: () => chatRequest(ask).body,
    check: result => equal(String(result).includes('"model":"json"'), true)
  }
]
