/**
 * A provider's answer has two forms: complete, and streamed in pieces of any size. For any content, a caller
 * who folds the stream gets the same as a caller without `stream`.
 */

import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { toCompletion } from '../../lib/dialects/chat-completions/complete.ts'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { googleChat } from '../../lib/providers/google/index.ts'
import { xaiChat } from '../../lib/providers/xai/index.ts'
import { holds } from '../support/property.ts'
import { readResponse, streamOf } from '../support/adapters.ts'
import { googleAsk } from '../support/google.ts'
import { readEvents } from '../support/read-events.ts'
import { xaiAsk } from '../support/xai.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { Adapter, AdapterInput } from '../../lib/providers/provider.ts'

function folded (events: readonly ChatEvent[]): unknown {
  const [head, ...rest] = events
  if (head?.type !== 'answer-start') throw new Error('an answer begins with its head')
  const started = { ...head, id: 'chatcmpl-1', model: 'x/m', createdSeconds: 1 }
  return JSON.parse(JSON.stringify(toCompletion([{ events: [started, ...rest] }])))
}

function sse (payloads: readonly object[], end = ''): string {
  return payloads.map(payload => `data: ${JSON.stringify(payload)}\n\n`).join('') + end
}

/** @throws AssertionError, which the generator uses to shrink the answer */
function agree (
  adapter: Adapter<ChatInput, ChatEvent>,
  ask: AdapterInput<ChatInput>,
  { complete, stream }: { complete: object, stream: string }
): void {
  deepStrictEqual(
    folded(readEvents([Buffer.from(stream)], streamOf(adapter, ask))),
    folded(readResponse(adapter, complete, ask))
  )
}

/** Takes turns between lists, as choices do that are generated at the same time. */
function interleaved<T> (lists: ReadonlyArray<readonly T[]>): T[] {
  const longest = Math.max(0, ...lists.map(list => list.length))
  return Array.from({ length: longest }, (_, at) => lists.flatMap(list => list.slice(at, at + 1))).flat()
}

const text = fc.string({ unit: 'grapheme', maxLength: 6 })
const pieces = fc.array(text, { maxLength: 4 })
const object = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
const logprob = fc.record({
  token: text,
  logprob: fc.integer({ min: -9, max: 0 }),
  bytes: fc.constant(null),
  top_logprobs: fc.constant([])
})

/** Cuts the text at the given places. */
function cutAt (text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map(cut => cut % (text.length + 1)).toSorted((a, b) => a - b), text.length]
  return places.slice(1).map((place, at) => text.slice(places[at], place))
}

const cuts = fc.array(fc.nat(200), { maxLength: 3 })
const call = fc.oneof(
  fc.record({
    kind: fc.constant('function' as const),
    text: object.map(value => JSON.stringify(value)),
    cuts
  }),
  fc.record({
    kind: fc.constant('custom' as const),
    text: fc.oneof(text, fc.nat().map(String), fc.constant('11')),
    cuts
  })
)
const choice = fc.record({
  texts: pieces,
  reasoning: pieces,
  refusal: pieces,
  calls: fc.array(call, { maxLength: 3 }),
  logprobs: fc.option(fc.array(logprob, { minLength: 1, maxLength: 2 }), { nil: undefined }),
  annotations: fc.array(fc.record({ type: fc.constant('url_citation'), url: text }), { maxLength: 2 }),
  mood: fc.option(text, { nil: undefined }),
  finish: fc.constantFrom('stop', 'length', 'content_filter')
})
const counts = fc.record({
  prompt: fc.nat(99),
  completion: fc.nat(99),
  reasoning: fc.nat(99),
  beside: fc.boolean()
})

