import t from 'tap'
import { sseData, sseEvent } from '../../lib/wire/sse-frames.ts'
import { sseDecoder } from '../../lib/wire/sse-decoder.ts'
import { cut, cutSizes } from '../support/cuts.ts'

function read (bytes: Uint8Array, size: typeof cutSizes[number] = 'complete'): unknown[] {
  const reader = sseDecoder(10_000)
  return [...cut(bytes, size).flatMap(piece => reader.push(piece)), ...reader.end()].map(
    ({ event, data }) => [event, data]
  )
}

t.test('any cut of a stream gives the same messages', async t => {
  const text =
    ': comment\n\ndata: plain\n\nevent: delta\r\ndata: café\r\ndata: 🎈\r\n\r\nid: 7\ndata:\n\ndata: [DONE]\n\n'
  const expected = [
    [undefined, 'plain'],
    ['delta', 'café\n🎈'],
    [undefined, ''],
    [undefined, '[DONE]']
  ]
  for (const size of cutSizes) t.strictSame(read(Buffer.from(text), size), expected, String(size))
})

t.test('lines end with a carriage return, a line feed or both, wherever they are cut', async t => {
  const expected = [['a', '1'], [undefined, '2\n3'], [undefined, 'last']]
  for (const end of ['\r', '\n', '\r\n']) {
    const text = `event: a\ndata: 1\n\ndata: 2\ndata: 3\n\n: x\n\n\ndata: last`.replaceAll('\n', end)
    for (const size of cutSizes) {
      t.strictSame(read(Buffer.from(text), size), expected, `${size} ${end.length}`)
    }
  }
})

t.test('a message is complete at the carriage return that ends it', async t => {
  t.match(sseDecoder(100).push(Buffer.from('data: a\r\r')), [{ data: 'a' }])
})

t.test('time and memory are linear in the bytes of a stream, whatever its lines', async t => {
  const invalid = { code: 'upstream_invalid_response' }
  for (const line of ['x\n', 'x: y\n', 'retry: x\n', 'error: x\n']) {
    const reader = sseDecoder(10_000_000)
    t.throws(() => reader.push(Buffer.from(line.repeat(2000))), invalid, line)
  }
  const open = sseDecoder(10_000_000)
  const lines = Buffer.from('data:\n'.repeat(20_000))
  t.throws(() => { for (let read = 0; read < 10; read++) open.push(lines) }, invalid)

  const long = sseDecoder(10_000_000)
  const message = Buffer.from(`${'data: x\n'.repeat(20_000)}\n`)
  for (let read = 0; read < 10; read++) t.equal(long.push(message)[0]?.data.length, 39_999)
})

t.test("a server's retry time is reported", async t => {
  const retries: number[] = []
  const reader = sseDecoder(100, ms => retries.push(ms))
  reader.push(Buffer.from('retry: 3000\rdata: a\n\n'))
  t.same(retries, [3000])
})

t.test('a byte order mark is not part of the first message, wherever it is cut', async t => {
  for (const size of cutSizes) t.strictSame(read(Buffer.from('\ufeffdata: a\n\n'), size), [[undefined, 'a']])
  t.strictSame(
    read(Buffer.from('data: \ufeffa\n\n')),
    [[undefined, '\ufeffa']],
    'one that stands elsewhere is'
  )
})

t.test('the last message counts even if the stream ended before its blank line', async t => {
  for (const text of ['data: a', 'data: a\n', 'data: a\n\n']) {
    t.strictSame(read(Buffer.from(text)), [[undefined, 'a']])
  }
  t.strictSame(read(Buffer.from('')), [])
})

t.test('an error in its own field is a message', async t => {
  t.strictSame(read(Buffer.from('error: {"message":"überlastet"}\n\n')), [
    ['error', '{"message":"überlastet"}']
  ])
})

t.test('a message over the limit is an error of the provider, in one piece or many', async t => {
  for (const size of ['complete', 64] as const) {
    t.throws(() => read(Buffer.from(`data: ${'x'.repeat(20_000)}`), size), {
      code: 'upstream_invalid_response',
      message: 'The provider sent an event that is too large.'
    })
  }
})

t.test('printed frames can be read back', async t => {
  t.equal(sseData('{"a":1}'), 'data: {"a":1}\n\n')
  t.equal(sseEvent('error', '{}'), 'event: error\ndata: {}\n\n')
  t.strictSame(read(Buffer.from(sseData('a') + sseEvent('error', 'b'))), [[undefined, 'a'], ['error', 'b']])
})
