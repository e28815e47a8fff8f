import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { ProviderFailure } from '../../lib/providers/provider-failure.ts'
import { countTurns } from '../support/turns.ts'
import {
  asInterrupted,
  parseResponse,
  parseResponseBytes,
  readOrRefuse
} from '../../lib/attempts/read-response.ts'

const throwing = (error: unknown) => () => { throw error }

t.test('what a reader stumbles over is the fault of the response; what it says itself stays', async t => {
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

t.test('a message that cannot be read at the end was cut', async t => {
  t.equal(asInterrupted(() => 7), 7)
  const invalid = new GatewayError('upstream_invalid_response')
  t.throws(() => asInterrupted(throwing(invalid)), { code: 'upstream_stream_interrupted', cause: invalid })
  const other = new GatewayError('upstream_timeout')
  t.throws(() => asInterrupted(throwing(other)), other)
})

t.test('JSON is parsed, with a byte order mark or without, up to a depth', async t => {
  t.same(parseResponse('\ufeff{"a":1}'), { a: 1 })
  for (const text of ['', '{', '<html>', `${'['.repeat(300)}${']'.repeat(300)}`]) {
    t.throws(() => parseResponse(text), { code: 'upstream_invalid_response' })
  }
})

t.test(
  'a large response gives the same in turns of the event loop, and one of too many values is refused',
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
