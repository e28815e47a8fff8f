import t from 'tap'
import { BodyQueue } from '../../lib/client/body-queue.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { openBody } from '../../lib/attempts/open-body.ts'
import { route } from '../support/routes.ts'
import { provider } from '../support/settings.ts'
import type { OpenResponse } from '../../lib/attempts/open-response.ts'
import type { BodyFormat, StreamReader } from '../../lib/providers/provider.ts'

interface Event { readonly type: string, readonly text?: string }

/** One event for each message; `stop` completes the answer. */
function wordReader (): StreamReader<Event> {
  let isComplete = false
  return {
    done: false,
    read: ({ data }, into) => {
      if (data === 'stop') isComplete = true
      else into.push({ type: 'text-delta', text: data })
    },
    end: () => { if (!isComplete) throw new GatewayError('upstream_stream_interrupted') }
  }
}

function open (reader: BodyFormat<Event>) {
  let cancelled = false
  const record = new CallRecord('test')
  const body = new BodyQueue({
    pause: () => undefined,
    resume: () => undefined,
    cancel: () => { cancelled = true }
  })
  const opening = openBody(body, reader, route('one/m'), { record }, {
    provider: provider('one'),
    limits: { answerBytes: 1000, eventBytes: 1000 }
  })
  return {
    body, opening, record,
    cancelled: () => cancelled,
    receive: (...pieces: Array<string | Buffer>) => {
      for (const piece of pieces) body.push(Buffer.from(piece))
      body.end()
    }
  }
}

async function textsOf (response: OpenResponse<Event>): Promise<Array<string | undefined>> {
  const texts: Array<string | undefined> = []
  for (let events = await response.next(); events !== undefined; events = await response.next()) {
    texts.push(...events.map(({ text }) => text))
  }
  return texts
}

const json: BodyFormat<Event> = {
  as: 'json',
  read: value => [{ type: 'json', text: JSON.stringify(value) }],
  sse: wordReader
}

t.test('JSON is parsed, and its size is recorded', async t => {
  const { receive, opening, record } = open(json)
  receive('{"a":', '1}')
  const response = await opening
  t.same(await textsOf(response), ['{"a":1}'])
  t.equal(response.route.modelId, 'one/m')
  t.equal(record.routing.answerBytes, 7)
})

/** Returns the texts of an answer that was requested as JSON. */
async function answerTo (...pieces: string[]): Promise<Array<string | undefined>> {
  const { receive, opening } = open(json)
  receive(...pieces)
  return await textsOf(await opening)
}

t.test('comments before JSON are skipped', async t => {
  t.same(await answerTo(': processing\n\n', ': processing\n\n', '{"a":1}'), ['{"a":1}'])
  t.same(await answerTo(': ping\n\n: ping\r\n {"a":1}'), ['{"a":1}'])
  t.same(await answerTo(': ping\n[1]'), ['[1]'])
  t.same(await answerTo(' {"a":1}'), ['{"a":1}'])
})

t.test('a stream in place of JSON is read to its end', async t => {
  t.same(await answerTo('data: one\n\n', 'data: two\n\ndata: stop\n\n'), ['one', 'two'])
  await t.rejects(answerTo('data: one\n\n'), { code: 'upstream_stream_interrupted' })
})

t.test('a stream is recognised by its first line, after a mark and blanks', async t => {
  for (const line of ['\ufeffdata: one', '\n event: a', 'id: 1', 'retry: 1', ': ping\ndata: one', ': ping']) {
    const texts = await answerTo(`${line}\ndata: two\n\ndata: stop\n\n`)
    t.same(texts, [line.includes('one') ? 'one\ntwo' : 'two'], line)
  }
  for (const text of ['database: 1', ' text', ''] as const) {
    await t.rejects(answerTo(text), { code: 'upstream_invalid_response' }, text)
  }
})

t.test('text and bytes reach their readers unchanged', async t => {
  const text = open({ as: 'text', read: words => [{ type: 'text', text: words }] })
  text.receive('{"not": parsed')
  t.same(await textsOf(await text.opening), ['{"not": parsed'])
  const bytes = open({ as: 'bytes', read: given => [{ type: 'text', text: given.toString('hex') }] })
  bytes.receive(Buffer.from([1, 2]))
  t.same(await textsOf(await bytes.opening), ['0102'])
})

t.test('pieces are sent as they arrive, and their bytes are counted', async t => {
  const pieces: BodyFormat<Event> = {
    as: 'pieces',
    read: (piece, into) => { into.push({ type: 'piece', text: String(piece.length) }) }
  }
  const { body, opening, cancelled } = open(pieces)
  let isOpen = false
  void opening.then(() => { isOpen = true })
  await new Promise(setImmediate)
  t.notOk(isOpen, 'it waits for the first piece')
  body.push(Buffer.alloc(10))
  const response = await opening
  t.same(await response.next(), [{ type: 'piece', text: '10' }])
  body.push(Buffer.alloc(5))
  t.same(await response.next(), [{ type: 'piece', text: '5' }])
  t.equal(response.sizeBytes(), 15)
  response.close()
  t.ok(cancelled())
  const empty = open(pieces)
  empty.receive()
  await t.rejects(empty.opening, { code: 'upstream_invalid_response' })
})
