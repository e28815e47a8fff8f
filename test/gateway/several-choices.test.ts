/** Configured guards inspect each choice of an answer separately. */

import t from 'tap'
import { dialects, messagesIn, protocols, type Json } from '../support/conversations.ts'
import { testGateway } from '../support/gateway.ts'
import { eventStream, fakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import type { GuardAction } from '../../schemas/config/guards.ts'
import type { Test } from 'tap'

/** An answer whose pieces are all there. */
type CutScript = Script & { readonly pieces: readonly string[] }

/** Pieces that a provider sends in turn: the choice, and its next piece. */
type Pieces = ReadonlyArray<readonly [choice: 0 | 1, text: string]>

/** The word, split across pieces, in both choices at once. */
const both: Pieces = [
  [0, 'I went to Zan'],
  [1, 'We left Zanzi'],
  [0, 'zi'],
  [1, 'bar'],
  [0, 'bar by boat.'],
  [1, ' on foot.']
]

/** Pieces that only together form the word. */
const neither: Pieces = [
  [0, 'I said Zan'],
  [1, 'zibar is short. Zanzi'],
  [0, 'zi twice.'],
  [1, ' and so on.']
]

/** The word only in the second choice, after the first has begun. */
const second: Pieces = [
  [0, 'I stayed at home. '.repeat(4)],
  [0, 'I stayed in bed. '.repeat(4)],
  [1, 'We left Zan'],
  [0, 'I slept. '],
  [1, 'zibar on foot.'],
  [0, 'I slept again.']
]

/** What providers answer, in their protocols, for one request with two choices. */
const answers: Readonly<Record<'chat' | 'google', (pieces: Pieces, request: SeenRequest) => CutScript>> = {
  chat: (pieces, { json }) => {
    const head = { id: 'c1', created: 1, model: 'm' }
    if ((json as Json)['stream'] !== true) {
      return complete({
        ...head,
        object: 'chat.completion',
        usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
        choices: [0, 1].map(index => ({
          index,
          finish_reason: 'stop',
          message: { role: 'assistant', content: textOf(pieces, index) }
        }))
      })
    }
    const chunk = (choices: readonly Json[]): Json => ({ ...head, object: 'chat.completion.chunk', choices })
    return streamed([
      ...pieces.map(([index, content]) => chunk([{ index, delta: { content }, finish_reason: null }])),
      ...[0, 1].map(index => chunk([{ index, delta: {}, finish_reason: 'stop' }]))
    ])
  },
  google: (pieces, { path }) => {
    const candidates = (list: readonly Json[]): Json => ({
      candidates: list,
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 }
    })
    const candidate = (index: number, text: string, finishReason?: string): Json => ({
      index,
      content: { role: 'model', parts: [{ text }] },
      ...finishReason !== undefined && { finishReason }
    })
    if (!path.includes('streamGenerateContent')) {
      return complete(candidates([0, 1].map(index => candidate(index, textOf(pieces, index), 'STOP'))))
    }
    return streamed([
      ...pieces.map(([index, text]) => candidates([candidate(index, text)])),
      candidates([candidate(0, '', 'STOP'), candidate(1, '', 'STOP')])
    ])
  }
}

function complete (value: Json): CutScript {
  return { headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(value)] }
}

function streamed (values: readonly Json[]): CutScript {
  return { headers: eventStream, pieces: values.map(value => `data: ${JSON.stringify(value)}\n\n`) }
}

function textOf (pieces: Pieces, choice: number): string {
  return pieces.map(([index, text]) => (index === choice ? text : '')).join('')
}

const kinds: Readonly<
  Record<'pattern' | 'webhook', (t: Test, action: GuardAction) => GuardSettings | Promise<GuardSettings>>
