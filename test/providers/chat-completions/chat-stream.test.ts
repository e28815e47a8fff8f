import t from 'tap'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { TextTemplate } from '../../../lib/providers/text-template.ts'
import { GatewayError } from '../../../lib/core/errors.ts'
import { streamOf } from '../../support/adapters.ts'
import { readEvents } from '../../support/read-events.ts'
import { ask, streamed, text } from '../../support/chat-completions.ts'

t.test('a stream that stops before its finish reason is an error, with or without [DONE]', async t => {
  const chunk = { id: '1', choices: [{ index: 0, delta: { content: 'half' }, finish_reason: null }] }
  for (const end of ['', 'data: [DONE]\n\n', 'data: {"id":"1","choi']) {
    const bytes = Buffer.from(`data: ${JSON.stringify(chunk)}\n\n${end}`)
    t.throws(() => readEvents([bytes], streamOf(chatCompletions, ask())), GatewayError, JSON.stringify(end))
  }
  const done = Buffer.from(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE] \n\n`)
  t.match(readEvents([done], streamOf(chatCompletions, ask({}, { lenientFinish: true }))).at(-1), {
    type: 'choice-end'
  })
})

t.test('a chunk with a chunk event name is read; other event names are skipped', async t => {
  t.same(streamed(`event: completion.chunk\n${text}`), streamed(text))
  t.same(
    streamed(`event: ping\ndata: {"type":"ping"}\n\nevent: note\ndata: words\n\n${text}`),
    streamed(text)
  )
  t.throws(() => streamed('event: chunk\ndata: {"error":{"message":"no","code":503}}\n\n'), {
    code: 'upstream_overloaded'
  })
})

t.test('a field that returns to its first value is passed on again', async t => {
  const frame = (status: string, content: string): string =>
    `data: ${JSON.stringify({ id: '1', status, choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
  const statuses = ['busy', 'busy', 'idle', 'busy', 'busy']
  const events = streamed(statuses.map((status, index) => frame(status, `${index}`)).join('') + text)
  t.same(
    events.flatMap(event => (event.type === 'extra' ? [event.fields['status']] : [])),
    ['busy', 'idle', 'busy']
  )
})

const methods = Object.getOwnPropertyDescriptors(TextTemplate.prototype)

t.test('if no two chunks are alike, templates are made of only a few', async t => {
  const frame = (field: string, content: string): string =>
    `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content }, finish_reason: null }], obfuscation: field })}\n\n`
  const texts = Array.from({ length: 300 }, (_, index) => `text ${index} `)
  const made = t.capture(TextTemplate.prototype, 'learn', methods.learn.value)
  const read = (fieldOf: (index: number) => string): string =>
    streamed(texts.map((content, index) => frame(fieldOf(index), content)).join('') + text)
      .map(event => (event.type === 'text-delta' ? event.text : ''))
      .join('')
  const all = `${texts.join('')}a`
  t.equal(read(index => `${index}`), all)
  // The first chunk starts the response and has more than text.
  t.equal(made().length, 9, 'of the next ones 1, 2, 4, … 256')
  t.equal(read(index => index <= 1 ? 'first' : 'same'), all)
  t.equal(made().length, 3, 'of the next two and the last')
  t.equal(read(index => `${index >> 1}`), all)
  t.equal(made().length, 151, 'each but the last fitted the next chunk')
})

t.test('text with quotes, backslashes or line ends fits the template of the others', async t => {
  const texts = ['plain', 'a "quoted" word', '{"a":"\\\\"}', '\\', 'line\nend', '"', 'ü "…" 🙂', 'plain']
  const made = t.capture(TextTemplate.prototype, 'learn', methods.learn.value)
  const events = streamed(
    texts
      .map(
        content =>
          `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
      )
      .join('') + text
  )
  t.same(
    events.flatMap(event => (event.type === 'text-delta' ? [event.text] : [])),
    [...texts, 'a']
  )
  t.equal(made().length, 2, 'of the second chunk and of the last, which finishes')
})

t.test('a value that only looks like a string is parsed', async t => {
  const frame = (delta: string): string =>
    `data: {"id":"1","choices":[{"index":0,"delta":{${delta}},"finish_reason":null}]}\n\n`
  const plain = frame('"content":"a"')
  const events = streamed(`${plain}${plain}${frame('"content":"b","refusal":"no"')}${plain}${text}`)
  t.same(events.flatMap(event => event.type === 'text-delta' ? [event.text] : []), ['a', 'a', 'b', 'a', 'a'])
})

t.test('a chunk with a control character in its text is invalid, whichever chunk it is', async t => {
  const frame = (content: string): string =>
    `data: {"id":"1","choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}\n\n`
  for (const before of [0, 1, 2]) {
    t.throws(
      () => streamed(`${frame('fine').repeat(before)}${frame('a\tb')}${text}`),
      { code: 'upstream_invalid_response' },
      `after ${before}`
    )
    t.throws(
      () => streamed(`${frame('fine').repeat(before)}event: chunk\n${frame('a\tb')}${text}`),
      { code: 'upstream_invalid_response' },
      `with a name, after ${before}`
    )
  }
})