const dialect = fc
  .record({
    choices: fc.array(choice, { minLength: 1, maxLength: 3 }),
    counts,
    citations: fc.array(text, { maxLength: 2 })
  })
  .map(({ choices, counts, citations }) => {
    const usage = {
      prompt_tokens: counts.prompt,
      completion_tokens: counts.completion,
      total_tokens: counts.prompt + counts.completion + (counts.beside ? counts.reasoning : 0),
      completion_tokens_details: { reasoning_tokens: counts.reasoning }
    }
    const head = { id: 'x', created: 1, model: 'm', system_fingerprint: 'fp', service_tier: 'default' }
    const chunk = (choices: object[], more: object = {}): object => ({
      ...head,
      object: 'chat.completion.chunk',
      choices,
      ...more
    })
    const lists = choices.map((said, index) => {
      const one = (delta: object, more: object = {}): object =>
        chunk([{ index, delta, finish_reason: null, ...more }])
      return [
        one({ role: 'assistant', content: '' }),
        ...said.reasoning.map(reasoning_content => one({ reasoning_content })),
        ...said.texts.map(content => one({ content })),
        ...(said.logprobs ?? []).map(token =>
          one({ content: '' }, { logprobs: { content: [token], refusal: null } })
        ),
        ...said.refusal.map(refusal => one({ refusal })),
        ...said.annotations.map(annotation => one({ annotations: [annotation] })),
        ...(said.mood === undefined ? [] : [one({ mood: said.mood })]),
        ...said.calls.flatMap(({ kind, text, cuts }, call) => {
          const piece = (value: string): object =>
            kind === 'custom' ? { custom: { input: value } } : { function: { arguments: value } }
          const name = { id: `call_${index}_${call}`, type: kind, [kind]: { name: 'f' } }
          return [name, ...cutAt(text, cuts).map(piece)].map(delta =>
            one({ tool_calls: [{ index: call, ...delta }] })
          )
        }),
        one({}, { finish_reason: said.finish })
      ]
    })
    const messages = choices.map((said, index) => ({
      index,
      message: {
        role: 'assistant',
        content: said.texts.join(''),
        reasoning_content: said.reasoning.join(''),
        refusal: said.refusal.join('') || null,
        annotations: said.annotations,
        mood: said.mood,
        tool_calls: said.calls.map(({ kind, text }, call) => ({
          id: `call_${index}_${call}`,
          type: kind,
          [kind]: { name: 'f', [kind === 'custom' ? 'input' : 'arguments']: text }
        }))
      },
      logprobs: said.logprobs === undefined ? null : { content: said.logprobs, refusal: null },
      finish_reason: said.finish
    }))
    return {
      complete: { ...head, object: 'chat.completion', choices: messages, usage, citations },
      stream: sse([...interleaved(lists), chunk([], { usage, citations })], 'data: [DONE]\n\n')
    }
  })

t.test('chat completions: any answer, streamed in any pieces, folds to the complete answer', async t => {
  const { request, route, streamed } = xaiAsk()
  holds(
    t,
    fc.property(dialect, answer => {
      agree(chatCompletions, { request, route, quirks: {}, streamed }, answer)
    }),
    { numRuns: 100 }
  )
})

t.test('xai: any answer, streamed in any pieces, folds to the complete answer', async t => {
  holds(
    t,
    fc.property(dialect, answer => {
      agree(xaiChat, xaiAsk(), answer)
    }),
    { numRuns: 60 }
  )
})

const part = fc.oneof(
  fc.record({ thought: fc.constantFrom(true, undefined), pieces }),
  fc.record({
    args: fc.option(object, { nil: undefined }),
    signature: fc.option(fc.constant('c2ln'), { nil: undefined })
  })
)
const candidate = fc.record({
  parts: fc.array(part, { maxLength: 5 }),
  finishReason: fc.constantFrom('STOP', 'MAX_TOKENS', 'SAFETY'),
  late: fc.boolean()
})

const gemini = fc
  .record({ candidates: fc.array(candidate, { minLength: 1, maxLength: 3 }), counts })
  .map(({ candidates, counts }) => {
    const usageMetadata = {
      promptTokenCount: counts.prompt,
      candidatesTokenCount: counts.completion,
      thoughtsTokenCount: counts.reasoning,
      totalTokenCount: counts.prompt + counts.completion + counts.reasoning
    }
    const half = { ...usageMetadata, candidatesTokenCount: 0 } // running totals: the last one counts
    const written = candidates.map(({ parts, finishReason, late }, index) => {
      const said = parts.map((part, at): { complete: object, pieces: object[] } =>
        'pieces' in part
          ? {
              complete: { text: part.pieces.join(''), thought: part.thought },
              pieces: part.pieces.map(text => ({ text, thought: part.thought }))
            }
          : one({
              functionCall: { id: `call_${index}_${at}`, name: 'f', args: part.args },
              thoughtSignature: part.signature
            })
      )
      const pieces = said
        .flatMap(({ pieces }) => pieces)
        .map((part, at, all) => ({
          index,
          content: { role: 'model', parts: [part] },
          ...!late && at === all.length - 1 && { finishReason }
        }))
      const end =
        late || pieces.length === 0
          ? [{ index, content: { role: 'model', parts: [{ text: '' }] }, finishReason }]
          : []
      return {
        complete: {
          index,
          content: { role: 'model', parts: said.map(({ complete }) => complete) },
          finishReason
        },
        stream: [...pieces, ...end].map(candidate => ({ candidates: [candidate], usageMetadata: half }))
      }
    })
    return {
      count: candidates.length,
      complete: { candidates: written.map(({ complete }) => complete), usageMetadata },
      stream: sse([...interleaved(written.map(({ stream }) => stream)), { usageMetadata }])
    }
  })

/** Returns a part that is never split into pieces. */
function one (part: object): { complete: object, pieces: object[] } {
  return { complete: part, pieces: [part] }
}

t.test('google: any answer, streamed in any pieces, folds to the complete answer', async t => {
  holds(
    t,
    fc.property(gemini, answer => {
      agree(googleChat, googleAsk({ n: answer.count }), answer)
    }),
    { numRuns: 100 }
  )
})