> = {
  pattern: (_t, action) => ({
    name: 'islands',
    use: 'pattern',
    at: ['answer'],
    action,
    patterns: [{ name: 'island', match: 'Zanzibar', maxLength: 8 }]
  }),
  webhook: async (t, action) => {
    const service = await fakeUpstream(({ json }) => {
      const texts = (json as { texts: ReadonlyArray<{ text: string }> }).texts.map(({ text }) => text)
      const found = texts.some(text => text.includes('Zanzibar'))
      if (found && action === 'refuse') return complete({ refuse: 'it contains island' })
      return complete({ texts: texts.map(text => text.replaceAll('Zanzibar', '[island]')) })
    })
    t.teardown(service.close)
    const window = { characters: 10, overlap: 20, maxWaitMs: 60_000 }
    return { name: 'islands', use: 'webhook', url: service.url, at: ['answer'], action, window }
  }
}

/** Returns the text of each choice as a client reads it. */
function choicesIn (body: string, stream: boolean): string[] {
  const choices = (stream ? messagesIn(body) : [JSON.parse(body) as Json]).flatMap(
    answer => (answer['choices'] ?? []) as Json[]
  )
  return [0, 1].map(index =>
    choices
      .filter(choice => choice['index'] === index)
      .map(choice => {
        const message = (choice['message'] ?? choice['delta'] ?? {}) as Json
        return (choice['text'] ?? message['content'] ?? '') as string // both schemas have these fields
      })
      .join('')
  )
}

const callers = { chat: dialects.chat, completions: dialects.completions } as const
const request = { messages: [{ role: 'user', content: 'Where to?' }], prompt: 'Once', n: 2 } as const

for (const [kind, stageOf] of Object.entries(kinds)) {
  t.test(`${kind}: choices of one answer are inspected separately`, async t => {
    for (const [id, answer] of Object.entries(answers)) {
      const protocol = protocols[id as keyof typeof answers] // its own key
      let pieces = both
      let goOn = (): void => undefined
      const upstream = await fakeUpstream(request => {
        const script = answer(pieces, request)
        const { pieces: all } = script
        if (pieces !== second || all.length === 1) return script
        const begun = new Promise<void>(resolve => {
          goOn = resolve
        })
        return {
          ...script,
          pieces: (async function* () {
            yield* all.slice(0, 2) // an event is released when the next arrives
            await begun
            yield* all.slice(2)
          })()
        }
      })
      t.teardown(upstream.close)
      const providers = [protocol.provider(upstream.url)]
      const masking = await testGateway(t, { providers, guards: [await stageOf(t, 'mask')] })
      const refusing = await testGateway(t, { providers, guards: [await stageOf(t, 'refuse')] })
      for (const [name, { path }] of Object.entries(callers)) {
        for (const stream of [false, true]) {
          const title = `${name} in front of ${id}, ${stream ? 'streamed' : 'complete'}`
          const { messages, prompt, n } = request
          const body = { model: protocol.model, n, stream, ...name === 'chat' ? { messages } : { prompt } }
          for (const [said, given] of [
            [both, ['I went to [island] by boat.', 'We left [island] on foot.']],
            [neither, ['I said Zanzi twice.', 'zibar is short. Zanzi and so on.']]
          ] as const) {
            pieces = said
            const response = await masking.post(path, body)
            const text = await response.text()
            t.equal(response.status, 200, `${title}: ${text.slice(0, 500)}`)
            t.same(choicesIn(text, stream), given, title)
            t.equal(text.match(/"finish_reason":\s*"stop"/g)?.length, 2, `${title}: both have their finish`)
          }
          pieces = neither
          const passed = await refusing.post(path, body)
          t.equal(passed.status, 200, `${title}: ${await passed.text()}`)
          pieces = second
          const refused = await refusing.post(path, body)
          goOn()
          const text = await refused.text()
          t.match(text, /"code":\s*"content_refused"/, title)
          t.notMatch(text, /zibar|slept again/, title)
          if (!stream) {
            t.equal(refused.status, 400, title)
            continue
          }
          t.equal(refused.status, 200, title)
          t.match(choicesIn(text, true), [/^I stayed at home\./, /^(?!.*Zan)/], title)
          t.match(text, /"finish_reason":"content_filter"[^\n]*\n\nevent: error\ndata: [^\n]*\n\n$/, title)
        }
      }
    }
  })
}
