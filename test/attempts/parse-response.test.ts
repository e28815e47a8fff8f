import t from 'tap'
import { asInterrupted, parseResponseBytes, readOrRefuse } from '../../lib/attempts/parse-response.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { ProviderFailure } from '../../lib/providers/provider-failure.ts'
import { countTurns } from '../support/turns.ts'

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
