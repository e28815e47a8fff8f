import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { KeyedPlaceholders } from '../../lib/guards/keyed-placeholders.ts'
import { chatCompletions } from '../../lib/dialects/chat-completions/index.ts'
import { messages } from '../../lib/dialects/messages/index.ts'
import { responsesDialect } from '../../lib/dialects/responses/index.ts'
import { textCompletions } from '../../lib/dialects/text-completions/index.ts'
import { withRestoredTexts } from '../../lib/replies/restored-texts.ts'
import { holdsAsync } from '../support/property.ts'
import { messagesIn, type Json } from '../support/conversations.ts'
import { ticksDuring } from '../support/ticks-during.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { Reply } from '../../lib/core/reply.ts'
import type { AnswerDialect } from '../../lib/dialects/dialect.ts'

const placeholders = new KeyedPlaceholders(randomBytes(32), { keyId: 'one', projectId: 'default' })
const odd = 'q"uo\\te'
const names = ['ada@example.com', odd].map(value => placeholders.nameOf('email', value))
const [ada = '', quoted = ''] = names

async function* each (pieces: readonly string[]): AsyncGenerator<string> {
  yield* pieces
}

async function shown (
  body: Reply['body'],
  { direct, printedTexts = direct?.texts }: AnswerDialect<never>
): Promise<string> {
  if (printedTexts === undefined) throw new Error('a dialect says where its answers hold text')
  const reply = withRestoredTexts({ status: 200, headers: {}, body }, placeholders, printedTexts)
  t.equal(reply.body, body, 'what is noted has the placeholders')
  const { body: restored } = await reply.restoreForCaller?.(reply) ?? reply
  if (typeof restored === 'string' || restored instanceof Uint8Array) return restored.toString()
  let text = ''
  for await (const piece of restored) text += piece.toString()
  return text
}

interface Frames {
  readonly dialect: AnswerDialect<never>
  readonly texts: (kind: Kind, pieces: readonly string[]) => string[]
  readonly textOf: (messages: readonly Json[]) => string
  readonly kinds: readonly Kind[]
}
type Kind = 'text' | 'reasoning' | 'arguments'

const data = (value: Json): string => `data: ${JSON.stringify(value)}\n\n`
const event = (value: Json): string => `event: ${String(value['type'])}\n${data(value)}`
const pick = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce((left, name) => (Object(left) as Json)[name], value)
const joined = (messages: readonly Json[], paths: ReadonlyArray<ReadonlyArray<string | number>>): string =>
  messages
    .flatMap(message => paths.map(path => pick(message, ...path)).filter(value => typeof value === 'string'))
    .join('')

const chunk = (delta: Json, finish: string | null = null): string =>
  data({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })

const dialects: Readonly<Record<string, Frames>> = {
  chat: {
    dialect: chatCompletions,
    kinds: ['text', 'reasoning', 'arguments'],
    texts: (kind, pieces) => [
      chunk({ role: 'assistant', content: '' }),
      ...(kind === 'arguments'
        ? [
            chunk({
              tool_calls: [
                { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }
              ]
            })
          ]
        : []),
      ...pieces.map(piece =>
        chunk(
          kind === 'text'
            ? { content: piece }
            : kind === 'reasoning'
              ? { reasoning_content: piece }
              : { tool_calls: [{ index: 0, function: { arguments: piece } }] }
        )
      ),
      chunk({}, 'stop'),
      'data: [DONE]\n\n'
    ],
    textOf: messages =>
      joined(
        messages,
        [['content'], ['reasoning_content'], ['tool_calls', 0, 'function', 'arguments']].map(path => [
          'choices',
          0,
          'delta',
          ...path
        ])
      )
  },
  completions: {
    dialect: textCompletions,
    kinds: ['text'],
    texts: (_, pieces) => [
      ...pieces.map(piece => data({ id: 'c', choices: [{ index: 0, text: piece, finish_reason: null }] })),
      data({ id: 'c', choices: [{ index: 0, text: '', finish_reason: 'stop' }] }),
      'data: [DONE]\n\n'
    ],
    textOf: messages => joined(messages, [['choices', 0, 'text']])
  },
  messages: {
    dialect: messages,
    kinds: ['text', 'arguments'],
    texts: (kind, pieces) => [
      event({
        type: 'content_block_start',
        index: 0,
        content_block:
          kind === 'text' ? { type: 'text', text: '' } : { type: 'tool_use', id: 't', name: 'f', input: {} }
      }),
      ...pieces.map(piece =>
        event({
          type: 'content_block_delta',
          index: 0,
          delta:
            kind === 'text'
              ? { type: 'text_delta', text: piece }
              : { type: 'input_json_delta', partial_json: piece }
        })
      ),
      event({ type: 'content_block_stop', index: 0 }),
      event({ type: 'message_stop' })
    ],
    textOf: messages =>
      joined(messages, [
        ['delta', 'text'],
        ['delta', 'partial_json']
      ])
  },
  responses: {
    dialect: responsesDialect(),
    kinds: ['text', 'reasoning', 'arguments'],
    texts: (kind, pieces) => {
      const name = {
        text: 'output_text',
        reasoning: 'reasoning_summary_text',
        arguments: 'function_call_arguments'
      }[kind]
      return [
        ...pieces.map(delta =>
          event({ type: `response.${name}.delta`, output_index: 0, item_id: 'i', content_index: 0, delta })
        ),
        event({ type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } }),
        'data: [DONE]\n\n'
      ]
    },
    textOf: messages => joined(messages, [['delta']])
  }
}

