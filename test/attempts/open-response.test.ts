import t from 'tap'
import {
  bufferedResponse,
  AnswerMemory,
  asInterrupted,
  parseResponseBytes,
  readOrRefuse
} from '../../lib/attempts/open-response.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { ProviderFailure } from '../../lib/providers/provider-failure.ts'
import { route } from '../support/routes.ts'
import { countTurns } from '../support/turns.ts'

t.test('a buffered response is a single read', async t => {
  const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
  const events = [{ type: 'text-delta' }, { type: 'usage', usage }]
  const attempt = bufferedResponse(route('one/a'), events)
  t.same(
    [await attempt.next(), await attempt.next(), await attempt.next()],
    [events, undefined, undefined]
  )
  t.same(attempt.reported(), { usage, unreported: 0 })
  t.equal(attempt.sizeBytes(), 0)
  t.doesNotThrow(() => attempt.close())
})

const free = 64 * 1024

t.test('the peak of buffered bytes is counted twice: as received and as serialized', async t => {
  const taken: number[] = []
  const memory = new AnswerMemory(bytes => { taken.push(bytes) })
  memory.hold(free)
  t.same(taken, [], 'a small answer is not counted')
  memory.hold(100)
  t.same(taken, [200])
  memory.release()
  memory.hold(free + 100)
  t.same(taken, [200], 'reuse of the same memory')
  memory.hold(1)
  t.same(taken, [200, 2])
})

t.test(
  'an answer that exceeds free memory is refused; one that can never fit is not blamed on the route',
  async t => {
    const refusing = (code: 'overloaded' | 'file_too_large'): AnswerMemory =>
      new AnswerMemory(() => {
        throw new GatewayError(code)
      })
    t.throws(() => refusing('overloaded').hold(free + 1), { code: 'overloaded' })
    t.throws(() => refusing('file_too_large').hold(free + 1), {
      code: 'upstream_invalid_response',
      fault: 'caller',
      message: /more memory than one API key/
    })
    t.doesNotThrow(() => new AnswerMemory(undefined).hold(free + 1), 'a call without a bound')
  }
)

const throwing = (error: unknown) => () => { throw error }

t.test('an exception in a reader is an invalid response; errors that it reports are kept', async t => {
  t.equal(
    readOrRefuse(() => 7),
    7
  )
  t.throws(() => readOrRefuse(throwing(new TypeError('x is undefined'))), {
    code: 'upstream_invalid_response'
  })
  const failures = [new GatewayError('upstream_overloaded'), new ProviderFailure({ kind: 'overloaded' })]
  for (const error of failures) {
    t.throws(() => readOrRefuse(throwing(error)), error)
  }
})

t.test('an unreadable last message means that the stream was interrupted', async t => {
  t.equal(asInterrupted(() => 7), 7)
  const invalid = new GatewayError('upstream_invalid_response')
  t.throws(() => asInterrupted(throwing(invalid)), { code: 'upstream_stream_interrupted', cause: invalid })
  const other = new GatewayError('upstream_timeout')
  t.throws(() => asInterrupted(throwing(other)), other)
})

t.test('JSON is parsed with or without a byte order mark, up to a maximum depth', async t => {
  t.same(parseResponseBytes(Buffer.from('\ufeff{"a":1}')), { a: 1 })
  for (const text of ['', '{', '<html>', `${'['.repeat(300)}${']'.repeat(300)}`]) {
    t.throws(() => parseResponseBytes(Buffer.from(text)), { code: 'upstream_invalid_response' })
  }
})

t.test(
  'a large response is parsed in slices with the same result, and too many values are refused',
  async t => {
    const turns = countTurns(t)
    const value = { text: 'ä'.repeat(1_000_000), list: [{ a: 1 }] }
    t.same(await parseResponseBytes(Buffer.from(`\ufeff${JSON.stringify(value)}`)), value)
    t.ok(turns() > 2)
    for (const text of [
      `{"a":"${'x'.repeat(300_000)}"`,
      '['.repeat(300_000),
      `[${'{},'.repeat(1_000_000)}{}]`
    ]) {
      await t.rejects(async () => await parseResponseBytes(Buffer.from(text)), {
        code: 'upstream_invalid_response'
      })
    }
  }
)
