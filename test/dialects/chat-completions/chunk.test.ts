import t from 'tap'
import { ChunkBuilder, completionUsage } from '../../../lib/dialects/chat-completions/chunk.ts'
import type { AnswerHead } from '../../../lib/dialects/dialect.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

const head: AnswerHead = { type: 'answer-start', id: 'chatcmpl-1', model: 'x/m', createdSeconds: 7 }
const frame = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 7, model: 'x/m' }
const roleOf = (index: number): object => ({
  index,
  delta: { role: 'assistant', content: '' },
  logprobs: null,
  finish_reason: null
})

/** Returns the choices of each chunk; the other fields are always the same. */
function choicesOf (events: readonly ChatEvent[], withUsage = false): unknown[] {
  const chunks = new ChunkBuilder(head, withUsage)
  return [...events.flatMap(event => chunks.of(event)), ...chunks.end()].map(({ choices }) => choices)
}

t.test(
  'a complete stream has separate chunks for the role, the text, the finish and the usage',
  async t => {
    const chunks = new ChunkBuilder({ ...head, fingerprint: 'fp', serviceTier: 'flex' }, true)
    const events: ChatEvent[] = [
      head,
      { type: 'text-delta', choice: 0, text: 'hi', logprobs: { content: [] } },
      { type: 'choice-end', choice: 0, reason: 'stop' },
      { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3, cachedTokens: 0 } }
    ]
    const all = { ...frame, service_tier: 'flex', system_fingerprint: 'fp' }
    t.strictSame(
      events.flatMap(event => chunks.of(event)),
      [
        { ...all, choices: [roleOf(0)], usage: null },
        {
          ...all,
          choices: [{ index: 0, delta: { content: 'hi' }, logprobs: { content: [] }, finish_reason: null }],
          usage: null
        }
      ]
    )
    t.strictSame(chunks.end(), [
      { ...all, choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }], usage: null },
      {
        ...all,
        choices: [],
        usage: {
          prompt_tokens: 1,
          completion_tokens: 2,
          total_tokens: 3,
          prompt_tokens_details: { cached_tokens: 0 }
        }
      }
    ])
  }
)

t.test('each kind of event sets its own field of the delta', async t => {
  const rows: ReadonlyArray<readonly [ChatEvent, object]> = [
    [{ type: 'reasoning-delta', choice: 0, text: 'a' }, { reasoning_content: 'a' }],
    [{ type: 'refusal-delta', choice: 0, text: 'a' }, { refusal: 'a' }],
    [
      { type: 'thinking-block', choice: 0, block: { type: 'redacted_thinking', data: 'd' } },
      { thinking_blocks: [{ type: 'redacted_thinking', data: 'd' }] }
    ],
    [{ type: 'audio-delta', choice: 0, audio: { data: 'AA==' } }, { audio: { data: 'AA==' } }],
    [{ type: 'annotation-delta', choice: 0, annotations: [{ a: 1 }] }, { annotations: [{ a: 1 }] }],
    [{ type: 'extra', scope: 'message', choice: 0, fields: { u: 1 } }, { u: 1 }],
    [
      {
        type: 'tool-call-start', choice: 0, callIndex: 1, id: 'c', name: 'f', kind: 'function',
        extra: { e: 1 }
      },
      { tool_calls: [{ index: 1, id: 'c', type: 'function', function: { name: 'f', arguments: '' }, e: 1 }] }
    ],
    [
      { type: 'tool-call-start', choice: 0, callIndex: 0, id: 'c', name: 'f', kind: 'custom' },
      { tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { name: 'f', input: '' } }] }
    ],
    [
      { type: 'tool-call-start', choice: 0, callIndex: 0, id: '', name: 'f', kind: 'legacy' },
      { function_call: { name: 'f', arguments: '' } }
    ],
    [
      { type: 'tool-call-delta', choice: 0, callIndex: 1, text: '{', kind: 'function' },
      { tool_calls: [{ index: 1, function: { arguments: '{' } }] }
    ],
    [
      { type: 'tool-call-delta', choice: 0, callIndex: 0, text: 'x', kind: 'custom' },
      { tool_calls: [{ index: 0, custom: { input: 'x' } }] }
    ],
    [
      { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{', kind: 'legacy' },
      { function_call: { arguments: '{' } }
    ]
  ]
  for (const [event, delta] of rows) {
    t.strictSame(
      choicesOf([event]),
      [[roleOf(0)], [{ index: 0, delta, logprobs: null, finish_reason: null }]],
      JSON.stringify(event)
    )
  }
})

t.test('every choice has its role and its finish once', async t => {
  t.strictSame(choicesOf([
    { type: 'text-delta', choice: 1, text: 'a' }, { type: 'text-delta', choice: 1, text: 'b' },
    { type: 'choice-end', choice: 1, reason: 'length' }, { type: 'choice-end', choice: 0, reason: 'stop' }
  ]), [
    [roleOf(1)],
    [{ index: 1, delta: { content: 'a' }, logprobs: null, finish_reason: null }],
    [{ index: 1, delta: { content: 'b' }, logprobs: null, finish_reason: null }],
    [{ index: 1, delta: {}, logprobs: null, finish_reason: 'length' }],
    [roleOf(0)],
    [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]
  ])
})

t.test(
  'unknown fields of an answer go with the next chunk, or alone; those of a choice stay in it',
  async t => {
    const chunks = new ChunkBuilder(head, false)
    t.strictSame(chunks.of({ type: 'extra', scope: 'answer', fields: { a: 1 } }), [])
    t.strictSame(chunks.of({ type: 'extra', scope: 'answer', fields: { b: 2 }, alone: true }), [
      { ...frame, choices: [], a: 1, b: 2 }
    ])
    t.strictSame(chunks.of({ type: 'extra', scope: 'choice', choice: 0, fields: { c: 3 } }), [
      { ...frame, choices: [roleOf(0)] },
      { ...frame, choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: null, c: 3 }] }
    ])
    chunks.of({ type: 'extra', scope: 'answer', fields: { late: 4 } })
    chunks.of({ type: 'choice-end', choice: 0, reason: 'stop' })
    t.match(chunks.end(), [{ late: 4 }])
  }
)

t.test('usage is sent only on request, and an unknown service tier never', async t => {
  const chunks = new ChunkBuilder({ ...head, serviceTier: 'on_demand' }, false)
  chunks.of({ type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } })
  t.strictSame(chunks.end(), [])
  t.strictSame(chunks.of({ type: 'text-delta', choice: 0, text: 'a' })[1], {
    ...frame, choices: [{ index: 0, delta: { content: 'a' }, logprobs: null, finish_reason: null }]
  })
})

t.test('only reported usage details are sent', async t => {
  const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
  const plain = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
  t.strictSame(completionUsage(usage), plain)
  t.strictSame(
    completionUsage({
      ...usage,
      cachedTokens: 1,
      cacheWriteTokens: 2,
      promptAudioTokens: 3,
      reasoningTokens: 4,
      completionAudioTokens: 5,
      acceptedPredictionTokens: 6,
      rejectedPredictionTokens: 0
    }),
    {
      ...plain,
      prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 2, audio_tokens: 3 },
      completion_tokens_details: {
        reasoning_tokens: 4,
        audio_tokens: 5,
        accepted_prediction_tokens: 6,
        rejected_prediction_tokens: 0
      }
    }
  )
})