/** Cuts a text at these places. */
function cut (text: string, places: readonly number[]): string[] {
  const at = [
    0,
    ...places.map(place => place % (text.length + 1)).toSorted((one, other) => one - other),
    text.length
  ]
  return at.slice(1).map((end, index) => text.slice(at[index], end))
}

const words = fc
  .array(
    fc.constantFrom(
      ada,
      quoted,
      'Mail ',
      '. ',
      '<EMAIL_',
      ada.toLowerCase(),
      `\`${quoted}\``,
      '"',
      '\\',
      'ü'
    ),
    { maxLength: 8 }
  )
  .map(pieces => pieces.join(''))

function valuesIn (text: string): string {
  return text.replaceAll(new RegExp(ada, 'gi'), 'ada@example.com').replaceAll(quoted, () => odd)
}

for (const [name, { dialect, kinds, texts, textOf }] of Object.entries(dialects)) {
  for (const kind of kinds) {
    t.test(`${name}: ${kind} in a stream, cut anywhere, is restored`, async t => {
      await holdsAsync(
        t,
        fc.asyncProperty(
          words,
          fc.array(fc.nat(200), { maxLength: 6 }),
          fc.array(fc.nat(5000), { maxLength: 4 }),
          async (said, cuts, writes) => {
            const whole = kind === 'arguments' ? JSON.stringify({ to: said, deep: [said] }) : said
            const frames = texts(kind, cut(whole, cuts))
            const given = textOf(messagesIn(await shown(each(cut(frames.join(''), writes)), dialect)))
            const expected = valuesIn(said)
            if (kind !== 'arguments') return given === expected
            const { to, deep } = JSON.parse(given) as { to: string, deep: string[] }
            return to === expected && deep[0] === expected
          }
        ),
        { numRuns: 150 }
      )
    })
  }
}

t.test('complete answers are restored, except for signed or encrypted parts', async t => {
  const restored = async (value: Json, { dialect }: Frames): Promise<unknown> =>
    JSON.parse(await shown(JSON.stringify(value), dialect))
  const { chat, completions, messages, responses } = dialects as Record<
    'chat' | 'completions' | 'messages' | 'responses',
    Frames
  >
  t.same(
    await restored(
      {
        choices: [
          {
            message: {
              content: `To ${ada}`,
              reasoning_content: ada,
              tool_calls: [{ function: { name: 'f', arguments: `{"a":"${quoted}"}` } }],
              thinking_blocks: [{ thinking: ada }]
            }
          }
        ]
      },
      chat
    ),
    {
      choices: [
        {
          message: {
            content: 'To ada@example.com',
            reasoning_content: 'ada@example.com',
            tool_calls: [{ function: { name: 'f', arguments: JSON.stringify({ a: odd }) } }],
            thinking_blocks: [{ thinking: ada }]
          }
        }
      ]
    }
  )
  t.same(await restored({ choices: [{ text: ada }] }, completions), {
    choices: [{ text: 'ada@example.com' }]
  })
  t.same(
    await restored(
      {
        content: [
          { type: 'thinking', thinking: ada, signature: 's' },
          { type: 'text', text: ada },
          { type: 'tool_use', name: 'f', input: { a: quoted } }
        ]
      },
      messages
    ),
    {
      content: [
        { type: 'thinking', thinking: ada, signature: 's' },
        { type: 'text', text: 'ada@example.com' },
        { type: 'tool_use', name: 'f', input: { a: odd } }
      ]
    }
  )
  t.match(
    await restored(
      {
        instructions: ada,
        metadata: { a: ada },
        output: [{ type: 'message', content: [{ type: 'output_text', text: ada }] }]
      },
      responses
    ),
    {
      instructions: 'ada@example.com',
      metadata: { a: 'ada@example.com' },
      output: [{ content: [{ text: 'ada@example.com' }] }]
    }
  )
})

t.test('events without a placeholder are unchanged, and nothing follows the end', async t => {
  const frames = chatCompletionFrames()
  t.equal(await shown(each(frames), chatCompletions), frames.join(''))
  const none = new KeyedPlaceholders(randomBytes(32), { keyId: 'one', projectId: 'default' })
  const pieces = ['anything ', 'at all']
  const body = each(pieces)
  const reply = withRestoredTexts(
    { status: 200, headers: {}, body },
    none,
    chatCompletions.printedTexts ?? {
      answer: undefined as never,
      frames: undefined as never,
      textOf: () => ({ key: '' })
    }
  )
  const passed: string[] = []
  const { body: given } = await reply.restoreForCaller?.(reply) ?? reply
  for await (const piece of given as AsyncIterable<string>) passed.push(piece)
  t.same(passed, pieces, 'before the first placeholder nothing is read')
})

