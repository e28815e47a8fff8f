import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { toCompletion, type Completion } from '../../lib/dialects/chat-completions/complete.ts'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { readResponse, streamOf } from '../support/adapters.ts'
import { cut, cutSizes } from '../support/cuts.ts'
import {
  fixtures,
  read,
  ask,
  bodyOf,
  question,
  stream,
  eventsOf,
  start,
  finish,
  stop
} from '../support/anthropic-answers.ts'
import { readEvents } from '../support/read-events.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

/** Folds events into the answer without `stream`; arguments compare as values, because spacing may differ. */
function folded (events: readonly ChatEvent[]): Completion {
  const [head, ...rest] = events
  t.equal(head?.type, 'answer-start')
  const started = {
    ...head,
    type: 'answer-start' as const,
    id: 'chatcmpl-1',
    model: 'anthropic/m',
    createdSeconds: 1
  }
  const text = JSON.stringify(toCompletion([{ events: [started, ...rest] }]), (key, value: unknown) => {
    return key === 'arguments' ? JSON.stringify(JSON.parse(String(value))) : value // spaces aside
  })
  return JSON.parse(text) as Completion // the request it was printed from
}

t.test('every request becomes the body in its fixture', async t => {
  const names = readdirSync(fixtures).filter(name => name.endsWith('.request.json'))
  t.ok(names.length > 30)
  for (const name of names) {
    const { model, streamed, request, body: expected } = JSON.parse(read(name).toString())
    t.strictSame(bodyOf(ask(request, model, streamed === true)), expected, name)
  }
})

t.test('every recorded stream gives its events, however its bytes are cut', async t => {
  const names = readdirSync(fixtures).filter(name => name.endsWith('.sse'))
  t.ok(names.length > 15)
  for (const name of names) {
    const expected: unknown = JSON.parse(read(name.replace('.sse', '.events.json')).toString())
    for (const size of cutSizes) {
      const events = readEvents(cut(read(name), size), streamOf(anthropicChat, question(name)))
      t.strictSame(events, expected, `${name} ${size}`)
    }
  }
})

t.test('a complete answer equals the folded stream of the same answer', async t => {
  const names = readdirSync(fixtures).filter(
    name => name.endsWith('.json') && !/\.(?:events|request)\./.test(name)
  )
  t.ok(names.length > 8)
  for (const name of names.map(name => name.replace('.json', ''))) {
    const complete = readResponse(anthropicChat, JSON.parse(read(`${name}.json`).toString()), question(name))
    t.strictSame(folded(complete), folded(stream(name)), name)
  }
})

t.test('any answer, streamed in any pieces, folds to the complete answer', async t => {
  const pieces = fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 4 })
  const block = fc.oneof(
    pieces.map(texts => ({ type: 'text' as const, texts })),
    pieces.map(texts => ({ type: 'thinking' as const, texts })),
    fc.record({
      type: fc.constant('tool_use' as const),
      input: fc.dictionary(fc.string(), fc.jsonValue()),
      at: fc.nat(20)
    }),
    fc.constant({ type: 'server_tool_use' as const })
  )
  fc.assert(
    fc.property(fc.array(block, { maxLength: 5 }), fc.nat(500), (blocks, outputTokens) => {
      const content: object[] = []
      const messages: object[] = [start]
      for (const [index, block] of blocks.entries()) {
        const begin = (value: object): number =>
          messages.push({ type: 'content_block_start', index, content_block: value })
        const add = (delta: object): number => messages.push({ type: 'content_block_delta', index, delta })
        if (block.type === 'text') {
          begin({ type: 'text', text: '' })
          for (const text of block.texts) add({ type: 'text_delta', text })
          content.push({ type: 'text', text: block.texts.join('') })
        } else if (block.type === 'thinking') {
          begin({ type: 'thinking', thinking: '', signature: '' })
          for (const thinking of block.texts) add({ type: 'thinking_delta', thinking })
          add({ type: 'signature_delta', signature: 'c2ln' })
          content.push({ type: 'thinking', thinking: block.texts.join(''), signature: 'c2ln' })
        } else if (block.type === 'tool_use') {
          const head = { type: 'tool_use', id: `toolu_${index}`, name: 'f' }
          const text = JSON.stringify(block.input)
          begin({ ...head, input: {} })
          for (const piece of [text.slice(0, block.at), text.slice(block.at)]) {
            if (text !== '{}') add({ type: 'input_json_delta', partial_json: piece })
          }
          content.push({ ...head, input: block.input })
        } else {
          begin(block)
          add({ type: 'input_json_delta', partial_json: '{"query":1}' })
          content.push(block)
        }
        messages.push({ type: 'content_block_stop', index })
      }
      messages.push({ ...finish, usage: { output_tokens: outputTokens } }, stop)
      const complete = {
        type: 'message',
        content,
        stop_reason: 'end_turn',
        usage: { input_tokens: 5, output_tokens: outputTokens }
      }
      t.strictSame(folded(eventsOf(...messages)), folded(readResponse(anthropicChat, complete, ask())))
    }),
    { numRuns: 60 }
  )
})
