import t from 'tap'
import { AnswerRecorder, replayedAnswer } from '../../lib/cache/recorded-answer.ts'
import { copyCall } from '../../lib/core/call.ts'
import { route, routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent, FinishReason } from '../../lib/core/events.ts'

const plain: readonly ChatEvent[] = [
  { type: 'answer-start', fingerprint: 'fp' },
  {
    type: 'text-delta',
    choice: 0,
    text: 'Say "ä"\n',
    logprobs: { content: [{ token: 'Say', logprob: -0.1 }] }
  },
  { type: 'tool-call-start', choice: 0, callIndex: 0, id: 'call_1', name: 'look', kind: 'function' },
  { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{}', kind: 'function' },
  { type: 'tool-call-end', choice: 0, callIndex: 0 },
  { type: 'choice-end', choice: 0, reason: 'tool_calls' },
  { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }
]

function callOf (request: Partial<ChatInput> = {}) {
  return routedCall<ChatInput>({ model: 'one/m', messages: [], ...request })
}

function recorded (events: readonly ChatEvent[], maxLength = 10_000): string | undefined {
  const call = callOf()
  const recorder = new AnswerRecorder<ChatInput>(maxLength)
  recorder.add({ call, route, events: events.slice(0, 2) }, call)
  recorder.add({ call, route, events: events.slice(2) }, call)
  return recorder.text()
}

t.test('a recorded answer is replayed unchanged', async t => {
  const call = callOf()
  t.same(replayedAnswer(recorded(plain) ?? '', call, Infinity), { call, route, events: plain })
  t.equal(replayedAnswer(recorded(plain) ?? '', call, -1), undefined, 'too old')
  t.equal(
    replayedAnswer(recorded(plain) ?? '', { ...call, routes: [{ ...route, modelId: 'one/n' }] }, Infinity),
    undefined,
    'a model that the call may not use'
  )
})

t.test(
  'an answer in the format of the provider is replayed only in that form and for a direct route',
  async t => {
    const fit = {
      fit: (request: ChatInput) => ({
        request,
        direct: { dialect: 'messages' as const, body: '', headers: {}, query: '' }
      })
    }
    const frames =
      recorded([
        { type: 'direct-frame', name: 'message_start', json: '{}' },
        { type: 'choice-end', choice: 0, reason: 'stop' }
      ]) ?? ''
    const complete =
      recorded([
        { type: 'direct-answer', json: '{}' },
        { type: 'choice-end', choice: 0, reason: 'stop' }
      ]) ?? ''
    const [streamed, whole] = [
      { ...callOf({ stream: true }), ...fit },
      { ...callOf(), ...fit }
    ]
    t.same(
      [frames, complete].map(text =>
        [streamed, whole].map(call => replayedAnswer(text, call, Infinity) !== undefined)
      ),
      [
        [true, false],
        [false, true]
      ]
    )
    t.equal(replayedAnswer(complete, { ...whole, fit: request => ({ request }) }, Infinity), undefined)
  }
)

t.test('some answers are not cached', async t => {
  const end: ChatEvent = { type: 'choice-end', choice: 0, reason: 'stop' }
  const cases: ReadonlyArray<readonly [title: string, events: readonly ChatEvent[]]> = [
    ['filtered', [{ type: 'choice-end', choice: 0, reason: 'content_filter' }]],
    [
      'signed thinking',
      [
        { type: 'thinking-block', choice: 0, block: { type: 'thinking', thinking: '', signature: 'abc' } },
        end
      ]
    ],
    [
      'encrypted thinking',
      [{ type: 'thinking-block', choice: 0, block: { type: 'redacted_thinking', data: 'abc' } }, end]
    ],
    [
      'the signature of a tool call',
      [
        {
          type: 'tool-call-start',
          choice: 0,
          callIndex: 0,
          id: '',
          name: '',
          kind: 'function',
          extra: { google: { thought_signature: 'abc' } }
        },
        end
      ]
    ],
    [
      'a signature in a provider answer',
      [{ type: 'direct-answer', json: '{"content":[{"type":"thinking","signature" : "abc"}]}' }, end]
    ],
    [
      'encrypted reasoning in a provider frame',
      [{ type: 'direct-frame', name: undefined, json: '{"encrypted_content":"abc"}' }, end]
    ],
    [
      'results of server tools',
      [
        { type: 'tool-result', result: { toolName: 't', serverName: 's', arguments: {}, isError: false } },
        end
      ]
    ]
  ]
  for (const [title, events] of cases) t.equal(recorded(events), undefined, title)
  t.ok(
    recorded([{ type: 'direct-answer', json: '{"signature":"","text":"of a signature"}' }, end]),
    'an empty signature does not matter'
  )
  t.equal(recorded(plain, 100), undefined, 'too long')
  t.equal(new AnswerRecorder(1000).text(), undefined, 'none')
})

t.test('an answer under a lowered limit is cached unless it reached the limit', async t => {
  const call = callOf()
  const lowered = copyCall(call, { request: { ...call.request, max_tokens: 5 } })
  const textOf = (sent: typeof call, reason: FinishReason): string | undefined => {
    const recorder = new AnswerRecorder<ChatInput>(10_000)
    recorder.add({ call: sent, route, events: plain.slice(0, 2) }, call)
    recorder.add({ call: sent, route, events: [{ type: 'choice-end', choice: 0, reason }] }, call)
    return recorder.text()
  }
  t.ok(textOf(lowered, 'stop'))
  t.equal(textOf(lowered, 'length'), undefined)
  t.ok(textOf(call, 'length'), 'a limit of the request or the model is the same for every equal call')
})

t.test(
  'the recording counts towards the memory of the call, and is dropped when there is none left',
  async t => {
    let taken = 0
    const counted = {
      ...callOf(),
      takeMemory: (bytes: number) => {
        taken += bytes
      }
    }
    const recorder = new AnswerRecorder<ChatInput>(10_000)
    recorder.add({ call: counted, route, events: plain }, counted)
    t.equal(taken, 2 * plain.reduce((sum, event) => sum + JSON.stringify(event).length, 0))
    const full = {
      ...callOf(),
      takeMemory: () => {
        throw new Error('overloaded')
      }
    }
    const other = new AnswerRecorder<ChatInput>(10_000)
    other.add({ call: full, route, events: plain }, full)
    t.same([other.hasGivenUp, other.text()], [true, undefined])
  }
)