t.test('arguments that are cut short get values that keep them valid JSON', async t => {
  const [start = '', open = '', end = ''] = dialects['chat']?.texts('arguments', [`{"to":"${quoted}`]) ?? []
  const given = dialects['chat']?.textOf(messagesIn(await shown(each([start, open, end]), chatCompletions)))
  t.equal(given, `{"to":${JSON.stringify(odd).slice(0, -1)}`)
})

t.test('at most a million characters are held back, and text sent then is still restored', async t => {
  const { texts, textOf } = dialects['chat'] as Frames
  const word = `${quoted} and so on, `
  const pieces = Array.from({ length: 600 }, () => word.repeat(200))
  const all = `{"to":"${pieces.join('')}"}`
  const frames = texts('arguments', ['{"to":"', ...pieces, '"}'])
  let waiting = 0
  let most = 0
  async function* counted (): AsyncGenerator<string> {
    for (const frame of frames) {
      waiting += frame.length
      most = Math.max(most, waiting)
      yield frame
    }
  }
  const body = counted()
  const { printedTexts } = chatCompletions
  if (printedTexts === undefined) throw new Error('the dialect says where its answers hold text')
  const reply = withRestoredTexts({ status: 200, headers: {}, body }, placeholders, printedTexts)
  const { body: given } = await reply.restoreForCaller?.(reply) ?? reply
  let text = ''
  for await (const piece of given as AsyncIterable<string>) {
    text += piece
    waiting = 0
  }
  t.ok(frames.join('').length > 3e6, 'there are several times as many')
  t.ok(most > 900_000 && most < 1_100_000, `${most} characters waited`)
  const { to } = JSON.parse(textOf(messagesIn(text))) as { to: string }
  t.equal(to, (JSON.parse(all) as { to: string }).to.replaceAll(quoted, () => odd))
})

t.test('large events are restored in slices, whatever they contain', async t => {
  const many = Array.from({ length: 120_000 }, (_, at) => ({ at }))
  const long = `${ada}, `.repeat(200_000)
  const answer = { output: [{ type: 'message', content: [{ type: 'output_text', text: long }] }], many }
  const { dialect } = dialects['responses'] as Frames
  const turnsOf = async (body: Reply['body']): Promise<readonly [string, number]> => {
    let text = ''
    const turns = await ticksDuring(async () => { text = await shown(body, dialect) })
    return [text, turns]
  }
  const [complete, turns] = await turnsOf(JSON.stringify(answer))
  t.ok(complete === JSON.stringify(answer).replaceAll(ada, 'ada@example.com'), 'a complete answer')
  t.ok(turns > 40, `a complete answer took ${turns} turns`)
  const completed = event({ type: 'response.completed', response: { id: 'r', ...answer } })
  const [streamed, streamTurns] = await turnsOf(each(dialects['responses']?.texts('text', [ada]).slice(0, 1)
    .concat(completed) ?? []))
  t.equal(messagesIn(streamed)[0]?.['delta'], 'ada@example.com')
  t.ok(streamed.endsWith(completed.replaceAll(ada, 'ada@example.com')), 'an event')
  t.ok(streamTurns > 40, `an event took ${streamTurns} turns`)
})

t.test('a numbered keep-alive event does not overtake held events', async t => {
  let sent = 0
  const { promise, resolve } = withResolvers<undefined>()
  async function* body (): AsyncGenerator<string> {
    yield event({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: '<EMAIL_' })
    await promise
    yield event({ type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } })
  }
  const keepAlive = { text: () => event({ type: 'keepalive', sequence_number: sent++ }), everyMs: 1000 }
  const { direct } = responsesDialect()
  if (direct === undefined) throw new Error('the dialect says where its answers hold text')
  const noted: Reply = { status: 200, headers: {}, body: body(), keepAlive }
  const reply = await withRestoredTexts(noted, placeholders, direct.texts).restoreForCaller?.(noted) ?? noted
  const silence = reply.keepAlive?.text
  if (typeof silence !== 'function') throw new Error('what it writes depends on what waits')
  t.match(silence(), 'keepalive', 'nothing waits')
  const frames = (reply.body as AsyncIterable<string>)[Symbol.asyncIterator]()
  const next = frames.next()
  await new Promise(resolve => setImmediate(resolve))
  t.equal(silence(), ': ping\n', 'a delta waits')
  t.equal(sent, 1, 'and no number is taken')
  resolve(undefined)
  t.match((await next).value, '<EMAIL_')
  await frames.return?.()
  t.match(silence(), 'keepalive')
})

function chatCompletionFrames (): string[] {
  return [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Hello. ' }),
    chunk({ content: '<EMAIL_' }),
    chunk({}, 'stop'),
    data({ id: 'c', choices: [], usage: { total_tokens: 1 } }),
    'data: [DONE]\n\n'
  ]
}
